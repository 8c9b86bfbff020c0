/* Forecast "order": files will be asked for in an order that is known (cache/order/forecast.h). See
 * plan_order.c for what is read, and when. */
#pragma once

#include "cache/order/forecast.h"
#include "cache/plan/elevator.h"

/* What was planned of one forecast: plan_order.c's. */
struct plan_followed {
	const struct plan_view *view;
	struct elevator elevator;
	const void *id; /* its follower's */
	struct forecast *forecast;
	uint64_t fed;		/* what was seen until it foresaw something last */
	uint32_t fed_by;	/* files that it foresaw */
	uint8_t *marks;		/* of each extent: enum mark */
	uint8_t *window;	/* a set of extents (base/bits.h), */
	uint8_t *words;		/* and one of its words that are not empty */
	uint64_t listed;	/* memory of the window, bytes */
	uint64_t ahead;		/* memory of what was handed out, and not asked for or passed yet */
	uint32_t place;		/* of the order: files before it were looked at; */
	uint32_t passed;	/* these are not ahead any more: readers went past them; */
	uint32_t front;		/* and past these, at the last look */
	bool sweeping;		/* the window is being read, */
	uint64_t cursor;	/* at this extent */
	uint64_t goal;		/* W, while it doubles */
	uint64_t begun;		/* bytes listed when the sweep began */
	uint64_t taken, missed; /* bytes that readers took in this sweep, and that were not there */
	uint64_t per_sweep;	/* P */
	uint64_t mean;		/* s */
	double scatter;		/* D s, bytes squared; 0: not known yet */
	bool hungry;		/* a file that is needed soon is missing */
	uint32_t demands;	/* files, modulo 2^32 */
	uint32_t position;	/* of the forecast, at the last demand */
	uint32_t recent;	/* files, */
	uint32_t dropped;	/* of which these were asked for though the page cache had them */
};

/* Begins as {.view = VIEW}. */
struct plan_order {
	struct plan_followed *followed[FORECASTS];
	unsigned count;
	unsigned turn; /* the one to ask first for a run */
	const struct plan_view *view;
	uint64_t seen;	 /* files, each as often as it was opened or asked for; */
	uint64_t looked; /* of these, at the last look at what was passed */
};

void plan_order_release(struct plan_order *order);

/* As plan_follow() and plan_leave(). */
int plan_order_follow(struct plan_order *order, const void *id, struct forecast *forecast);
struct forecast *plan_order_leave(struct plan_order *order, const void *id);

/* A file was opened, or asked for. */
void plan_order_saw(struct plan_order *order, uint64_t file);
/* It was pushed (forecast.h). */
void plan_order_pushed(struct plan_order *order, uint64_t file);
/* Whether there may be a file to push now; calls `take` with each that comes next and may be
 * pushed, soonest first, of all orders, until it returns false. */
bool plan_order_may_push(const struct plan_order *order);
void plan_order_to_push(const struct plan_order *order, forecast_take_fn *take, void *arg);

/* Whether a forecast that has not ended has the file of this extent: then no other
 * forecast reads it ahead. */
bool plan_order_has(const struct plan_order *order, uint64_t extent);

/* An extent was asked for, after plan_order_saw(). Returns plan_order_has(). */
bool plan_order_demand(struct plan_order *order, uint64_t extent);
bool plan_order_wants(const struct plan_order *order, const struct prefetch_budget *budget);
bool plan_order_next(struct plan_order *order, const struct prefetch_budget *budget,
		     struct plan_run *ret);
/* The run around an extent that was asked for and must be read. False: nothing comes with it. */
bool plan_order_around(struct plan_order *order, const struct prefetch_budget *budget,
		       uint64_t extent, struct plan_run *ret);
/* The first `accepted` extents of a run found by these two are being read. */
void plan_order_commit(struct plan_order *order, const struct plan_run *run, unsigned accepted);
