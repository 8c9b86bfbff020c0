#include "cache/request.h"

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
	waiters_init(&cache->parked);
	waiters_init(&cache->starved);
	cache->source = params->source;
	cache->policy = params->policy->name;
	/* One stream must not fill the pool with what is only hoped for. */
	plan_init(&cache->plan,
		  params->readahead < params->budget / 8 ? params->readahead : params->budget / 8);
	device_init(&cache->device, params->source.fd);
	cache->served = calloc(1, params->source.extents / 8 + 1);
	r = cache->served ? pool_new(params->budget, CACHE_EXTENT_MAX, params->policy, &cache->pool)
			  : -ENOMEM;
	if (r == 0)
		r = work_new(params->threads, request_fill, cache, &cache->work);
	if (r < 0) {
		cache_free(cache);
		return r;
	}
	*ret = cache;
	return 0;
}

int cache_start(struct cache *cache)
{
	return work_start(cache->work);
}

/* Each fill answers who waited for it and makes room for the starved, whose fills the same
 * threads do before they end. What was only hoped for is not read any more. */
void cache_stop(struct cache *cache)
{
	atomic_store(&cache->stopping, true);
	work_stop(cache->work);
}

void cache_free(struct cache *cache)
{
	if (!cache)
		return;
	work_free(cache->work);
	pool_free(cache->pool);
	free(cache->served);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

void cache_stats(struct cache *cache, struct cache_stats *ret)
{
	const struct histogram *waits = &cache->waits;

	SCOPE_LOCK(&cache->lock);
	*ret = (struct cache_stats){
		.served_bytes = cache->served_bytes,
		.distinct_bytes = cache->distinct_bytes,
		.device_reads = cache->device.reads,
		.device_bytes = cache->device.bytes,
		.device_errors = cache->device.errors,
		.budget = pool_budget(cache->pool),
		.used = pool_used(cache->pool),
		.hits = cache->hits,
		.misses = cache->misses,
		.evictions = pool_counters(cache->pool)->evictions,
		.prefetch_issued = cache->ahead_issued,
		.prefetch_used = cache->ahead_used,
		.prefetch_wasted = pool_counters(cache->pool)->wasted,
		.wait_reads = histogram_count(waits),
		.wait_us = waits->total,
		.wait_p50_us = histogram_quantile(waits, 0.5),
		.wait_p99_us = histogram_quantile(waits, 0.99),
		.bad_extents = cache->bad_extents,
		.policy = cache->policy,
	};
}
