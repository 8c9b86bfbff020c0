#include "cache/ahead.h"

static bool have(void *context, uint64_t number, bool again)
{
	const struct cache *cache = context;

	return pool_find(cache->pool, number) || (!again && cache_was_served(cache, number));
}

static void locate(void *context, uint64_t number, uint64_t *ret_offset, uint32_t *ret_size)
{
	const struct cache *cache = context;

	cache->source.locate(cache->source.context, number, ret_offset, ret_size);
}

/* Adds the extents of a run as far as there is room. Returns its fill, or NULL. Lock held. */
static struct fill *add_run(struct cache *cache, const struct plan_run *run)
{
	struct fill *fill = fill_new(WORK_AHEAD, run->count);
	unsigned added = 0;

	if (!fill)
		return NULL;
	while (added < run->count) {
		uint64_t number = run->first + added;

		if (pool_add(cache->pool, number, cache_size_of(cache, number), POLICY_AHEAD,
			     &fill->extents[added]) < 0)
			break;
		cache->ahead_issued += fill->extents[added++]->size;
	}
	fill->count = added;
	if (added)
		return fill;
	free(fill);
	return NULL;
}

/* At most half of the memory is for what is only hoped for, and none while requests starve. */
static bool may_read_ahead(const struct cache *cache)
{
	return waiters_none(&cache->starved) &&
	       pool_ahead(cache->pool) < pool_budget(cache->pool) / 2;
}

void ahead_plan(struct cache *cache, uint64_t first, unsigned count, struct fill **fills)
{
	const struct plan_view view = {
		.extents = cache->source.extents, .context = cache, .locate = locate, .have = have};
	struct plan_run run;

	for (uint64_t number = first; number < first + count; number++)
		plan_demand(&cache->plan, &view, number, cache_was_served(cache, number));
	while (may_read_ahead(cache) && plan_next(&cache->plan, &view, &run)) {
		struct fill *fill = add_run(cache, &run);

		if (!fill)
			return;
		/* Behind the wanted ones. */
		while (*fills)
			fills = &(*fills)->next;
		*fills = fill;
	}
}
