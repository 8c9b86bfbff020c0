/* Where an index file is kept: beside the container, or else in a folder of the user. */
#pragma once

#include "pack/foreign/tree_internal.h"

enum index_place { INDEX_BESIDE, INDEX_CACHED, INDEX_PLACES };

/* Appends the name, with a NUL. Returns 0, -ENOENT where there is no such place, or -ENOMEM. */
int index_place_name(const struct foreign_tree *tree, enum index_place place, struct buf *ret);

/* Writes these bytes, one part after the other, to the first place that takes them. The file
 * appears under its name when it is whole. Returns a descriptor of it, or -errno. */
int index_place_write(const struct foreign_tree *tree, const struct iovec *parts, int count);
/* The same in memory. */
int index_memory_write(const struct iovec *parts, int count);
