/* Directory listings in the form in which the kernel takes them. Places of a listing: 0 is ".", 1
 * is
 * "..", then come the children. */
#ifndef FS_LISTING_H
#define FS_LISTING_H

#include "fs/tree.h"

/* The entry at a place: false after the last one. */
bool listing_child(const struct tree *tree, uint32_t directory, uint64_t place,
		   struct dataset_child *ret);

/* Adds the record of an entry; `next`: the place after it. Returns the bytes used, 0 where the
 * record does not fit. */
size_t listing_add(char *buf, size_t room, uint64_t next, uint64_t ino,
		   const struct dataset_child *child);

#endif
