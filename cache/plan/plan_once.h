/* The forecast "once": everything around here will be asked for, each extent once in an epoch,
 * in an order that nobody knows. See plan_once.c. */
#ifndef CACHE_PLAN_PLAN_ONCE_H
#define CACHE_PLAN_PLAN_ONCE_H

#include "cache/plan/plan.h"

#define PLAN_BLOCK                                                                    \
	256 /* extents whose fate is judged together: about a class, or a part of one \
	     */

struct plan_block {
	uint16_t asked; /* of its extents, in this epoch; if shared, or kept by the kernel */
	uint16_t known; /* asked for or planned */
};

struct plan_once {
	struct plan_block *blocks;
	/* A bit for each extent, in this epoch; planned by a preload: in all that it lasts. */
	uint8_t *asked, *planned;
	uint64_t block_count;
	uint64_t cursor;     /* the extent where the next run is looked for */
	uint64_t scattered;  /* extents first asked for in this epoch, and not by a scan */
	uint64_t bytes;	     /* of extents asked for in this epoch */
	uint64_t ahead;	     /* bytes planned and not asked for in this epoch until now */
	unsigned repeats;    /* demands for what was asked for before, less those that were not */
	bool shared, epochs; /* of the parameters */
	bool armed;	     /* the epoch before asked for everything, or there was none */
	bool preload;
	bool exhausted; /* nothing is left in the blocks that promise something */
	bool full;	/* there was no room for a run: a preload has read what fits */
	uint64_t epoch;
};

/* Returns 0 or -ENOMEM. */
int plan_once_init(struct plan_once *once, const struct plan_params *params);
void plan_once_release(struct plan_once *once);

/* `scan`: the demand went on with a scan. */
void plan_once_demand(struct plan_once *once, const struct plan_view *view, uint64_t extent,
		      bool scan);
/* A demand that says nothing of what lies around, since its order is known: it counts for the
 * epoch. Returns whether it is the first one of this extent in it. */
bool plan_once_count(struct plan_once *once, const struct plan_view *view, uint64_t extent);
/* What was foreseen does not count any more, but to a preload: demands from here on do. */
void plan_once_restart(struct plan_once *once, const struct plan_view *view);
void plan_once_preload(struct plan_once *once);
bool plan_once_wants(const struct plan_once *once, const struct plan_limits *limits);
bool plan_once_next(struct plan_once *once, const struct plan_view *view,
		    const struct plan_limits *limits, struct plan_run *ret);
/* The run that an extent belongs to which was asked for, and is to be read: false where nothing
 * comes with it. */
bool plan_once_around(struct plan_once *once, const struct plan_view *view,
		      const struct plan_limits *limits, uint64_t extent, struct plan_run *ret);

#endif
