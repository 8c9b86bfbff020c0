#include "base/clock.h"
#include "base/math.h"
#include "cache/cache_internal.h"
#include "cache/oracle_thread.h"

#define LIMIT_STEP  ((uint64_t)8 << 20)
#define LIMIT_STEPS 256	   /* at most, as each looks at all slots */
#define LIMIT_REST  200000 /* ns between two, in which other threads get the lock */

/* What may fail. */
static int cache_build(struct cache *cache, const struct cache_params *params)
{
	const struct pool_params pool = {.budget = params->budget,
					 .extent_max = CACHE_EXTENT_MAX,
					 .extents = params->source.extents,
					 .policy = params->policy};
	struct reader_hints hints;
	int r = reader_prepare(cache->reader, params->io);

	if (r < 0)
		return r;
	hints = reader_hints(cache->reader);
	cache->remote = hints.remote;
	cache->shared = hints.shared;
	cache->holds_all = params->holds_all;
	cache->served.set = calloc(1, params->source.extents / 8 + 1);
	if (!cache->served.set)
		return -ENOMEM;
	r = pool_new(&pool, &cache->pool);
	if (r == 0)
		r = residency_new(params->source.extents, params->residency,
				  (uint64_t)getpagesize(), &cache->residency);
	if (r == 0)
		r = ahead_new(cache, params);
	if (r == 0 && params->readahead)
		r = oracle_thread_new(cache, params->oracle_cpus, &cache->oracle);
	if (r == 0)
		r = work_new(params->threads, &request_work, cache, &cache->work);
	return r;
}

int cache_new(const struct cache_params *params, struct cache **ret)
{
	struct cache *cache;
	int r;

	if (params->budget < CACHE_BUDGET_MIN)
		return -EINVAL;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->push.wake, NULL);
	requests_init(&cache->requests);
	cache->source = params->source;
	cache->reader = params->source.reader;
	r = cache_build(cache, params);
	if (r < 0) {
		cache_free(cache);
		return r;
	}
	*ret = cache;
	return 0;
}

int cache_start(struct cache *cache)
{
	int r = work_start(cache->work);

	if (r == 0 && cache->oracle)
		r = oracle_thread_start(cache->oracle);
	if (r == 0)
		work_look(cache->work); /* something may be there to preload */
	return r;
}

/* The I/O threads end when all fills that requests wait for are done, those of the starved too.
 * What was to be read ahead is not read any more. */
void cache_stop(struct cache *cache)
{
	atomic_store(&cache->stopping, true);
	push_end(cache);
	reader_cancel(cache->reader); /* the oracle may read a list */
	if (cache->oracle)
		oracle_thread_stop(cache->oracle);
	work_stop(cache->work);
}

void cache_free(struct cache *cache)
{
	if (!cache)
		return;
	work_free(cache->work);
	oracle_thread_free(cache->oracle);
	plan_free(cache->ahead.plan);
	pool_free(cache->pool);
	residency_free(cache->residency);
	free(cache->served.set);
	pthread_cond_destroy(&cache->push.wake);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

void cache_preload(struct cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	plan_preload(cache->ahead.plan);
	pthread_mutex_unlock(&cache->lock);
	work_look(cache->work);
}

/* In portions, so that nobody waits long for the lock. */
void cache_limit(struct cache *cache, uint64_t bytes)
{
	const struct timespec rest = {.tv_nsec = LIMIT_REST};
	bool more = true;

	while (more) {
		struct slots_leaving *leaving;
		struct pool_stats before;
		uint64_t step, portion;

		pthread_mutex_lock(&cache->lock);
		before = pool_stats(cache->pool);
		portion = max(before.budget / LIMIT_STEPS, LIMIT_STEP);
		step = before.held > bytes + portion ? before.held - portion : bytes;
		leaving = pool_limit(cache->pool, step);
		more = step > bytes && pool_stats(cache->pool).held < before.held;
		pthread_mutex_unlock(&cache->lock);
		pool_hand_back(cache->pool, leaving);
		pthread_mutex_lock(&cache->lock);
		pool_limited(cache->pool, leaving);
		pthread_mutex_unlock(&cache->lock);
		if (more)
			nanosleep(&rest, NULL);
	}
}

int cache_order(struct cache *cache, const uint32_t *files, uint32_t count)
{
	return cache->oracle ? oracle_thread_order(cache->oracle, files, count) : -EINVAL;
}

/* Requests of a ring, the first of which has waited longest. */
static void count_waiting(const struct waiter *head, uint64_t now, struct cache_stats *stats)
{
	for (const struct waiter *waiter = head->next; waiter != head; waiter = waiter->next) {
		uint64_t ms = sub_sat(now, waiter->since) / 1000000;

		stats->parked++;
		stats->oldest_wait_ms = max(stats->oldest_wait_ms, ms);
	}
}

void cache_stats(struct cache *cache, struct cache_stats *ret)
{
	const struct histogram *waits = &cache->requests.waits;
	const struct reader_counts device = reader_counts(cache->reader);
	struct pool_stats pool;
	uint64_t now = clock_ns();

	SCOPE_LOCK(&cache->lock);
	pool = pool_stats(cache->pool);
	*ret = (struct cache_stats){
		.served_bytes = cache->served.bytes,
		.distinct_bytes = cache->served.distinct_bytes,
		.device_reads = device.reads,
		.device_bytes = device.bytes,
		.device_errors = device.errors,
		.budget = pool.budget,
		.limit = pool.limit,
		.used = pool.used,
		.payload = pool.payload,
		.held = pool.held,
		.resident = residency_bytes(cache->residency),
		.resident_limit = residency_limit(cache->residency),
		.hits = cache->served.hits,
		.misses = cache->served.misses,
		.evictions = pool.evictions,
		.prefetch_issued = cache->ahead.issued,
		.prefetch_used = cache->ahead.used,
		.prefetch_wasted = pool.wasted,
		.preloaded = plan_preloaded(cache->ahead.plan),
		.given_up = cache->requests.given_up,
		.wait_reads = histogram_count(waits),
		.wait_us = waits->total,
		.wait_p50_us = histogram_quantile(waits, 0.5),
		.wait_p99_us = histogram_quantile(waits, 0.99),
		.bad_extents = cache->requests.bad_extents,
		.policy = pool_is_lru(cache->pool) ? "lru" : "pin",
		.direct = reader_hints(cache->reader).direct,
		.oracle = {.state = "off", .why = ""},
	};
	ahead_stats(cache, &ret->far);
	count_waiting(&cache->requests.parked, now, ret);
	count_waiting(&cache->requests.starved, now, ret);
	if (cache->oracle)
		oracle_thread_stats(cache->oracle, &ret->oracle);
}
