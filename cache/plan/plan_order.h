/* Forecast "order": files will be asked for in an order that is known (order/forecast.h). See
 * plan_order.c for what is read, and when. */
#pragma once

#include "cache/order/forecast.h"
#include "cache/plan/plan.h"

#define PLAN_FORECASTS 8 /* followed at once: jobs, ranks, training and validation */

struct plan_followed; /* what was planned of one forecast */

struct plan_order {
	struct plan_followed *followed[PLAN_FORECASTS];
	unsigned count;
	unsigned turn; /* the one to ask first for a run */
	uint64_t extents;
};

void plan_order_init(struct plan_order *order, const struct plan_params *params);
void plan_order_release(struct plan_order *order);

/* Follows a forecast from now on: 0, -ENOMEM, or -ENOSPC. It stays the caller's. */
int plan_order_follow(struct plan_order *order, const struct forecast *forecast);
/* Forgets a forecast, and what was to be read of it. One that is not followed is fine. */
void plan_order_leave(struct plan_order *order, const struct forecast *forecast);

/* Whether a forecast that is neither ended nor lost has the file of this extent: then no other
 * forecast reads it ahead. */
bool plan_order_has(const struct plan_order *order, const struct plan_view *view, uint64_t extent);

/* An extent was asked for, and its forecast has seen it. Returns plan_order_has(). */
bool plan_order_demand(struct plan_order *order, const struct plan_view *view, uint64_t extent);
bool plan_order_wants(const struct plan_order *order, const struct prefetch_budget *budget);
bool plan_order_next(struct plan_order *order, const struct plan_view *view,
		     const struct prefetch_budget *budget, struct plan_run *ret);
/* The run around an extent that was asked for and must be read. False: nothing comes with it. */
bool plan_order_around(struct plan_order *order, const struct plan_view *view,
		       const struct prefetch_budget *budget, uint64_t extent, struct plan_run *ret);
/* The first `accepted` extents of a run found by these two are being read. */
void plan_order_commit(struct plan_order *order, const struct plan_view *view,
		       const struct plan_run *run, unsigned accepted);
