/* Which bytes stay and which come next: reads of extents, answered from a bounded pool.
 *
 *	cache_read -> pool (hit: answered at once)
 *	           -> fill: read now if the kernel has it, or the caller may wait for a disk that
 *	              nobody else waits for, else by an I/O thread; the request is parked and
 *	              answered when the last of its extents is in
 *	threads without work -> plan: what to read ahead of the readers, in what pieces (cost)
 *
 * An extent is a numbered run of bytes in one file; the source says where it lies and whether what
 * was read is right. A fill is shared by all requests that wait for it. The budget is a hard bound:
 * where every slot is in use, a request waits its turn. This folder knows neither packs nor FUSE;
 * pool (pool.h) and planner (plan.h) are pure and tested on traces.
 *
 * All calls are thread-safe. Order of life: cache_new (no threads yet: a daemon forks here),
 * cache_start, cache_read ..., cache_stop, cache_free. */
#pragma once

#include "cache/plan/plan.h"
#include "cache/pool.h"
#include "cache/residency.h"
#include "cache/source.h"
#include <sys/uio.h>

#define CACHE_EXTENT_MAX   (1u << 20) /* bytes; no extent is longer */
#define CACHE_READ_EXTENTS 3	      /* that one request may touch, consecutive ones */
#define CACHE_BUDGET_MIN   ((uint64_t)8 << 20)

#define CACHE_PUSH_PIECES 66 /* of memory that an extent lies in */

struct cache;

struct cache_params {
	struct cache_source source;
	uint64_t budget;    /* bytes for slots, at least CACHE_BUDGET_MIN */
	uint64_t readahead; /* bytes read ahead of a scan; 0: nothing is, but to preload */
	unsigned threads;   /* that read from the device */
	enum reader_io io;
	uint64_t residency; /* bytes of what was served that the kernel keeps in place of the pool;
			     * RESIDENCY_ALL: all of it, and the pool is only the staging area
			     * before it */
	bool holds_all;	    /* the budget is enough for all there is */
	bool preload;	    /* read all there is, as far as it fits */
	unsigned oracle_cpus; /* that may look for the readers' order; 0: nobody does */
	enum policy_choice policy;
};

/* Answers a request: error is 0 or -errno; the bytes are valid during the call only. Called
 * exactly once, without locks, in the caller's thread or an I/O thread. */
typedef void cache_done_fn(void *arg, int error, const struct iovec *iov, int count);

struct cache_request {
	uint64_t extent; /* the first one touched */
	uint32_t from;	 /* bytes into it */
	uint32_t size;	 /* bytes, all of which exist; at most CACHE_READ_EXTENTS are touched */
	uint32_t reader; /* the process that asks; 0: not known */
	bool may_wait; /* for a disk, before cache_read() returns: other threads serve meanwhile */
	cache_done_fn *done;
	/* Whether nobody waits for the answer any more: asked with the lock held, once, before the
	 * request is parked; then cache_cancel() says so. NULL: somebody does. */
	bool (*gone)(void *arg);
	void *arg; /* names the request for cache_cancel */
};

/* What is known of the order in which files are read. From seed to files: of the order that was
 * followed last. */
struct cache_oracle {
	const char *state; /* "off", "watching", "searching", "locked" or "none" */
	char sampler[112]; /* "DistributedSampler, ranks 0 and 1 of 8" */
	char list[256];	   /* "train as ImageFolder"; "": an order that was given, without a seed */
	uint32_t seed;
	uint64_t epoch;
	uint64_t position, files; /* `position` of the files were read */
	const char *why; /* not "locked": the words of foldfs-oracle(7); "": it is, or off */
	uint64_t search_part, full_search_s; /* per cent of one; seconds of a processor, about */
	uint64_t searches;		     /* of all seeds, each of a list */
	uint64_t search_ms;		     /* what the order that was found last took to find */
	uint64_t followed; /* orders, as of several jobs or ranks, that have not ended */
	uint64_t locks, unlocks;
	uint64_t dropped; /* of what was seen: it came faster than the oracle could take it */
};

/* How far storage is read. */
struct cache_far {
	uint64_t reads, most; /* ahead of readers, under way; as many as fill the link, it seems */
	uint64_t read_bytes, read_us; /* of one; 0: not known yet */
	bool full;		      /* no memory is left for more */
};

struct cache_stats {
	uint64_t served_bytes, distinct_bytes; /* distinct: of extents served in full, each once */
	uint64_t device_reads, device_bytes, device_errors;
	uint64_t budget, limit, held;	   /* bytes; held: of memory, in use or not */
	uint64_t used, payload;		   /* bytes in use; of these, of data */
	uint64_t resident, resident_limit; /* bytes that the kernel is to keep; and may keep now */
	uint64_t hits, misses, evictions;
	uint64_t prefetch_issued, prefetch_used, prefetch_wasted, preloaded; /* bytes */
	uint64_t parked, oldest_wait_ms, given_up; /* requests that wait; the longest; timed out */
	uint64_t wait_reads, wait_us, wait_p50_us, wait_p99_us, bad_extents;
	const char *policy;
	bool direct; /* how the device is read now */
	struct cache_far far;
	struct cache_oracle oracle;
};

/* Reserves the pool's addresses. Returns 0, -EINVAL (budget too small), -EOPNOTSUPP (the file
 * cannot be read directly, but should be) or -ENOMEM. */
int cache_new(const struct cache_params *params, struct cache **ret);
/* Starts the I/O threads. Returns 0 or -errno. */
int cache_start(struct cache *cache);
/* Answers everything that is parked and ends the threads; no cache_read is under way or follows. */
void cache_stop(struct cache *cache);
void cache_free(struct cache *cache); /* stopped, or never started; NULL is fine */

void cache_read(struct cache *cache, const struct cache_request *request);

/* As params.preload, from now on. */
void cache_preload(struct cache *cache);

/* Files will be read in this order, by first extents; a file that comes again begins another epoch.
 * Takes the place of an order given before; count 0: none. Goes with the oracle off, and before
 * cache_start. Returns 0, -EINVAL (readahead is 0) or -ENOMEM. */
int cache_order(struct cache *cache, const uint32_t *files, uint32_t count);

/* A file of one extent that is in memory, and will be asked for soon: to be given to its reader's
 * kernel before that. Pinned until cache_push_done(). */
struct cache_push {
	uint64_t extent;
	uint32_t size; /* bytes */
	int count;
	struct iovec iov[CACHE_PUSH_PIECES];
	struct pool_extent *pinned;
	bool opened; /* its reader has shown itself */
};

/* Waits until there is one. False: the cache stops, or nothing is pushed. For one thread. */
bool cache_push_next(struct cache *cache, struct cache_push *ret);
/* Somebody opened the file that begins with this extent, and may have read nothing of it yet. True:
 * it is in memory, and nobody has asked for it. With ret NULL nothing is to be given. */
bool cache_opened(struct cache *cache, uint64_t extent, uint32_t reader, struct cache_push *ret);
/* With a residency of 0: readers keep the file of this extent, so it is of no use here; or not. */
void cache_kept(struct cache *cache, uint64_t extent, bool kept);
/* `taken`: the kernel has it now. */
void cache_push_done(struct cache *cache, const struct cache_push *push, bool taken);

/* Takes a parked request back: true if its done will not be called. */
bool cache_cancel(struct cache *cache, const void *arg);
/* Answers -ETIMEDOUT to requests that have waited for `ns` or longer. Returns how many. */
unsigned cache_give_up(struct cache *cache, uint64_t ns);

/* Whether the kernel's copy of an extent may go now: no request waits for it, nor is it to stay. */
bool cache_may_drop(struct cache *cache, uint64_t extent);

/* The pool may now use so many bytes, at least CACHE_BUDGET_MIN. It gives back what is above. */
void cache_limit(struct cache *cache, uint64_t bytes);

void cache_stats(struct cache *cache, struct cache_stats *ret);
