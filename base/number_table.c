#include "base/number_table.h"
#include <errno.h>
#include <stdlib.h>

/* Open addressing. */
struct number_slot {
	uint32_t hash;
	uint32_t number; /* 0: free */
};

void number_table_release(struct number_table *table)
{
	free(table->slots);
	*table = (struct number_table){0};
}

uint32_t number_table_next(const struct number_table *table, uint32_t hash, size_t *at)
{
	while (table->room > 0) {
		const struct number_slot *slot = table->slots + ((hash + *at) & (table->room - 1));

		if (!slot->number)
			break;
		++*at;
		if (slot->hash == hash)
			return slot->number;
	}
	return 0;
}

static void put_slot(struct number_slot *slots, size_t room, struct number_slot slot)
{
	size_t i = slot.hash & (room - 1);

	while (slots[i].number)
		i = (i + 1) & (room - 1);
	slots[i] = slot;
}

static int grow_table(struct number_table *table)
{
	size_t room = table->room ? 2 * table->room : 64;
	struct number_slot *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->room; i++)
		if (table->slots[i].number)
			put_slot(slots, room, table->slots[i]);
	free(table->slots);
	table->slots = slots;
	table->room = room;
	return 0;
}

/* At most seven of eight slots are used. A search for a hash that is not there then visits about 30
 * slots in a row, in the time that hashing 2 KB takes. */
int number_table_add(struct number_table *table, uint32_t hash, uint32_t number)
{
	int r = table->count >= table->room / 8 * 7 ? grow_table(table) : 0;

	if (r < 0)
		return r;
	put_slot(table->slots, table->room, (struct number_slot){.hash = hash, .number = number});
	table->count++;
	return 0;
}
