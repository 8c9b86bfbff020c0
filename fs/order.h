/* An order in which files will be read, as users write it: paths, one a line. It becomes what the
 * cache goes by: first extents.
 *
 * Paths begin below the mount's root; "./", slashes in front and doubled ones do not count. Empty
 * files do not either: nothing of them is ever read. */
#ifndef FS_ORDER_H
#define FS_ORDER_H

#include "base/err.h"
#include "fs/tree.h"
#include <stddef.h>
#include <stdint.h>

struct order { /* all zero: empty */
	uint32_t *files;
	uint32_t count;
	size_t room;
};

void order_release(struct order *order);

/* Adds the file at a path. Returns 0; -ENOENT or -ENOTDIR (there is none), -EISDIR or -ELOOP (it is
 * a folder, a symbolic link); -EFBIG (of too many); -ENOMEM. */
int order_add(struct order *order, const struct tree *tree, const char *path, size_t len);

/* Reads a file of paths into an empty order. Returns 0, or -errno with a sentence that names the
 * file, and the line if one is at fault; a file without any path is refused (-EINVAL). */
int order_load(const struct tree *tree, const char *file, struct order *ret, struct err *err);

#endif
