/* What is to be read next of one forecast: a list of extents, of which a part, the chunk, is read
 * by rising number; behind it lies what comes after it, in the order of need. plan_order.c says how
 * much, and when. */
#ifndef CACHE_PLAN_PLAN_CHUNK_H
#define CACHE_PLAN_PLAN_CHUNK_H

#include "cache/order/forecast.h"
#include "cache/plan/plan.h"

#define PLAN_CHUNK_MOST 131072 /* extents */

struct plan_chunk {
	const struct forecast *forecast;
	uint8_t *marks; /* of each extent */
	uint32_t *list;
	uint32_t first, at, end, count; /* the chunk; from where on it is left; the list */
	uint32_t cursor;		/* the number behind the last one that was passed */
	bool dear;			/* the list is one chunk */
	uint64_t memory, left;		/* bytes of memory: the chunk, what is left of it */
	uint64_t ahead;			/* bytes of memory handed out and not asked for until now */
	uint64_t taken, missed; /* bytes asked for while it was read; of these, not there yet */
	uint32_t grain;		/* of limits */
	uint64_t mean, span;	/* bytes: a file; from the first to the last of a chunk */
	bool hungry;		/* what comes next is neither there nor listed */
	uint32_t demands;	/* files, modulo 2^32 */
	uint32_t rest;		/* demands until it is looked for more again */
	uint32_t position;	/* of the forecast, at the last demand */
	uint32_t moved, lost;	/* files passed of late; those demanded though they were served */
	/* plan_order.c's: */
	bool open;	/* a chunk was begun */
	uint64_t grown; /* bytes of the next one, while they double */
	double apart;	/* D s, squares of bytes; 0: not known yet */
	uint64_t spare; /* bytes of the window that the list left, with all there was */
	uint64_t pass;	/* bytes that readers take while one is read */
};

/* Returns 0 or -ENOMEM. */
int plan_chunk_new(const struct forecast *forecast, uint64_t extents, struct plan_chunk **ret);
void plan_chunk_free(struct plan_chunk *chunk); /* NULL is fine */

/* An extent of a file that the forecast has was asked for; `file` is the first one. */
void plan_chunk_demand(struct plan_chunk *chunk, const struct plan_view *view, uint64_t extent,
		       uint64_t file);

/* Cuts the next chunk of `size` bytes of memory off the list, which is made anew where that is
 * empty, or one chunk. False where nothing is to be read. */
bool plan_chunk_cut(struct plan_chunk *chunk, const struct plan_view *view,
		    const struct plan_limits *limits, uint64_t size);
/* The next run goes on behind the last one that was passed. */
void plan_chunk_go_on(struct plan_chunk *chunk);

/* The next run of the chunk. */
bool plan_chunk_run(struct plan_chunk *chunk, const struct plan_view *view,
		    const struct plan_limits *limits, struct plan_run *ret);
/* The run of the chunk that an extent belongs to which was asked for: false where nothing comes
 * with it. */
bool plan_chunk_around(struct plan_chunk *chunk, const struct plan_view *view,
		       const struct plan_limits *limits, uint64_t extent, struct plan_run *ret);

#endif
