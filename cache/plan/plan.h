/* What to read ahead: from the extents that were asked for so far to the next read.
 *
 *	demand -> plan_demand: which forecasts does it confirm?
 *	a read may start -> plan_next: the next extents, by the forecast that is surest:
 *		order	files will be asked for in an order that is known (plan_order.h)
 *		scan	extents are asked for one after the other (plan_scan.h)
 *		once	everything here will be asked for, in an order nobody knows (plan_once.h)
 *
 * Pure: no locks, no clock, no I/O, so that tests replay any trace. The cache reports each
 * demand, and asks for a run only when one can start at once: nothing that is planned waits in a
 * queue, and what was demanded meanwhile is not planned. */
#ifndef CACHE_PLAN_PLAN_H
#define CACHE_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define PLAN_RUN_EXTENTS 256

/* The file of an extent. Its extents have consecutive numbers. */
struct plan_kin {
	uint64_t file, file_end; /* its extents: the first one, and one past the last */
	uint64_t suffix;	 /* equal for names that are equal from their last dot on */
};

/* What the planner may ask about extents; `number` is always below `extents`. */
struct plan_view {
	uint64_t extents;
	void *context;
	void (*locate)(void *context, uint64_t number, uint64_t *ret_offset, uint32_t *ret_size);
	bool (*have)(void *context, uint64_t number); /* in memory, or on its way */
	/* Served in full, once. */
	bool (*served)(void *context, uint64_t number);
	/* The kernel should have it, so that nobody asks, unless it let go. NULL: it has nothing.
	 */
	bool (*kept)(void *context, uint64_t number);
	/* NULL: each extent is a file. */
	void (*kin)(void *context, uint64_t number, struct plan_kin *ret);
};

static inline bool plan_is_kept(const struct plan_view *view, uint64_t extent)
{
	return view->kept && view->kept(view->context, extent);
}

/* Where nothing is known of files, each extent is one. */
static inline struct plan_kin plan_kin_of(const struct plan_view *view, uint64_t extent)
{
	struct plan_kin kin = {.file = extent, .file_end = extent + 1};

	if (view->kin)
		view->kin(view->context, extent, &kin);
	return kin;
}

struct plan_params {
	struct plan_view view;
	uint64_t readahead; /* bytes that a scan is read ahead, at most; 0: nothing is, but to
			     * preload */
	bool shared;	    /* the storage is others' too: read only what is nearly certain */
	bool epochs;	    /* what was served may be forgotten: each epoch asks for all anew */
};

/* How a read ahead may look now. */
struct plan_limits {
	uint64_t run;	/* bytes of one read, at most, unless one extent is longer */
	uint64_t gap;	/* bytes between two extents that are rather read than left out */
	uint64_t room;	/* memory, bytes, for what is read ahead of a scan */
	uint64_t once;	/* the same for what is read because everything will be wanted once */
	uint64_t pace;	/* bytes to be ahead of readers whose order is known; 0: all the room */
	uint64_t order; /* the same for what comes next in a known order */
	bool no_pass;	/* over everything, but a preload: what is wanted comes as soon without */
	uint32_t grain; /* memory comes in pieces of so many bytes; 0: of one */
};

/* Extents that one read of the device brings, by rising offset. */
struct plan_run {
	bool due; /* they come next in a known order; else they are hoped to be of use */
	unsigned count;
	uint64_t bytes; /* of the extents, without what lies between */
	uint64_t extents[PLAN_RUN_EXTENTS];
};

struct plan;

/* Returns 0 or -ENOMEM. */
int plan_new(const struct plan_params *params, struct plan **ret);
void plan_free(struct plan *plan); /* NULL is fine */

struct forecast; /* order/forecast.h */

/* What it has comes in its order from now on, and is not read ahead for any other reason but a
 * preload. Returns 0, -ENOMEM, or -ENOSPC: too many are followed. It stays the caller's. */
int plan_follow(struct plan *plan, const struct forecast *forecast);
/* Before the forecast is freed. One that is not followed is fine. */
void plan_leave(struct plan *plan, const struct forecast *forecast);

/* An extent was asked for, after its forecast was told. */
void plan_demand(struct plan *plan, uint64_t extent);

/* Everything will be wanted, says the user, whatever else was said. */
void plan_preload(struct plan *plan);

/* Whether a demand just told may have led to something to read: cheap, and now and then wrong. */
bool plan_wants(const struct plan *plan, const struct plan_limits *limits);

/* The next extents to read, which from then on count as planned: false when there are none. */
bool plan_next(struct plan *plan, const struct plan_limits *limits, struct plan_run *ret);

/* The extents to read together with one that was asked for, and is not there; the others count as
 * planned: false when there are none. */
bool plan_around(struct plan *plan, const struct plan_limits *limits, uint64_t extent,
		 struct plan_run *ret);

/* Bytes that the preload, if one is under way, has got to; those asked for included. */
uint64_t plan_preloaded(const struct plan *plan);

/* How many times the readers began anew. */
uint64_t plan_epoch(const struct plan *plan);

#endif
