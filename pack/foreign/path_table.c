#include "pack/foreign/path_table.h"
#include "pack/xxh3.h"
#include <errno.h>
#include <stdlib.h>

#define ROOM_AT_FIRST 64

void path_table_release(struct path_table *places)
{
	free(places->slots);
	*places = (struct path_table){0};
}

/* The slot that has the hash, or the free one that it would get. */
static struct path_place *place_slot(const struct path_table *places, uint64_t hash)
{
	size_t at = hash & (places->room - 1);

	while (places->slots[at].taken && places->slots[at].hash != hash)
		at = (at + 1) & (places->room - 1);
	return &places->slots[at];
}

static uint64_t hash_of(struct foreign_text path)
{
	return XXH3_64bits(path.len ? path.data : "", path.len);
}

const struct path_place *path_table_find(const struct path_table *places, struct foreign_text path)
{
	const struct path_place *place = places->room ? place_slot(places, hash_of(path)) : NULL;

	return place && place->taken ? place : NULL;
}

static int places_grow(struct path_table *places)
{
	struct path_table more = {.count = places->count,
				  .room = places->room ? 2 * places->room : ROOM_AT_FIRST};

	more.slots = calloc(more.room, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < places->room; i++)
		if (places->slots[i].taken)
			*place_slot(&more, places->slots[i].hash) = places->slots[i];
	free(places->slots);
	*places = more;
	return 0;
}

int path_table_set(struct path_table *places, struct foreign_text path, uint32_t number)
{
	const uint64_t hash = hash_of(path);
	struct path_place *slot;

	if (places->count >= places->room / 4 * 3 && places_grow(places) < 0)
		return -ENOMEM;
	slot = place_slot(places, hash);
	places->count += !slot->taken;
	*slot = (struct path_place){.hash = hash, .number = number, .taken = true};
	return 0;
}
