/* Chance, and a simulated DataLoader: workers that read batches of an order side by side, one file
 * each in turn, or at paces of their own; none is more than two batches of each ahead of another,
 * since they are handed out (prefetch_factor) as the batches come back in order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define LOADER_WORKERS 64

/* Chance that is the same each time. */
static inline uint32_t draw_below(uint32_t *state, uint32_t n)
{
	*state = *state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)*state * n >> 32);
}

/* first, first + 1, .. in some order that is not torch's. */
static inline void shuffle_from(uint32_t first, uint32_t *ret, uint32_t n, uint32_t *state)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = first + i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t other = draw_below(state, i), was = ret[i - 1];

		ret[i - 1] = ret[other];
		ret[other] = was;
	}
}

struct loader {
	const uint32_t *order; /* what is read, in order */
	uint32_t count;
	uint32_t workers, batch;
	uint32_t first_reader;		   /* the id of worker 0; the others follow */
	uint32_t batch_of[LOADER_WORKERS]; /* where each is */
	uint32_t place_in[LOADER_WORKERS];
	uint32_t next_batch;
	uint32_t turn;
	uint32_t random; /* not 0: the turns are mixed by it */
	bool in_turn;	 /* worker w has batches w, w + workers, ..., whoever is first */
};

static inline void loader_init(struct loader *loader, const uint32_t *order, uint32_t count,
			       uint32_t workers, uint32_t batch)
{
	*loader = (struct loader){.order = order,
				  .count = count,
				  .workers = workers ? workers : 1,
				  .batch = batch,
				  .first_reader = 100};
	for (uint32_t w = 0; w < loader->workers; w++)
		loader->batch_of[w] = loader->next_batch++;
}

static inline uint32_t loader_oldest(const struct loader *loader)
{
	uint32_t oldest = UINT32_MAX;

	for (uint32_t w = 0; w < loader->workers; w++)
		if (loader->place_in[w] < loader->batch && loader->batch_of[w] < oldest)
			oldest = loader->batch_of[w];
	return oldest == UINT32_MAX ? loader->next_batch : oldest;
}

/* The next file, and who reads it: false at the end. */
static inline bool loader_next(struct loader *loader, uint32_t *ret_reader, uint32_t *ret)
{
	uint32_t start = loader->random ? draw_below(&loader->random, 1 << 16) : loader->turn++;

	for (uint32_t i = 0; i < loader->workers; i++) {
		uint32_t w = (start + i) % loader->workers;
		uint64_t place;

		if (loader->place_in[w] == loader->batch) {
			uint32_t next = loader->in_turn ? loader->batch_of[w] + loader->workers
							: loader->next_batch;

			if (next >= loader_oldest(loader) + 2 * loader->workers)
				continue;
			loader->place_in[w] = 0;
			loader->batch_of[w] = next;
			if (next >= loader->next_batch)
				loader->next_batch = next + 1;
		}
		place = (uint64_t)loader->batch_of[w] * loader->batch + loader->place_in[w];
		if (place >= loader->count)
			continue;
		loader->place_in[w]++;
		*ret_reader = loader->first_reader + w;
		*ret = loader->order[place];
		return true;
	}
	return false;
}
