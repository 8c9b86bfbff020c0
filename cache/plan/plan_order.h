/* The forecast "order": files will be asked for in an order that is known (order/forecast.h). See
 * plan_order.c. */
#ifndef CACHE_PLAN_PLAN_ORDER_H
#define CACHE_PLAN_PLAN_ORDER_H

#include "cache/order/forecast.h"
#include "cache/plan/plan.h"

#define PLAN_FORECASTS 8 /* followed at once: jobs, ranks, training and validation */

struct plan_chunk; /* of one forecast: what is to be read next, by rising number */

struct plan_order {
	struct plan_chunk *chunks[PLAN_FORECASTS];
	unsigned count;
	unsigned turn;	  /* the chunk to ask first for a run */
	uint64_t extents; /* of the parameters */
};

void plan_order_init(struct plan_order *order, const struct plan_params *params);
void plan_order_release(struct plan_order *order);

/* A forecast is followed from now on: 0, -ENOMEM, or -ENOSPC. It stays the caller's. */
int plan_order_follow(struct plan_order *order, const struct forecast *forecast);
/* What was planned of it is no longer read. A forecast that is not followed is fine. */
void plan_order_leave(struct plan_order *order, const struct forecast *forecast);

/* Whether a forecast that is neither ended nor lost has the file of this extent, so that what
 * others foresee of it does not count. */
bool plan_order_has(const struct plan_order *order, const struct plan_view *view, uint64_t extent);

/* An extent was asked for, after its forecast was told. Returns plan_order_has(). */
bool plan_order_demand(struct plan_order *order, const struct plan_view *view, uint64_t extent);
bool plan_order_wants(const struct plan_order *order, const struct plan_limits *limits);
bool plan_order_next(struct plan_order *order, const struct plan_view *view,
		     const struct plan_limits *limits, struct plan_run *ret);
/* The run of a chunk that an extent belongs to which was asked for, and is to be read: false where
 * nothing comes with it. */
bool plan_order_around(struct plan_order *order, const struct plan_view *view,
		       const struct plan_limits *limits, uint64_t extent, struct plan_run *ret);

#endif
