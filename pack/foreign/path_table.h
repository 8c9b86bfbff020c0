/* A number for each path, where they come one after the other.
 *
 * A path is known by its XXH3 of 64 bits, so that two are taken for one once in 2^64 pairs. Memory:
 * 21 to 43 bytes a path. Not thread-safe. */
#pragma once

#include "pack/foreign/text.h"

struct path_place {
	uint64_t hash; /* of the path */
	uint32_t number;
	bool taken;
};

/* All zero: empty. */
struct path_table {
	struct path_place *slots; /* a power of two of them, or NULL */
	size_t count, room;
};

void path_table_release(struct path_table *places);

/* NULL: it has none. Lives until the next path_table_set(). */
const struct path_place *path_table_find(const struct path_table *places, struct foreign_text path);

/* Sets the number of a path, also if it has one. 0 or -ENOMEM. */
int path_table_set(struct path_table *places, struct foreign_text path, uint32_t number);
