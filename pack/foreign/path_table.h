/* What is known of paths, such as which file of a tree has one, where they come one after the
 * other.
 *
 * A path is known by its XXH3 of 64 bits, so that two are taken for one once in 2^64 pairs. Memory:
 * 32 to 64 bytes a path. Not thread-safe. */
#pragma once

#include "pack/foreign/text.h"

enum place_kind { PLACE_NONE, PLACE_FILE, PLACE_FOLDER, PLACE_SYMLINK };

struct path_place {
	uint64_t hash;	   /* of the path */
	uint32_t row;	   /* its number in the tree, or in what else the caller has of it */
	uint8_t kind;	   /* enum place_kind */
	bool filled : 1;   /* a folder: something is in it */
	bool rowless : 1;  /* a folder that is not in the tree */
	bool labelled : 1; /* a file that has another path in the tree */
};

/* All zero: empty. */
struct path_table {
	struct path_place *slots; /* a power of two of them, or NULL */
	size_t count, room;
};

void path_table_release(struct path_table *places);

/* NULL: it has none. Lives until the next path_table_set(). */
struct path_place *path_table_find(const struct path_table *places, struct foreign_text path);

/* Sets the place of a path, also if it has one. 0 or -ENOMEM. */
int path_table_set(struct path_table *places, struct foreign_text path, struct path_place place);
