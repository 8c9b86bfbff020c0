/* Work on many things at once, with the results in the order in which they were put in.
 *
 *	put -> [worked on: by any thread, in any order] -> take
 *
 * One thread owns the pipeline, puts items in and takes them out, oldest first, each once it
 * has been worked on. What is inside is bounded, in items and in bytes:
 *
 *	do {
 *		while (there is a next item && pipeline_has_room(pipeline, its cost))
 *			pipeline_put(pipeline, item, cost);
 *		item = pipeline_take(pipeline);
 *		...
 *	} while (item);
 *
 * Items are the caller's: the pipeline passes pointers on and looks at nothing. Between put and
 * take an item belongs to the thread that works on it. */
#ifndef PACK_TOOL_CLI_PIPELINE_H
#define PACK_TOOL_CLI_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

struct pipeline;

struct pipeline_params {
	unsigned workers; /* threads; at least 1 */
	unsigned slots;	  /* items inside at most; at least 1 */
	uint64_t bytes;	  /* sum of the costs of all inside, but that one alone may be larger */
	uint64_t results; /* the same, of the bytes given to pipeline_charge() */
	/* Called once for each item, in a thread of the pipeline: `worker` is its number, from 0
	 * to workers - 1, so that the caller may keep something for each. */
	void (*work)(void *context, unsigned worker, void *item);
	/* Called by pipeline_free() for each item inside, the oldest first; may be NULL. */
	void (*drop)(void *context, void *item);
	void *context;
};

/* 0, -ENOMEM or -EAGAIN (no thread could be made). */
int pipeline_new(const struct pipeline_params *params, struct pipeline **ret);
/* Waits for the items in hand; those that no thread has begun are never worked on. NULL is
 * fine. */
void pipeline_free(struct pipeline *pipeline);

bool pipeline_has_room(const struct pipeline *pipeline, uint64_t cost);
/* There is room. */
void pipeline_put(struct pipeline *pipeline, void *item, uint64_t cost);
/* Called by work() before it makes a result that is larger than its item: waits until the results
 * inside leave room for `bytes`. The oldest item never waits. At most once for each item. */
void pipeline_charge(struct pipeline *pipeline, unsigned worker, uint64_t bytes);
/* The oldest item, once it has been worked on; NULL where there is none inside. */
void *pipeline_take(struct pipeline *pipeline);

#endif
