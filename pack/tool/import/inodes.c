#include "pack/tool/import/inodes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct inodes_slot {
	struct inode_id id;
	uint32_t entry;
	bool taken;
};

void inodes_release(struct inodes *inodes)
{
	free(inodes->slots);
	*inodes = (struct inodes){0};
}

/* Inode numbers are dense: a multiplication spreads them well enough. */
static size_t place(const struct inode_id *id, size_t room)
{
	uint64_t hash = (id->ino ^ id->dev << 40) * 0x9e3779b97f4a7c15u;

	return (size_t)(hash >> 32) & (room - 1);
}

/* The slot that has the id, or the free one where it belongs. */
static struct inodes_slot *find(struct inodes_slot *slots, size_t room, const struct inode_id *id)
{
	size_t i = place(id, room);

	while (slots[i].taken && (slots[i].id.ino != id->ino || slots[i].id.dev != id->dev))
		i = (i + 1) & (room - 1);
	return slots + i;
}

static int grow(struct inodes *inodes)
{
	size_t room = inodes->room ? 2 * inodes->room : 64;
	struct inodes_slot *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < inodes->room; i++) {
		if (inodes->slots[i].taken)
			*find(slots, room, &inodes->slots[i].id) = inodes->slots[i];
	}
	free(inodes->slots);
	inodes->slots = slots;
	inodes->room = room;
	return 0;
}

int inodes_first(struct inodes *inodes, const struct inode_id *id, uint32_t entry,
		 uint32_t *ret_first)
{
	struct inodes_slot *slot;
	int r = 2 * inodes->count >= inodes->room ? grow(inodes) : 0;

	if (r < 0)
		return r;
	slot = find(inodes->slots, inodes->room, id);
	if (!slot->taken) {
		*slot = (struct inodes_slot){.id = *id, .entry = entry, .taken = true};
		inodes->count++;
	}
	*ret_first = slot->entry;
	return 0;
}
