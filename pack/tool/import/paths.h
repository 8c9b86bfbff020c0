/* Which entry of a builder has a path: a table from paths to entries, whose paths the builder has.
 * All zero is empty. One thread. */
#ifndef PACK_TOOL_IMPORT_PATHS_H
#define PACK_TOOL_IMPORT_PATHS_H

#include "pack/tool/import/table.h"
#include "pack/write/builder.h"

struct paths {
	struct table table;
	struct buf path; /* of the entry that is looked at */
};

void paths_release(struct paths *paths);

/* The entry that was added with that path: 0, -ENOENT or -ENOMEM. */
int paths_find(struct paths *paths, const struct builder *builder, const char *path, size_t len,
	       uint32_t *ret_entry);

/* Notes the path, which none has yet, of an entry that is not the root. 0 or -ENOMEM. */
int paths_add(struct paths *paths, const char *path, size_t len, uint32_t entry);

#endif
