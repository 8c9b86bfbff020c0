/* Forecast "preload": everything is to be read, whatever readers do. See plan_preload.c. */
#pragma once

#include "cache/plan/elevator.h"

/* Begins as {.view = VIEW}. */
struct plan_preload {
	const struct plan_view *view;
	struct elevator elevator;
	bool active;
	bool full;	 /* there was no room for a run: what fits was read */
	uint64_t cursor; /* extents before this one were read, or need not be */
	uint64_t bytes;	 /* of these */
};

void plan_preload_begin(struct plan_preload *preload);
/* The readers' next epoch has begun. */
void plan_preload_epoch(struct plan_preload *preload);
bool plan_preload_wants(const struct plan_preload *preload, const struct prefetch_budget *budget);
bool plan_preload_next(struct plan_preload *preload, const struct prefetch_budget *budget,
		       struct plan_run *ret);
/* The run around an extent that was asked for and must be read. False: nothing comes with it. */
bool plan_preload_around(struct plan_preload *preload, const struct prefetch_budget *budget,
			 uint64_t extent, struct plan_run *ret);
/* The first `accepted` extents of a run found by these two are being read. */
void plan_preload_commit(struct plan_preload *preload, const struct plan_run *run,
			 unsigned accepted);
