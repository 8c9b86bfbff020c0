#include "cache/cache_internal.h"
#include "cache/oracle_feed.h"
#include "cache/oracle_thread.h"
#include "cache/plan/plan_order.h"

#define PUSH_ASKED	8
#define PUSH_CONSIDERED 64 /* files to come */
#define PUSH_VAIN	4  /* looks in a row without any: from then on at one wake in 2^PUSH_VAIN */

_Static_assert(CACHE_PUSH_PIECES >= CACHE_EXTENT_MAX / SLOT_BYTES + 2, "as pool_iov() wants");

static void wake(struct cache *cache)
{
	cache->push.waits = false;
	pthread_cond_signal(&cache->push.wake);
}

void push_wake(struct cache *cache)
{
	if (!cache->push.waits || !plan_order_may_push(plan_known_orders(cache->ahead.plan)))
		return;
	if (cache->push.skip)
		cache->push.skip--;
	else
		wake(cache);
}

void push_end(struct cache *cache)
{
	SCOPE_LOCK(&cache->lock);
	wake(cache);
}

struct candidate {
	const struct cache *cache;
	struct pool_extent *found;
	unsigned considered;
};

/* Which ones are left out has nothing to do with their order. */
static bool is_left_out(uint32_t file)
{
	return (file * 2654435761u >> 16) % PUSH_ASKED == 0;
}

/* It is there, all of its file, and nobody has asked for it. */
static bool is_pushable(const struct pool_extent *extent)
{
	return extent && extent->state == POOL_READY && pool_is_ahead(extent->use) &&
	       extent->is.file_end == extent->is.number + 1;
}

static bool consider(void *arg, uint32_t file)
{
	struct candidate *candidate = arg;
	const struct cache *cache = candidate->cache;
	struct pool_extent *extent = pool_find(cache->pool, file);

	if (is_pushable(extent) && !is_left_out(file) &&
	    cache->source.may_push(cache->source.context, file))
		candidate->found = extent;
	return !candidate->found && ++candidate->considered < PUSH_CONSIDERED;
}

/* Lock held. */
static struct pool_extent *find(struct cache *cache)
{
	struct candidate candidate = {.cache = cache};

	plan_order_to_push(plan_known_orders(cache->ahead.plan), consider, &candidate);
	return candidate.found;
}

/* A reader whose files the kernel does not know before they are opened gives nothing to push. Lock
 * held. */
static void wait_in_vain(struct cache *cache)
{
	cache->push.skip = (1u << cache->push.vain) - 1;
	if (cache->push.vain < PUSH_VAIN)
		cache->push.vain++;
	cache->push.waits = true;
	while (cache->push.waits && !atomic_load(&cache->stopping))
		pthread_cond_wait(&cache->push.wake, &cache->lock);
}

/* Not of far storage: while one file is waited for, the kernel's copies of what was pushed after it
 * are dropped, and have to be read once more. */
static bool may_push(const struct cache *cache)
{
	return cache->oracle && cache->source.may_push && !cache->far;
}

static void take(struct cache *cache, struct pool_extent *extent, struct cache_push *ret)
{
	pool_pin(cache->pool, extent);
	ret->extent = extent->is.number;
	ret->size = extent->is.size;
	ret->count = pool_iov(cache->pool, extent, 0, extent->is.size, ret->iov);
	ret->pinned = extent;
}

bool cache_push_next(struct cache *cache, struct cache_push *ret)
{
	struct pool_extent *extent = NULL;

	if (!may_push(cache))
		return false;
	SCOPE_LOCK(&cache->lock);
	while (!atomic_load(&cache->stopping) && !(extent = find(cache)))
		wait_in_vain(cache);
	if (!extent)
		return false;
	cache->push.vain = 0;
	take(cache, extent, ret);
	ret->opened = false;
	return true;
}

bool cache_opened(struct cache *cache, uint64_t file, uint32_t reader, struct cache_push *ret)
{
	struct pool_extent *extent;

	SCOPE_LOCK(&cache->lock);
	if (cache->oracle)
		feed_saw(oracle_thread_feed(cache->oracle), reader, file, true);
	extent = pool_find(cache->pool, file);
	if (!ret || !is_pushable(extent))
		return false;
	take(cache, extent, ret);
	ret->opened = true;
	return true;
}

/* The kernel has what nobody had to ask for: as if it had been asked for, and then served. */
static bool count_pushed(struct cache *cache, const struct cache_push *push, struct drops *drops)
{
	struct pool_extent *extent = push->pinned;
	bool look;

	if (!push->opened)
		feed_pushed(oracle_thread_feed(cache->oracle), extent->is.number);
	served_asked(cache, extent, true);
	look = ahead_demand(cache, &extent->is, 1);
	served_range(cache, extent, 0, extent->is.size, drops);
	atomic_fetch_add_explicit(&cache->served.bytes, extent->is.size, memory_order_relaxed);
	return look;
}

void cache_push_done(struct cache *cache, const struct cache_push *push, bool taken)
{
	struct drops drops = {0};
	bool look;

	pthread_mutex_lock(&cache->lock);
	look = taken && count_pushed(cache, push, &drops);
	pool_unpin(cache->pool, push->pinned);
	pthread_mutex_unlock(&cache->lock);
	drops_send(cache, &drops);
	if (look)
		work_look(cache->work);
}
