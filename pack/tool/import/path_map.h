/* Which entry of a builder has a path: a table from paths to entries, whose paths the builder has.
 * All zero is empty. One thread. */
#ifndef PACK_TOOL_IMPORT_PATH_MAP_H
#define PACK_TOOL_IMPORT_PATH_MAP_H

#include "pack/tool/import/entry_table.h"
#include "pack/write/builder.h"

struct path_map {
	struct entry_table table;
	struct buf path; /* of the entry that is looked at */
};

void path_map_release(struct path_map *map);

/* The entry that was added with that path: 0, -ENOENT or -ENOMEM. */
int path_map_find(struct path_map *map, const struct builder *builder, const char *path, size_t len,
		  uint32_t *ret_entry);

/* Notes the path, which none has yet, of an entry that is not the root. 0 or -ENOMEM. */
int path_map_add(struct path_map *map, const char *path, size_t len, uint32_t entry);

#endif
