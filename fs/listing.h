/* Directory listings in the form in which the kernel takes them. */
#ifndef FS_LISTING_H
#define FS_LISTING_H

#include "fs/mount.h"

/* Fills buf with as many entries of a directory as fit into size bytes, from `place` on: 0 is
 * ".", 1 is "..", then come the children. Returns the bytes used; 0 at the end. */
size_t listing_fill(const struct mount *mount, uint32_t directory, char *buf, size_t size,
		    uint64_t place);

/* The entry at a place of a listing: false behind the last one. */
bool listing_child(const struct mount *mount, uint32_t directory, uint64_t place,
		   struct dataset_child *ret);

#endif
