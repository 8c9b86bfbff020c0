/* Forecast "sweep": everything around here will be asked for, each extent once in an epoch, in an
 * order that nobody knows. See plan_sweep.c. */
#pragma once

#include "cache/plan/elevator.h"

#define PLAN_BLOCK 256 /* extents that are judged together: about a class, or a part of one */

struct plan_block {
	uint16_t epoch;	     /* extents asked for in this epoch */
	uint16_t asked;	     /* of these, since the restart; on shared storage, or kept */
	uint16_t planned;    /* extents planned and not asked for */
	uint32_t generation; /* that `asked`, `planned` and the bits in `planned` belong to */
};

struct plan_sweep {
	const struct plan_view *view;
	struct elevator elevator;
	struct plan_block *blocks;
	/* A bit for each extent, in this epoch. */
	uint8_t *asked, *planned;
	uint64_t block_count;
	uint32_t generation; /* restarts: what is of another one does not count */
	uint64_t cursor;     /* the extent where the next run is looked for */
	uint64_t scattered;  /* extents first asked for in this epoch, and not by a scan */
	uint64_t bytes;	     /* of extents asked for in this epoch */
	uint64_t ahead;	     /* bytes planned and not asked for in this epoch until now */
	unsigned repeats;    /* demands for what was asked for before, less those that were not */
	bool shared, epochs; /* of the parameters */
	bool armed;	     /* the epoch before asked for everything, or there was none */
	bool exhausted;	     /* nothing is left in the blocks that promise something */
	uint64_t epoch;
};

/* Returns 0 or -ENOMEM. */
int plan_sweep_init(struct plan_sweep *sweep, const struct plan_view *view,
		    const struct plan_params *params);
void plan_sweep_release(struct plan_sweep *sweep);

/* `scan`: the demand went on with a scan. */
void plan_sweep_demand(struct plan_sweep *sweep, uint64_t extent, bool scan);
/* A demand whose order is known says nothing about what lies around; it counts for the epoch.
 * Returns whether it is the first one of this extent in it. */
bool plan_sweep_count(struct plan_sweep *sweep, uint64_t extent);
/* Demands from now on count, those before do not. Takes no time. */
void plan_sweep_restart(struct plan_sweep *sweep);
bool plan_sweep_wants(const struct plan_sweep *sweep, const struct prefetch_budget *budget);
bool plan_sweep_next(struct plan_sweep *sweep, const struct prefetch_budget *budget,
		     struct plan_run *ret);
/* The run around an extent that was asked for and must be read. False: nothing comes with it. */
bool plan_sweep_around(struct plan_sweep *sweep, const struct prefetch_budget *budget,
		       uint64_t extent, struct plan_run *ret);
/* The first `accepted` extents of a run found by these two are being read. */
void plan_sweep_commit(struct plan_sweep *sweep, const struct plan_run *run, unsigned accepted);
