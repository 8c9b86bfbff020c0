/* The cache's state, which its rooms share:
 *
 *	cache.c (life) -> request.c (requests that wait) -> fill.c (reading)
 *	                                                 -> ahead.c (planning) */
#pragma once

#include "base/bits.h"
#include "base/histogram.h"
#include "base/reader.h"
#include "base/scope.h"
#include "cache/cache.h"
#include "cache/plan/cost.h"
#include "cache/plan/flight.h"
#include "cache/plan/plan.h"
#include "cache/pool.h"
#include "cache/trackers.h"
#include "cache/work.h"

_Static_assert(CACHE_EXTENT_MAX == POOL_PAGES * CACHE_PAGE, "an extent's pages are counted");

struct oracle_thread;
struct waiter;

/* A waiter's place in the list of one extent. */
struct wait_link {
	struct waiter *waiter;
	struct wait_link *next;
};

/* A request under way. It holds a pin on each of its extents, or none while it is starved. */
struct waiter {
	struct cache_request request;
	struct waiter *prev, *next;		  /* ring of the parked or the starved */
	struct extent wanted[CACHE_READ_EXTENTS]; /* looked up before the lock is taken */
	struct pool_extent *extents[CACHE_READ_EXTENTS];
	struct wait_link links[CACHE_READ_EXTENTS];
	unsigned count;	  /* of extents */
	unsigned pending; /* extents not yet in */
	bool cancelled;	  /* nobody wants to know any more */
	uint64_t since;	  /* it waits, ns; 0: it did not wait */
};

/* Bytes a second that readers ask for. */
struct pace {
	uint64_t since; /* ns, when this window began */
	uint64_t bytes; /* asked for in it */
	double rate;	/* of the windows before */
};

struct cache {
	struct cache_source source;
	struct reader *reader; /* the source's */
	bool far;	       /* its hints: reads are submitted */
	struct work *work;
	struct histogram waits; /* us */
	_Atomic uint64_t served_bytes, bad_extents;
	atomic_bool stopping;	    /* what is read ahead is not worth it any more */
	atomic_bool ahead_held;	    /* the last look for a fill was refused; set under the lock */
	atomic_bool starving;	    /* somebody may; set under the lock */
	atomic_uint wanted_running; /* fills that somebody waits for */
	atomic_uint wanted_cached;  /* such in a row that the kernel had, so that nobody waited */

	pthread_mutex_t lock; /* never held across I/O, a check or an answer */
	/* Protected by lock: */
	struct pool *pool;
	struct plan *plan;
	struct trackers trackers; /* of known orders, which the plan follows */
	struct pace pace;
	struct cost cost;	       /* of storage that is near, */
	struct flight flight;	       /* and far */
	struct waiter parked, starved; /* heads of rings; the starved in order of arrival */
	uint8_t *served;	       /* a bit for each extent once served in full */
	uint64_t distinct_bytes, hits, misses;
	uint64_t given_up;		   /* requests */
	uint64_t ahead_issued, ahead_used; /* bytes */
	unsigned ahead_running;		   /* fills */
	struct residency *residency;
	pthread_cond_t push;	      /* something may be there to push, or stopping */
	bool push_waits;	      /* protected by lock: for that */
	unsigned push_vain;	      /* protected by lock: looks in a row that found nothing */
	unsigned push_skip;	      /* protected by lock: wakes until the next look */
	struct oracle_thread *oracle; /* NULL: nothing is read ahead */
};

static inline bool cache_was_served(const struct cache *cache, uint64_t extent)
{
	return bit_get(cache->served, extent);
}

static inline struct extent cache_extent(const struct cache *cache, uint64_t number)
{
	struct extent extent;

	cache->source.resolve(cache->source.context, number, &extent);
	return extent;
}

/* Rings of waiters, by their heads. */
static inline void waiters_init(struct waiter *head)
{
	head->prev = head->next = head;
}

static inline bool waiters_none(const struct waiter *head)
{
	return head->next == head;
}
