/* Gives the pool's memory back when the job runs short. The kernel can take page cache by itself; a
 * process with a pool it can only kill.
 *
 * pressure_limit() is the rule, and pure. pressure_start() runs a thread that looks at the memory
 * of the machine and of the groups (fs/memory.h) every few seconds, five times a second when memory
 * is nearly short, and sets the pool's limit by the rule. It logs when it begins to shrink the
 * pool, and when the pool has its budget again. It uses the pool through pressure_ops only. */
#pragma once

#include <stdint.h>

#define PRESSURE_TICK_MS 200u

/* Called one at a time, without locks: once by pressure_start(), then by the thread. */
struct pressure_ops {
	void *context;
	/* Bytes of memory that the pool holds, in use or not, and that it may hold (the limit set
	 * last). */
	void (*usage)(void *context, uint64_t *ret_used, uint64_t *ret_limit);
	/* Makes the pool hold at most `bytes`: as far as possible now, the rest later. */
	void (*set_limit)(void *context, uint64_t bytes);
};

struct pressure_params {
	const char *root; /* for memory_read(); must outlive the thread */
	unsigned tick_ms; /* PRESSURE_TICK_MS, except in tests */
	uint64_t least;	  /* bytes that the pool must keep in any case */
	struct pressure_ops ops;
};

struct pressure;

/* The pool's limit at the start is its budget: the limit is never set higher. The thread looks at
 * once, then at each interval. Returns 0 or -errno. */
int pressure_start(const struct pressure_params *params, struct pressure **ret);
/* Ends the thread. Afterwards no call of the ops is under way or follows. NULL is fine. */
void pressure_stop(struct pressure *pressure);

struct pressure_view {
	uint64_t whole;	    /* the job's limit, or the machine's memory if that is less */
	uint64_t available; /* of it */
	uint64_t used, limit;
};

struct pressure_state {
	uint64_t budget, least;
	unsigned calm; /* ticks since memory was last short; begins at 0 */
};

/* The pool's new limit. `ticks`: since the last look. */
uint64_t pressure_limit(struct pressure_state *state, const struct pressure_view *view,
			unsigned ticks);
/* Ticks until the next look. */
unsigned pressure_wait(const struct pressure_view *view);
