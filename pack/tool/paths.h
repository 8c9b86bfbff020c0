/* Which entry of a builder has a path: a hash table from paths to entries, whose paths the builder
 * has. All zero is empty. Memory: 9 to 18 bytes an entry, and half as much again while it grows.
 * One thread. */
#ifndef PACK_TOOL_PATHS_H
#define PACK_TOOL_PATHS_H

#include "pack/builder.h"

struct paths {
	struct paths_slot *slots; /* open addressing; a power of two of them */
	size_t count, room;
	struct buf path; /* of the entry that is looked at */
};

void paths_release(struct paths *paths);

/* The entry that was added with that path: 0, -ENOENT or -ENOMEM. */
int paths_find(struct paths *paths, const struct builder *builder, const char *path, size_t len,
	       uint32_t *ret_entry);

/* Notes the path, which none has yet, of an entry that is not the root. 0 or -ENOMEM. */
int paths_add(struct paths *paths, const char *path, size_t len, uint32_t entry);

#endif
