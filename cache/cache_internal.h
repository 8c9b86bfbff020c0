/* The cache's state: that of its rooms, and what they share.
 *
 *	cache.c (life) -> request.c (requests that wait) -> fill.c (reading)
 *	                                                 -> ahead.c (planning) */
#pragma once

#include "base/reader.h"
#include "base/scope.h"
#include "cache/ahead.h"
#include "cache/cache.h"
#include "cache/pool.h"
#include "cache/push.h"
#include "cache/request.h"
#include "cache/served.h"
#include "cache/work.h"

_Static_assert(CACHE_EXTENT_MAX == POOL_PAGES * CACHE_PAGE, "an extent's pages are counted");

struct oracle_thread;

struct cache {
	struct cache_source source;
	struct reader *reader; /* the source's */
	bool remote;	       /* its hints, which stay: reads are submitted, */
	bool shared;	       /* and storage is shared */
	bool holds_all;	       /* of params */
	struct work *work;
	atomic_bool stopping;	      /* what is read ahead is not worth it any more */
	struct oracle_thread *oracle; /* NULL: nothing is read ahead */

	pthread_mutex_t lock; /* never held across I/O, a check or an answer */
	/* Protected by lock, but for what is atomic: */
	struct pool *pool;
	struct residency *residency;
	struct requests requests;
	struct served served;
	struct ahead ahead;
	struct push push;
};

static inline struct extent cache_extent(const struct cache *cache, uint64_t number)
{
	return cache->source.ops->extent(cache->source.context, number);
}
