/* What to read ahead: from the extents that were asked for so far to the next run to read.
 *
 * Pure: no locks, no clock, no I/O. The cache reports each demand and then asks for runs
 * until there is none; a view tells the planner what need not be read. The only forecast so
 * far is "sequential". */
#ifndef CACHE_PLAN_H
#define CACHE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define PLAN_STREAMS	   32 /* scans followed at once; DataLoader workers each are one */
#define PLAN_RUN_BYTES	   ((uint64_t)1 << 20) /* of one read, about */
#define PLAN_RUN_EXTENTS   256
#define PLAN_AHEAD_EXTENTS 1024	 /* that a stream is ahead at most, however small they are */
#define PLAN_GAP_BYTES	   65536 /* between two extents of a run, read and thrown away */

/* A scan: extents asked for in nearly ascending order. */
struct plan_stream {
	uint64_t next;	 /* the extent behind the last one asked for */
	uint64_t ahead;	 /* the first extent that was not yet planned */
	uint64_t bytes;	 /* of the extents from next to ahead */
	uint64_t window; /* bytes to be ahead of the reader; grows while the scan goes on */
	uint64_t used;	 /* when it was last fed, for replacement */
	unsigned steps;	 /* how often it went on */
	bool again;	 /* reads what was served before: the kernel has let go of it */
};

struct plan {
	struct plan_stream streams[PLAN_STREAMS];
	uint64_t clock;	    /* demands seen */
	uint64_t readahead; /* bytes, at most, for each stream */
	unsigned turn;	    /* the stream to ask first for a run */
};

/* What the planner may ask about extents; `number` is always below `extents`. */
struct plan_view {
	uint64_t extents;
	void *context;
	void (*locate)(void *context, uint64_t number, uint64_t *ret_offset, uint32_t *ret_size);
	/* In memory, on its way, or (unless `again`) with the kernel already. */
	bool (*have)(void *context, uint64_t number, bool again);
};

/* Consecutive extents that one read of the device brings. */
struct plan_run {
	uint64_t first;
	uint32_t count;
	uint64_t bytes; /* of the extents, without what lies between */
};

void plan_init(struct plan *plan, uint64_t readahead);

/* An extent was asked for; `again`: it had been served in full before. */
void plan_demand(struct plan *plan, const struct plan_view *view, uint64_t extent, bool again);

/* The next run to read ahead, which from then on counts as planned: false when there is none. */
bool plan_next(struct plan *plan, const struct plan_view *view, struct plan_run *ret);

#endif
