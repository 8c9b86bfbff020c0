/* Where the files of a tar lie, by their paths: for hard links, and to find paths that come again.
 * A path is known by its XXH3 of 64 bits, so that two are taken for one once in 2^64 pairs. Memory:
 * 32 to 64 bytes a path. Not thread-safe. */
#ifndef PACK_FOREIGN_ARCHIVE_TAR_PLACES_H
#define PACK_FOREIGN_ARCHIVE_TAR_PLACES_H

#include "pack/foreign/tree.h"

enum tar_place_kind { TAR_PLACE_NONE, TAR_PLACE_FILE, TAR_PLACE_FOLDER, TAR_PLACE_SYMLINK };

struct tar_place {
	uint64_t hash;
	uint64_t offset, size; /* of a file; of a symbolic link's target */
	enum tar_place_kind kind;
};

/* All zero: empty. */
struct tar_places {
	struct tar_place *slots; /* a power of two of them */
	size_t count, room;
};

void tar_places_release(struct tar_places *places);

/* Hashes a path, without empty parts and ".". */
uint64_t tar_path_hash(struct foreign_text path);

/* NULL: it has none. Lives until the next tar_places_add(). */
const struct tar_place *tar_places_find(const struct tar_places *places, uint64_t hash);

/* Adds one that is not there. 0 or -ENOMEM. */
int tar_places_add(struct tar_places *places, const struct tar_place *place);

#endif
