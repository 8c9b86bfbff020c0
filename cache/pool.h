/* The extents in memory: found by number, held by pins, evicted when slots run out.
 *
 *	absent --pool_add--> FILLING --pool_filled--> READY --evicted--> absent
 *	                        |                        ^ pinned: stays
 *	                        +----pool_failed------> FAILED, absent with its last pin
 *
 * Memory is taken in this order:
 *
 *	1. of what the kernel keeps too (the pool is a staging area then), the latest first, as its
 *	   memory is the likeliest to be in the processor's caches;
 *	2. memory that was never used, up to the limit;
 *	3. of what was served, by the policy;
 *	4. of what was read ahead, the latest first, as the oldest is needed soonest. It goes before
 *	   3. where a reader needs the room and what would leave was used since; under pin, by
 *	   somebody who still reads it.
 *
 * What was read ahead stays until it is asked for. It is given up where readers miss twice what the
 * pool holds, and ask for none of it.
 *
 * Pure bookkeeping over memory: no threads, no I/O. The caller locks. */
#pragma once

#include "base/extent.h"
#include "cache/plan/page.h"
#include "cache/slots.h"
#include <stdbool.h>
#include <sys/uio.h>

#define POOL_PAGES 256 /* in the longest extent */

/* What leaves first of what was served: what was served latest, so that the rest is still there in
 * the next epoch (pin); what was not used for longest (lru); or (auto) pin, and lru where pin keeps
 * what nobody asks for. */
enum policy_choice { POLICY_AUTO, POLICY_PIN, POLICY_LRU };

enum pool_state { POOL_FILLING, POOL_READY, POOL_FAILED };

enum pool_use {
	POOL_AHEAD, /* read ahead in the hope of use, nobody has asked for it yet */
	POOL_DUE,   /* the same, and next in an order that is known */
	POOL_USED,  /* somebody read of it and may read more */
	POOL_SPENT, /* served in full: this epoch will not ask for it again */
	POOL_GIVEN, /* the same, and the kernel keeps it: of no more use here */
	POOL_USES
};

static inline bool pool_is_ahead(enum pool_use use)
{
	return use == POOL_AHEAD || use == POOL_DUE;
}

static inline bool pool_is_spent(enum pool_use use)
{
	return use == POOL_SPENT || use == POOL_GIVEN;
}

/* Links of a ring; `next` of its head leaves first. */
struct pool_link {
	struct pool_link *prev, *next;
};

struct pool_extent {
	struct pool_link link; /* on offer, in a ring, while READY and without pins */
	enum pool_use use;
	struct pool_extent *hash_next;
	struct extent is; /* its memory begins with the page that its offset is in */
	uint64_t offered; /* the pool's clock then */
	uint32_t served;  /* pages of it, all readers together, which these are */
	uint8_t pages[POOL_PAGES / 8];
	uint32_t next;	 /* the byte at which the last request for it ended */
	uint32_t epoch;	 /* in which it was served in full, modulo 2^32 */
	uint32_t window; /* the same of the policy's windows */
	uint32_t pins;
	enum pool_state state;
	int error;     /* why it FAILED */
	void *waiters; /* the cache's list of requests that wait for the fill */
	void *fill;    /* the cache's fill, while that can still become more urgent */
	uint32_t slot_count;
	uint32_t slots[]; /* its bytes, in order; all but the last full */
};

struct pool_stats {		/* bytes, but for evictions */
	uint64_t budget, limit; /* limit: at most the budget */
	uint64_t used, payload; /* in slots that hold an extent; of these, of data */
	uint64_t held;		/* of memory, in use or not */
	uint64_t ahead, due;	/* in slots of what was read ahead and nobody has asked for; of
				 * these, next in a known order */
	uint64_t wasted;	/* read ahead, and left unread or given up, so far */
	uint64_t evictions;	/* so far */
};

struct pool;

struct pool_params {
	uint64_t budget;     /* bytes */
	uint32_t extent_max; /* bytes of the longest extent */
	uint64_t extents;    /* that there are */
	enum policy_choice policy;
};

/* Returns 0, -EINVAL (less than two of the longest extents) or -ENOMEM. */
int pool_new(const struct pool_params *params, struct pool **ret);
void pool_free(struct pool *pool);

/* Whether the policy in force is lru. */
bool pool_is_lru(const struct pool *pool);

/* The extent of that number in any state but FAILED, or NULL. */
struct pool_extent *pool_find(const struct pool *pool, uint64_t number);

/* Slots that an extent takes. */
uint32_t pool_slots(const struct extent *wanted);

/* Adds an absent extent, FILLING and pinned once, evicting where it must.
 * Returns 0, -ENOBUFS (all that is in the way is pinned, or was read ahead and this would be no
 * surer) or -ENOMEM. */
int pool_add(struct pool *pool, const struct extent *wanted, enum pool_use use,
	     struct pool_extent **ret);
/* Whether this many slots could be had right now. */
bool pool_has_room(const struct pool *pool, uint64_t slots);
/* Bytes that could be had without evicting what this epoch may still ask for. */
uint64_t pool_room_for_once(const struct pool *pool);

/* An extent that was read ahead, if it is there, will not be asked for: others may take its room.
 */
void pool_give_up(struct pool *pool, uint64_t number);

void pool_pin(struct pool *pool, struct pool_extent *extent);
void pool_unpin(struct pool *pool, struct pool_extent *extent); /* may free a FAILED one */

/* Somebody asks for a pinned extent, anew if it was served in full. Returns whether it was read
 * ahead until now. */
bool pool_ask(struct pool *pool, struct pool_extent *extent);

/* Some of an extent was served. Returns whether all of it was by now, by whomever. A page of which
 * a request takes only a part does not count, unless that goes on where the last one ended. */
bool pool_serve(struct pool_extent *extent, uint32_t from, uint32_t size);

/* Served in full: this epoch will not ask for it again, and nobody will if it is given to the
 * kernel, to keep. */
void pool_spend(struct pool *pool, struct pool_extent *extent, bool given);
/* From here on another epoch is served. */
void pool_epoch(struct pool *pool, uint32_t epoch);

/* Slots in use and free memory are to come down to `bytes` (at most the budget), as far as
 * nothing is pinned, and stay there. Returns the memory that is free now, which may be NULL, and is
 * to be handed back to the system: pool_hand_back() may take long, and needs no lock. One at a
 * time. */
struct slots_leaving *pool_limit(struct pool *pool, uint64_t bytes);
void pool_hand_back(const struct pool *pool, const struct slots_leaving *leaving);
void pool_limited(struct pool *pool, struct slots_leaving *leaving);

/* The end of a fill; the filler keeps its pin. */
void pool_filled(struct pool_extent *extent);
void pool_failed(struct pool *pool, struct pool_extent *extent, int error);

/* Pieces of memory that hold bytes from..from + size of an extent, neighbours joined.
 * Room for size / SLOT_BYTES + 2 is needed. Returns how many. */
int pool_iov(const struct pool *pool, const struct pool_extent *extent, uint32_t from,
	     uint32_t size, struct iovec *iov);
/* The same, from counted in the memory of the extent, which begins with the page of the file
 * that the extent begins in. */
int pool_iov_pages(const struct pool *pool, const struct pool_extent *extent, uint32_t from,
		   uint32_t size, struct iovec *iov);

struct pool_stats pool_stats(const struct pool *pool);
