#include "pack/tool/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

struct contents_slot {
	uint64_t low;
	uint32_t high;
	uint32_t entry; /* 0: free */
};

void contents_release(struct contents *contents)
{
	free(contents->slots);
	*contents = (struct contents){0};
}

struct contents_key contents_key(const void *data, size_t len)
{
	XXH128_hash_t hash = XXH3_128bits(data, len);

	return (struct contents_key){.low = hash.low64, .high = hash.high64};
}

/* The slot that has the key, or the free one where it belongs. */
static struct contents_slot *find(struct contents_slot *slots, size_t room, uint64_t low,
				  uint32_t high)
{
	size_t i = (size_t)low & (room - 1);

	while (slots[i].entry && (slots[i].low != low || slots[i].high != high))
		i = (i + 1) & (room - 1);
	return slots + i;
}

int contents_find(const struct contents *contents, struct contents_key key, uint32_t *ret_entry)
{
	const struct contents_slot *slot;

	if (contents->room == 0)
		return -ENOENT;
	slot = find(contents->slots, contents->room, key.low, (uint32_t)key.high);
	if (!slot->entry)
		return -ENOENT;
	*ret_entry = slot->entry;
	return 0;
}

static int grow(struct contents *contents)
{
	size_t room = contents->room ? 2 * contents->room : 64;
	struct contents_slot *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < contents->room; i++) {
		const struct contents_slot *slot = contents->slots + i;

		if (slot->entry)
			*find(slots, room, slot->low, slot->high) = *slot;
	}
	free(contents->slots);
	contents->slots = slots;
	contents->room = room;
	return 0;
}

/* At most seven slots of eight are taken: some 30 neighbouring ones are then looked at for a key
 * that is not there, in the time that hashing 2 KB takes. */
int contents_add(struct contents *contents, struct contents_key key, uint32_t entry)
{
	struct contents_slot *slot;
	int r = contents->count >= contents->room / 8 * 7 ? grow(contents) : 0;

	if (r < 0)
		return r;
	slot = find(contents->slots, contents->room, key.low, (uint32_t)key.high);
	if (slot->entry)
		return 0;
	*slot = (struct contents_slot){.low = key.low, .high = (uint32_t)key.high, .entry = entry};
	contents->count++;
	return 0;
}
