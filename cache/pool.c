#include "cache/pool.h"
#include <errno.h>
#include <stdlib.h>

struct pool {
	struct slots slots;
	struct policy policy;
	const struct policy_ops *ops;
	struct pool_counters counters;
	uint32_t offered; /* slots of extents on offer */
	uint32_t ahead;	  /* slots of extents that nobody has asked for */
	uint32_t mask;	  /* of buckets */
	struct pool_extent **buckets;
};

/* Extents are numbered through: the low bits spread them well enough. */
static struct pool_extent **bucket(const struct pool *pool, uint64_t number)
{
	return &pool->buckets[number & pool->mask];
}

static uint32_t bucket_count(uint32_t slots)
{
	uint32_t count = 1;

	/* Photographs take about seven slots each. */
	while (count < slots / 4)
		count *= 2;
	return count;
}

int pool_new(uint64_t budget, uint32_t extent_max, const struct policy_ops *policy,
	     struct pool **ret)
{
	struct pool *pool;

	if (budget / SLOT_BYTES < 2 * slots_needed(extent_max))
		return -EINVAL;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	pool->ops = policy;
	policy->init(&pool->policy);
	if (slots_init(&pool->slots, budget) < 0)
		goto fail;
	pool->mask = bucket_count(pool->slots.count) - 1;
	pool->buckets = calloc((size_t)pool->mask + 1, sizeof(*pool->buckets));
	if (!pool->buckets)
		goto fail;
	*ret = pool;
	return 0;
fail:
	pool_free(pool);
	return -ENOMEM;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; pool->buckets && i <= pool->mask; i++) {
		struct pool_extent *extent = pool->buckets[i];

		while (extent) {
			struct pool_extent *next = extent->hash_next;

			free(extent);
			extent = next;
		}
	}
	slots_release(&pool->slots);
	free(pool->buckets);
	free(pool);
}

struct pool_extent *pool_find(const struct pool *pool, uint64_t number)
{
	struct pool_extent *extent = *bucket(pool, number);

	while (extent && extent->number != number)
		extent = extent->hash_next;
	return extent;
}

static void offer(struct pool *pool, struct pool_extent *extent)
{
	if (extent->state != POOL_READY || extent->pins)
		return;
	pool->ops->offer(&pool->policy, &extent->node);
	pool->offered += extent->slot_count;
}

static void withdraw(struct pool *pool, struct pool_extent *extent)
{
	if (extent->state != POOL_READY || extent->pins)
		return;
	pool->ops->withdraw(&pool->policy, &extent->node);
	pool->offered -= extent->slot_count;
}

static void unhash(struct pool *pool, struct pool_extent *extent)
{
	struct pool_extent **link = bucket(pool, extent->number);

	while (*link != extent)
		link = &(*link)->hash_next;
	*link = extent->hash_next;
}

static void give_back(struct pool *pool, struct pool_extent *extent)
{
	slots_give(&pool->slots, extent->slots, extent->slot_count);
	free(extent);
}

/* The extent leaves; if it was read ahead, then in vain. */
static void count_wasted(struct pool *pool, const struct pool_extent *extent)
{
	if (extent->node.use != POLICY_AHEAD)
		return;
	pool->counters.wasted += extent->size;
	pool->ahead -= extent->slot_count;
}

static void evict(struct pool *pool, struct policy_node *node)
{
	/* The node is the extent's first member. */
	struct pool_extent *extent = (struct pool_extent *)(void *)node;

	withdraw(pool, extent);
	unhash(pool, extent);
	pool->counters.evictions += node->use != POLICY_SPENT;
	count_wasted(pool, extent);
	give_back(pool, extent);
}

/* Memory that was used before is taken first: what is free, then what is spent. Only then does
 * the pool grow, and evict what may still be wanted last of all. */
static int make_room(struct pool *pool, uint32_t count)
{
	const struct slots *slots = &pool->slots;

	while (slots_used_free(slots) < count) {
		struct policy_node *victim = pool->ops->victim(&pool->policy);
		bool spent = victim && victim->use == POLICY_SPENT;

		if (!spent && slots_used_free(slots) + slots_fresh(slots) >= count)
			return 0;
		if (!victim)
			return -ENOBUFS;
		evict(pool, victim);
	}
	return 0;
}

bool pool_has_room(const struct pool *pool, uint64_t bytes)
{
	const struct slots *slots = &pool->slots;
	uint64_t room = (uint64_t)slots_used_free(slots) + slots_fresh(slots) + pool->offered;

	return room >= (bytes + SLOT_BYTES - 1) / SLOT_BYTES;
}

int pool_add(struct pool *pool, uint64_t number, uint32_t size, enum policy_use use,
	     struct pool_extent **ret)
{
	uint32_t count = slots_needed(size);
	struct pool_extent *extent;
	int r;

	if (!pool_has_room(pool, (uint64_t)count * SLOT_BYTES))
		return -ENOBUFS;
	extent = calloc(1, sizeof(*extent) + count * sizeof(extent->slots[0]));
	if (!extent)
		return -ENOMEM;
	r = make_room(pool, count);
	if (r < 0) {
		free(extent);
		return r;
	}
	if (use == POLICY_AHEAD)
		pool->ahead += count;
	extent->node.use = use;
	extent->number = number;
	extent->size = size;
	extent->pins = 1;
	extent->slot_count = count;
	slots_take(&pool->slots, extent->slots, count);
	extent->hash_next = *bucket(pool, number);
	*bucket(pool, number) = extent;
	*ret = extent;
	return 0;
}

void pool_pin(struct pool *pool, struct pool_extent *extent)
{
	withdraw(pool, extent);
	extent->pins++;
}

void pool_unpin(struct pool *pool, struct pool_extent *extent)
{
	extent->pins--;
	if (extent->state == POOL_FAILED && extent->pins == 0)
		give_back(pool, extent);
	else
		offer(pool, extent);
}

bool pool_ask(struct pool *pool, struct pool_extent *extent)
{
	if (extent->node.use != POLICY_AHEAD)
		return false;
	extent->node.use = POLICY_USED;
	pool->ahead -= extent->slot_count;
	return true;
}

void pool_filled(struct pool *pool, struct pool_extent *extent)
{
	(void)pool;
	extent->state = POOL_READY;
}

/* Out of the table at once: the next reader tries again. */
void pool_failed(struct pool *pool, struct pool_extent *extent, int error)
{
	extent->state = POOL_FAILED;
	extent->error = error;
	unhash(pool, extent);
	count_wasted(pool, extent);
}

int pool_iov(const struct pool *pool, const struct pool_extent *extent, uint32_t from,
	     uint32_t size, struct iovec *iov)
{
	int count = 0;

	while (size) {
		char *at = slots_at(&pool->slots, extent->slots[from / SLOT_BYTES]) +
			   from % SLOT_BYTES;
		uint32_t len = SLOT_BYTES - from % SLOT_BYTES;

		if (len > size)
			len = size;
		if (count && (char *)iov[count - 1].iov_base + iov[count - 1].iov_len == at)
			iov[count - 1].iov_len += len;
		else
			iov[count++] = (struct iovec){.iov_base = at, .iov_len = len};
		from += len;
		size -= len;
	}
	return count;
}

uint64_t pool_budget(const struct pool *pool)
{
	return (uint64_t)pool->slots.count * SLOT_BYTES;
}

uint64_t pool_used(const struct pool *pool)
{
	return (uint64_t)(pool->slots.touched - pool->slots.freed) * SLOT_BYTES;
}

uint64_t pool_ahead(const struct pool *pool)
{
	return (uint64_t)pool->ahead * SLOT_BYTES;
}

const struct pool_counters *pool_counters(const struct pool *pool)
{
	return &pool->counters;
}
