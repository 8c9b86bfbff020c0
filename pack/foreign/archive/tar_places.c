#include "pack/foreign/archive/tar_places.h"
#include "pack/xxh3.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_AT_FIRST 64

void tar_places_release(struct tar_places *places)
{
	free(places->slots);
	*places = (struct tar_places){0};
}

uint64_t tar_path_hash(struct foreign_text path)
{
	const char *at = path.data, *end = at + path.len;
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	while (at < end) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t len = (size_t)((slash ? slash : end) - at);

		if (len && !(len == 1 && *at == '.')) {
			XXH3_64bits_update(&state, at, len);
			XXH3_64bits_update(&state, "/", 1);
		}
		at += len + (slash != NULL);
	}
	return XXH3_64bits_digest(&state);
}

/* The slot that has the hash, or the free one that it would get. */
static struct tar_place *place_slot(const struct tar_places *places, uint64_t hash)
{
	size_t at = hash & (places->room - 1);

	while (places->slots[at].kind && places->slots[at].hash != hash)
		at = (at + 1) & (places->room - 1);
	return &places->slots[at];
}

const struct tar_place *tar_places_find(const struct tar_places *places, uint64_t hash)
{
	const struct tar_place *place = places->room ? place_slot(places, hash) : NULL;

	return place && place->kind ? place : NULL;
}

static int places_grow(struct tar_places *places)
{
	struct tar_places more = {.count = places->count,
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

int tar_places_add(struct tar_places *places, const struct tar_place *place)
{
	int r = places->count >= places->room / 4 * 3 ? places_grow(places) : 0;

	if (r < 0)
		return r;
	*place_slot(places, place->hash) = *place;
	places->count++;
	return 0;
}
