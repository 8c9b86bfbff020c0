/* Works on many things at the same time, and gives the results back in the order in which the
 * things were put in.
 *
 *	put -> [worked on: by any thread, in any order] -> take
 *
 * One thread owns the pipeline. It puts items in and takes them out, the oldest first, each one
 * once it was worked on. What is inside is bounded, in items and in bytes:
 *
 *	do {
 *		while (there is a next item && pipeline_has_room(pipeline, its cost))
 *			pipeline_put(pipeline, item, cost);
 *		item = pipeline_take(pipeline);
 *		...
 *	} while (item);
 *
 * Items belong to the caller: the pipeline passes pointers on and looks at nothing. Between put and
 * take an item belongs to the thread that works on it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pipeline;

struct pipeline_params {
	unsigned workers; /* threads; at least 1 */
	unsigned slots;	  /* items inside at most; at least 1 */
	uint64_t bytes;	  /* most that all items inside cost together; one alone may cost more, */
	unsigned least;	  /* and so many may together, if none of them does; 0: one */
	uint64_t results; /* the same for bytes given to pipeline_charge() */
	/* Called once for each item, in a thread of the pipeline. `worker` is the number of the
	 * thread, from 0 to workers - 1, so the caller may keep something for each. */
	void (*work)(void *context, unsigned worker, void *item);
	/* Called by pipeline_free() for each item inside, the oldest first; may be NULL. */
	void (*drop)(void *context, void *item);
	void *context;
};

/* 0, -ENOMEM or -EAGAIN (no thread could be made). */
int pipeline_new(const struct pipeline_params *params, struct pipeline **ret);
/* Waits for the items that are being worked on. Those that no thread has begun are never worked on.
 * NULL is fine. */
void pipeline_free(struct pipeline *pipeline);

bool pipeline_has_room(const struct pipeline *pipeline, uint64_t cost);
/* To be called only if there is room. */
void pipeline_put(struct pipeline *pipeline, void *item, uint64_t cost);
/* To be called by work() before it makes a result that is larger than its item, at most once for
 * each item. Waits until the results inside leave room for `bytes`. The oldest item never waits. */
void pipeline_charge(struct pipeline *pipeline, unsigned worker, uint64_t bytes);
/* The oldest item, once it was worked on; NULL: there is none inside. */
void *pipeline_take(struct pipeline *pipeline);
