/* Where an index file is kept: beside the container, or else in the disk cache and in a folder of
 * the user; and where a publisher lays one. */
#pragma once

#include "pack/foreign/tree_internal.h"

enum index_place {
	INDEX_BESIDE,
	INDEX_IN_DISK_CACHE,
	INDEX_CACHED,
	INDEX_PLACES,			/* of our own */
	INDEX_PUBLISHED = INDEX_PLACES, /* may be a URL: pack/foreign/index_published.h */
};

/* Appends the name, with a NUL. Returns 0, -ENOENT where there is no such place, or -ENOMEM. */
int index_place_name(const struct foreign_tree *tree, enum index_place place, struct buf *ret);
/* Whether the index that is there may be believed: root's, the caller's, or of the owner of the
 * container; beside the container, anybody's, but in a folder with the sticky bit only of the owner
 * of the folder, too. */
bool index_place_is_trusted(const struct foreign_tree *tree, enum index_place place,
			    const char *name, struct reader *index);

/* Writes these bytes, one part after the other, to the places that take them. The file
 * appears under its name when it is whole. Returns a descriptor of it, or -errno. */
int index_place_write(const struct foreign_tree *tree, const struct iovec *parts, int count);
/* The same, or in memory where none does. Returns 0 or -errno. */
int index_place_keep(const struct foreign_tree *tree, const struct iovec *parts, int count,
		     struct reader **ret);
