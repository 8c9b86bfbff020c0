/* Where the readers of known orders are, as the planner sees it: a tracker (order/forecast.h) for
 * each order that is followed, a copy of the oracle's. The oracle says which orders are followed,
 * and gets demands a moment later; trackers get each at once, under the cache's lock.
 *
 * Pure. The caller locks. */
#pragma once

#include "cache/order/forecast.h"

#define TRACKERS 8

struct tracker {
	const void *id; /* the oracle's forecast; not followed */
	struct forecast *forecast;
	uint64_t fed;	 /* the demand that it foresaw last */
	uint32_t fed_by; /* demands */
	uint32_t front;	 /* of the order: what readers had passed at the last look, */
	uint32_t passed; /* and at the one before, so that nobody reads it any more */
};

struct trackers {
	struct tracker all[TRACKERS];
	unsigned count;
	uint64_t demands, looked; /* looked: the same at the last look at what was passed */
};

/* Takes the forecast over. There must be room. */
void trackers_add(struct trackers *trackers, const void *id, struct forecast *forecast);
/* Gives it back; NULL: there is none of that id. */
struct forecast *trackers_remove(struct trackers *trackers, const void *id);

/* A file was opened, or asked for. */
void trackers_saw(struct trackers *trackers, uint64_t file);
/* It was pushed (forecast.h). */
void trackers_pushed(struct trackers *trackers, uint64_t file);
/* Whether there may be a file to push now; calls `take` with each that comes next and may be
 * pushed, soonest first, of all orders, until it returns false. */
bool trackers_may_push(const struct trackers *trackers);
void trackers_to_push(const struct trackers *trackers, forecast_take_fn *take, void *arg);

/* Now and then: calls `take` with each file that readers have passed, whether they asked for it or
 * not, some demands ago, and that no other order has. */
void trackers_passed(struct trackers *trackers, forecast_take_fn *take, void *arg);
