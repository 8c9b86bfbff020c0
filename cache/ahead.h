/* From the planner's forecasts to fills that nobody asked for. */
#pragma once

#include "cache/cache.h"
#include "cache/plan/learner.h"
#include <stdatomic.h>

struct fill;

/* Bytes a second that readers ask for. */
struct pace {
	uint64_t since; /* ns, when this window began */
	uint64_t bytes; /* asked for in it */
	double rate;	/* of the windows before */
};

struct ahead {
	struct plan *plan;
	struct pace pace;
	struct learner learner;
	uint64_t issued, used; /* bytes */
	unsigned running;      /* fills */
	atomic_bool held;      /* the last look for a fill was refused; set under the lock */
};

/* Returns 0 or -ENOMEM. */
int ahead_new(struct cache *cache, const struct cache_params *params);

/* Tells the planner that these were asked for. Returns whether ahead_find() may find something now:
 * not while a fill is read, whose end looks, nor where none may run (ahead_released()). Lock held.
 */
bool ahead_demand(struct cache *cache, const struct extent *extents, unsigned count);

/* On a seek-bound device, what will be wanted around the one extent of a fill comes with it.
 * Returns the fill that takes its place, or the fill. Lock held. */
struct fill *ahead_widen(struct cache *cache, struct fill *fill);

/* The next fill that may run now, whose extents are added to the pool, or NULL. */
struct fill *ahead_find(struct cache *cache);
/* Such a fill was read. */
void ahead_done(struct cache *cache);
/* What limits reads ahead of remote storage. Lock held. */
void ahead_stats(const struct cache *cache, struct cache_far *ret);
/* A read that somebody waited for has ended. Returns whether there may be something to find that
 * was held back for it. */
bool ahead_released(struct cache *cache);
