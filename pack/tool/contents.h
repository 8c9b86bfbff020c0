/* Files with the same bytes, while packing: a hash table from what is in a file to the entry that
 * it was stored for. All zero is empty.
 *
 * A hash proves nothing: whoever finds an entry compares the bytes (builder_same). So 96 bits of
 * the XXH3-128 are enough to keep, and of two files with one hash and other bytes only the first
 * is ever found. Memory: 18 to 37 bytes a file. One thread finds and adds; any may make keys. */
#ifndef PACK_TOOL_CONTENTS_H
#define PACK_TOOL_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct contents {
	struct contents_slot *slots; /* open addressing; a power of two of them */
	size_t count, room;
};

void contents_release(struct contents *contents);

/* Whether bytes of that size are worth being looked for: a reference in their place takes the path
 * of the other file and 13 bytes. */
static inline bool contents_pays(uint64_t size)
{
	return size > 512;
}

struct contents_key {
	uint64_t low, high;
};

/* Of the bytes of a whole file. */
struct contents_key contents_key(const void *data, size_t len);

/* The entry that was added with that key: 0 or -ENOENT. */
int contents_find(const struct contents *contents, struct contents_key key, uint32_t *ret_entry);

/* Notes what an entry, not 0, was stored with. One that was added before with the same key stays
 * the one to be found. 0 or -ENOMEM. */
int contents_add(struct contents *contents, struct contents_key key, uint32_t entry);

#endif
