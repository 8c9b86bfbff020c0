#include "cache/cache_internal.h"

void drops_add(struct drops *drops, uint64_t extent)
{
	drops->extents[drops->count++] = extent;
}

void drops_send(const struct cache *cache, const struct drops *drops)
{
	for (unsigned i = 0; cache->source.drop && i < drops->count; i++)
		cache->source.drop(cache->source.context, drops->extents[i]);
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

/* Now and then an extent leaves the kernel's share, to see whether it is asked for. */
static void probe(struct cache *cache, struct drops *drops)
{
	uint64_t number;

	if (!residency_probe(cache->residency, &number))
		return;
	residency_release(cache->residency, number, cache_extent(cache, number).size);
	drops_add(drops, number);
}

static void served_in_full(struct cache *cache, struct pool_extent *extent, bool resident)
{
	pool_spend(cache->pool, extent, resident);
	residency_recent(cache->residency, pool_is_lru(cache->pool));
	residency_served(cache->residency, extent->is.number);
	if (bit_set(cache->served.set, extent->is.number))
		return;
	cache->served.distinct_bytes += extent->is.size;
}

void served_range(struct cache *cache, struct pool_extent *extent, uint32_t from, uint32_t size,
		  struct drops *drops)
{
	bool resident = residency_take(cache->residency, extent->is.number, extent->is.size);

	if (!resident)
		drops_add(drops, extent->is.number);
	if (!pool_serve(extent, from, size))
		return;
	served_in_full(cache, extent, resident);
	probe(cache, drops);
}
