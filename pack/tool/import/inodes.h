/* Which files were met under another name before: a hash table from (device, inode) to the
 * first entry that had it. All zero is empty. */
#ifndef PACK_TOOL_IMPORT_INODES_H
#define PACK_TOOL_IMPORT_INODES_H

#include <stddef.h>
#include <stdint.h>

struct inode_id {
	uint64_t dev, ino;
};

struct inodes {
	struct inodes_slot *slots; /* open addressing; a power of two of them */
	size_t count, room;
};

void inodes_release(struct inodes *inodes);

/* The entry that the inode was first met as: `entry` itself where it is new, and is noted.
 * 0 or -ENOMEM. */
int inodes_first(struct inodes *inodes, const struct inode_id *id, uint32_t entry,
		 uint32_t *ret_first);

#endif
