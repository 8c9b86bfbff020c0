/* The extents in memory: found by number, held by pins, evicted by a policy when slots run out.
 *
 *	absent --pool_add--> FILLING --pool_filled--> READY --evicted--> absent
 *	                        |                        ^ pinned: stays
 *	                        +----pool_failed------> FAILED, absent with its last pin
 *
 * Pure bookkeeping over memory: no threads, no I/O. The caller locks. */
#ifndef CACHE_POOL_H
#define CACHE_POOL_H

#include "cache/policy.h"
#include "cache/slots.h"
#include <sys/uio.h>

enum pool_state { POOL_FILLING, POOL_READY, POOL_FAILED };

struct pool_extent {
	struct policy_node node; /* on offer while READY and without pins */
	struct pool_extent *hash_next;
	uint64_t number;
	uint32_t size;	 /* bytes */
	uint32_t served; /* bytes, all readers together */
	uint32_t pins;
	enum pool_state state;
	int error;     /* why it FAILED */
	void *waiters; /* the cache's list of requests that wait for the fill */
	uint32_t slot_count;
	uint32_t slots[]; /* its bytes, in order; all but the last full */
};

struct pool_counters {
	uint64_t evictions;
	uint64_t wasted; /* bytes read ahead that left unread */
};

struct pool;

/* Returns 0, -EINVAL (less than two of the longest extents) or -ENOMEM. */
int pool_new(uint64_t budget, uint32_t extent_max, const struct policy_ops *policy,
	     struct pool **ret);
void pool_free(struct pool *pool);

/* The extent of that number in any state but FAILED, or NULL. */
struct pool_extent *pool_find(const struct pool *pool, uint64_t number);

/* Adds an absent extent, FILLING and pinned once, evicting where it must.
 * Returns 0, -ENOBUFS (all that is in the way is pinned) or -ENOMEM. */
int pool_add(struct pool *pool, uint64_t number, uint32_t size, enum policy_use use,
	     struct pool_extent **ret);
/* Whether slots for `bytes` more could be had right now. */
bool pool_has_room(const struct pool *pool, uint64_t bytes);

void pool_pin(struct pool *pool, struct pool_extent *extent);
void pool_unpin(struct pool *pool, struct pool_extent *extent); /* may free a FAILED one */

/* Somebody asks for the extent. Returns whether it was read ahead until now. */
bool pool_ask(struct pool *pool, struct pool_extent *extent);

/* The end of a fill; the filler keeps its pin. */
void pool_filled(struct pool *pool, struct pool_extent *extent);
void pool_failed(struct pool *pool, struct pool_extent *extent, int error);

/* Pieces of memory that hold bytes from..from + size of an extent, neighbours joined.
 * Room for size / SLOT_BYTES + 2 is needed. Returns how many. */
int pool_iov(const struct pool *pool, const struct pool_extent *extent, uint32_t from,
	     uint32_t size, struct iovec *iov);

uint64_t pool_budget(const struct pool *pool); /* bytes */
uint64_t pool_used(const struct pool *pool);   /* bytes in slots that hold an extent */
/* Bytes in slots of what was read ahead and nobody has asked for. */
uint64_t pool_ahead(const struct pool *pool);
const struct pool_counters *pool_counters(const struct pool *pool);

#endif
