/* From what a tar calls its members to paths of a pack: relative, without empty and "."
 * components. Bytes otherwise stay what they are. Pure. */
#ifndef PACK_TOOL_IMPORT_TAR_PATH_H
#define PACK_TOOL_IMPORT_TAR_PATH_H

#include "base/buf.h"

#define TAR_PATH_MAX 16383 /* four times what a system call takes */

/* Appends `name` to the path of a directory ("" is the root) that `path` holds, and ends it with a
 * NUL that does not count. 0; -ENOMEM; -EINVAL where no pack can hold that path: *ret_fault says
 * why, as in "a name over 255 bytes", and `path` may hold a part of it. */
int tar_path_add(struct buf *path, const char *name, const char **ret_fault);

/* The length of `path` without the suffix that names a tar, compressed or not; 0 where it has
 * none, or no name before it. */
size_t tar_path_stem(const char *path);

#endif
