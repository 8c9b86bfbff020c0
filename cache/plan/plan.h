/* What to read ahead: from the extents that were asked for so far to the next read.
 *
 *	demand -> plan_demand: which forecasts does it confirm?
 *	a read may start -> plan_next: the next run, by the most certain forecast that has one:
 *		order	files will be asked for in a known order (plan_order.h)
 *		scan	somebody asks for one extent after the other (plan_scan.h)
 *		preload	everything is to be read (plan_preload.h)
 *		sweep	everything will be asked for, in an unknown order (plan_sweep.h)
 *	-> plan_commit: this much of the run is being read
 *
 * Pure: no locks, no clock, no I/O, so that tests can replay any trace. The cache reports each
 * demand, and asks for a run only when one can start at once: no plan waits in a queue and grows
 * old. */
#pragma once

#include "base/extent.h"
#include <stdbool.h>
#include <stdint.h>

#define PLAN_RUN_EXTENTS 256

/* What the planner may ask about extents; `number` is always below `extents`. */
struct plan_view {
	uint64_t extents;
	uint32_t grain; /* memory is taken in pieces of this many bytes; 0: of one */
	void *context;
	void (*resolve)(void *context, uint64_t number, struct extent *ret);
	bool (*have)(void *context, uint64_t number);	/* in memory, or on its way */
	bool (*served)(void *context, uint64_t number); /* in full, at least once */
	/* The page cache should have it, so that nobody asks for it. NULL: it keeps nothing. */
	bool (*kept)(void *context, uint64_t number);
	/* Readers of a known order went past it, and no other has it: it will not be asked for. */
	void (*passed)(void *context, uint64_t number);
	/* The planner's: another forecast brings these itself. NULL: none does. */
	bool (*left)(const void *to, uint64_t number);
	const void *left_to;
};

static inline bool plan_is_kept(const struct plan_view *view, uint64_t extent)
{
	return view->kept && view->kept(view->context, extent);
}

static inline struct extent plan_extent(const struct plan_view *view, uint64_t number)
{
	struct extent extent;

	view->resolve(view->context, number, &extent);
	return extent;
}

struct plan_params {
	struct plan_view view;
	uint64_t
		readahead; /* bytes to be ahead of a scan, at most; 0: only a preload reads ahead */
	bool shared;	   /* the storage also serves others: read only what is nearly certain */
	bool epochs;	   /* memory may lose what was served: each epoch asks for all again */
};

/* What reading ahead may cost now. All in bytes. */
struct prefetch_budget {
	uint64_t run;	/* within which the extents of one read begin */
	uint64_t gap;	/* between two extents: up to here reading it costs less than a request */
	uint64_t scan;	/* memory left for scans */
	uint64_t sweep; /* memory left for the sweep over the pack */
	uint64_t order; /* memory left for what comes next in a known order */
	uint64_t pace;	/* to be ahead of readers whose order is known; 0: as memory allows */
	bool no_sweep;	/* but a preload: what is wanted comes as soon without */
};

enum plan_forecast { PLAN_ORDER, PLAN_SCAN, PLAN_SWEEP, PLAN_PRELOAD };

#define PLAN_NONE UINT64_MAX

/* Extents that one read of the device brings, by rising number. They do not overlap. */
struct plan_run {
	enum plan_forecast forecast; /* the one that the run is read for */
	unsigned follower;	     /* the planner's: one of its scans, or of its known orders */
	uint64_t wanted;	     /* the extent that was asked for, or PLAN_NONE */
	unsigned count;
	uint64_t bytes; /* of the extents, without the gaps */
	uint64_t extents[PLAN_RUN_EXTENTS];
};

struct plan;

/* Returns 0 or -ENOMEM. */
int plan_new(const struct plan_params *params, struct plan **ret);
void plan_free(struct plan *plan); /* NULL is fine */

struct forecast; /* cache/order/forecast.h */

/* From now on the files of the forecast come in its order; no other forecast but a preload reads
 * them ahead. `id` names it. Takes it over, or returns -ENOMEM or -ENOSPC (FORECASTS are followed).
 */
int plan_follow(struct plan *plan, const void *id, struct forecast *forecast);
/* Gives it back. NULL: there is none of that id. */
struct forecast *plan_leave(struct plan *plan, const void *id);
/* Those that are followed, which want to know of each file that is opened or asked for. */
struct plan_order *plan_known_orders(struct plan *plan);

/* An extent was asked for; plan_order_saw() was told. */
void plan_demand(struct plan *plan, uint64_t extent);

/* Everything is to be read, whatever readers do. */
void plan_preload(struct plan *plan);

/* Whether the last demand may have led to something to read: cheap, and now and then wrong. */
bool plan_wants(const struct plan *plan, const struct prefetch_budget *budget);

/* Proposes the next extents to read: false if there are none. They count as planned from
 * plan_commit() on, before which no other function of the plan is called. */
bool plan_next(struct plan *plan, const struct prefetch_budget *budget, struct plan_run *ret);

/* Proposes what to read together with an extent that was asked for, and is not there. */
bool plan_around(struct plan *plan, const struct prefetch_budget *budget, uint64_t extent,
		 struct plan_run *ret);

/* Only the first `accepted` extents of a proposed run are read: the others are proposed again. The
 * run may have been shortened before, at both ends. */
void plan_commit(struct plan *plan, const struct plan_run *run, unsigned accepted);

/* Bytes that the preload, if one is under way, has read or need not. */
uint64_t plan_preloaded(const struct plan *plan);

/* How many epochs the readers have ended. */
uint64_t plan_epoch(const struct plan *plan);
