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

	while (places->slots[at].kind && places->slots[at].hash != hash)
		at = (at + 1) & (places->room - 1);
	return &places->slots[at];
}

static uint64_t hash_of(struct foreign_text path)
{
	return XXH3_64bits(path.len ? path.data : "", path.len);
}

struct path_place *path_table_find(const struct path_table *places, struct foreign_text path)
{
	struct path_place *place = places->room ? place_slot(places, hash_of(path)) : NULL;

	return place && place->kind ? place : NULL;
}

static int places_grow(struct path_table *places)
{
	struct path_table more = {.count = places->count,
				  .room = places->room ? 2 * places->room : ROOM_AT_FIRST};

	more.slots = calloc(more.room, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < places->room; i++)
		if (places->slots[i].kind)
			*place_slot(&more, places->slots[i].hash) = places->slots[i];
	free(places->slots);
	*places = more;
	return 0;
}

int path_table_set(struct path_table *places, struct foreign_text path, struct path_place place)
{
	struct path_place *slot;

	if (places->count >= places->room / 4 * 3 && places_grow(places) < 0)
		return -ENOMEM;
	place.hash = hash_of(path);
	slot = place_slot(places, place.hash);
	places->count += !slot->kind;
	*slot = place;
	return 0;
}
