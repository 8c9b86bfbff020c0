#include "cache/cache_internal.h"

void drops_add(struct drops *drops, uint64_t extent)
{
	drops->extents[drops->count++] = extent;
}

void drops_send(const struct cache *cache, const struct drops *drops)
{
	for (unsigned i = 0; i < drops->count; i++)
		cache->source.ops->drop(cache->source.context, drops->extents[i]);
}

void served_asked(struct cache *cache, struct pool_extent *extent, bool begins)
{
	if (extent->state == POOL_READY)
		cache->served.hits++;
	else
		cache->served.misses++;
	if (pool_ask(cache->pool, extent))
		cache->ahead.used += extent->is.size;
	residency_asked(cache->residency, extent->is.number, extent->is.size, begins);
}

void cache_kept(struct cache *cache, uint64_t file, bool kept)
{
	uint64_t end = cache_extent(cache, file).file_end;

	SCOPE_LOCK(&cache->lock);
	for (uint64_t number = file; number < end; number++) {
		struct pool_extent *extent = kept ? pool_find(cache->pool, number) : NULL;

		residency_keep(cache->residency, number, kept);
		if (!extent || extent->use != POOL_SPENT)
			continue;
		pool_pin(cache->pool, extent);
		pool_spend(cache->pool, extent, true);
		pool_unpin(cache->pool, extent);
	}
}

void served_range(struct cache *cache, struct pool_extent *extent, uint32_t from, uint32_t size,
		  struct drops *drops)
{
	uint64_t number = extent->is.number, probe;
	bool resident = residency_take(cache->residency, number, extent->is.size);

	if (!resident)
		drops_add(drops, number);
	if (!pool_serve(extent, from, size))
		return;
	pool_spend(cache->pool, extent, resident);
	residency_recent(cache->residency, pool_is_lru(cache->pool));
	residency_served(cache->residency, number);
	if (!bit_set(cache->served.set, number))
		cache->served.distinct_bytes += extent->is.size;
	/* Now and then one leaves the kernel's share, to see whether it is asked for. */
	if (!residency_probe(cache->residency, &probe))
		return;
	residency_release(cache->residency, probe, cache_extent(cache, probe).size);
	drops_add(drops, probe);
}
