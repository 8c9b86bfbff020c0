#include "base/math.h"
#include "cache/cache_internal.h"
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
	/* Which ones are left out has nothing to do with their order. */
	bool left_out = (file * 2654435761u >> 16) % PUSH_ASKED == 0;

	if (is_pushable(extent) && !left_out &&
	    cache->source.ops->may_push(cache->source.context, file))
		candidate->found = extent;
	return !candidate->found && ++candidate->considered < PUSH_CONSIDERED;
}

/* Lock held. */
static struct pool_extent *find_pushable(struct cache *cache)
{
	struct candidate candidate = {.cache = cache};

	plan_order_to_push(plan_known_orders(cache->ahead.plan), consider, &candidate);
	return candidate.found;
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
	struct push *push = &cache->push;
	struct pool_extent *extent = NULL;

	/* Not of far storage: while one file is waited for, the kernel's copies of what was pushed
	 * after it are dropped, and have to be read once more. */
	if (!cache->oracle || cache->remote)
		return false;
	SCOPE_LOCK(&cache->lock);
	while (!atomic_load(&cache->stopping) && !(extent = find_pushable(cache))) {
		/* A reader whose files the kernel does not know before they are opened gives
		 * nothing to push. */
		push->skip = (1u << push->vain) - 1;
		push->vain = (unsigned)min(push->vain + 1, PUSH_VAIN);
		push->waits = true;
		while (push->waits && !atomic_load(&cache->stopping))
			pthread_cond_wait(&push->wake, &cache->lock);
	}
	if (!extent)
		return false;
	push->vain = 0;
	take(cache, extent, ret);
	ret->opened = false;
	return true;
}

bool cache_opened(struct cache *cache, uint64_t file, uint32_t reader, struct cache_push *ret)
{
	struct pool_extent *extent;

	SCOPE_LOCK(&cache->lock);
	if (cache->oracle)
		oracle_thread_saw(cache->oracle, reader, file, true);
	extent = pool_find(cache->pool, file);
	if (!ret || !is_pushable(extent))
		return false;
	take(cache, extent, ret);
	ret->opened = true;
	return true;
}

void cache_push_done(struct cache *cache, const struct cache_push *push, bool taken)
{
	struct pool_extent *extent = push->pinned;
	struct drops drops = {0};
	bool look = false;

	pthread_mutex_lock(&cache->lock);
	/* The kernel has what nobody had to ask for: as if it had been asked for, and then served.
	 */
	if (taken && !push->opened)
		oracle_thread_pushed(cache->oracle, extent->is.number);
	if (taken) {
		served_asked(cache, extent, true);
		look = ahead_demand(cache, &extent->is, 1);
		served_range(cache, extent, 0, extent->is.size, &drops);
		atomic_fetch_add_explicit(&cache->served.bytes, extent->is.size,
					  memory_order_relaxed);
	}
	pool_unpin(cache->pool, extent);
	pthread_mutex_unlock(&cache->lock);
	drops_send(cache, &drops);
	if (look)
		work_look(cache->work);
}
