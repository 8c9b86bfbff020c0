/* Requests under way. cache_read, cache_cancel and cache_give_up of cache.h are here too. */
#pragma once

#include "base/extent.h"
#include "base/histogram.h"
#include "cache/cache.h"
#include "cache/work.h"
#include <stdatomic.h>

struct fill;
struct pool_extent;
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

struct requests {
	struct waiter parked, starved; /* heads of rings; the starved in order of arrival */
	atomic_bool starving;	       /* somebody may; set under the lock */
	atomic_uint running;	       /* fills that somebody waits for */
	atomic_uint cached;	/* such in a row that the kernel had, so that nobody waited */
	struct histogram waits; /* us; any thread */
	_Atomic uint64_t bad_extents;
	uint64_t given_up;
};

void requests_init(struct requests *requests);

/* Reads a fill, answers who waited for its extents, in order, and frees it. Its pins go; so may the
 * extents. Without the lock. */
void request_read(struct cache *cache, struct fill *fill);
/* The same, but only if it need not wait for the device: else false, and nothing has happened. */
bool request_read_now(struct cache *cache, struct fill *fill);

/* Of a ring, by its head. */
static inline bool waiters_none(const struct waiter *head)
{
	return head->next == head;
}

/* What the I/O threads do: read a fill, answer the requests that waited for it, admit the starved.
 */
extern const struct work_ops request_work;
