#include "cache/pool.h"
#include <errno.h>
#include <stdlib.h>

#define VAIN_POOLS 2 /* so often its size is missed before what was read ahead is given up */

struct pool {
	struct slots slots;
	struct policy policy, given; /* on offer; of this, what the kernel keeps */
	const struct policy_ops *ops;
	struct pool_counters counters;
	uint32_t epoch;
	uint64_t payload;     /* bytes of extents */
	uint32_t limit;	      /* slots that may hold extents */
	uint32_t offered;     /* slots of extents on offer */
	uint32_t passed;      /* of these, of what was served in full in this epoch, or given; */
	uint32_t given_slots; /* and of what was given */
	uint32_t ahead;	      /* slots of extents that nobody has asked for, */
	uint32_t due;	      /* and of those that are next in a known order */
	uint64_t in_vain[2];  /* bytes missed since one was asked for, by use */
	uint32_t mask;	      /* of buckets */
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
	policy_ring_init(&pool->given);
	if (slots_init(&pool->slots, budget) < 0)
		goto fail;
	pool->limit = pool->slots.count;
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

void pool_set_policy(struct pool *pool, const struct policy_ops *policy)
{
	pool->ops = policy;
}

const char *pool_policy(const struct pool *pool)
{
	return pool->ops->name;
}

struct pool_extent *pool_find(const struct pool *pool, uint64_t number)
{
	struct pool_extent *extent = *bucket(pool, number);

	while (extent && extent->number != number)
		extent = extent->hash_next;
	return extent;
}

static bool is_given(const struct pool_extent *extent)
{
	return extent->node.use == POLICY_GIVEN;
}

/* Slots of an extent that this epoch has done with. */
static uint32_t passed_slots(const struct pool *pool, const struct pool_extent *extent)
{
	bool spent = extent->node.use == POLICY_SPENT && extent->epoch == pool->epoch;

	return spent || is_given(extent) ? extent->slot_count : 0;
}

static void count_offered(struct pool *pool, const struct pool_extent *extent)
{
	pool->offered += extent->slot_count;
	pool->passed += passed_slots(pool, extent);
	pool->given_slots += is_given(extent) ? extent->slot_count : 0;
}

static void uncount_offered(struct pool *pool, const struct pool_extent *extent)
{
	pool->offered -= extent->slot_count;
	pool->passed -= passed_slots(pool, extent);
	pool->given_slots -= is_given(extent) ? extent->slot_count : 0;
}

static void offer(struct pool *pool, struct pool_extent *extent)
{
	if (extent->state != POOL_READY || extent->pins)
		return;
	if (is_given(extent))
		policy_ring_insert(&pool->given.queue, &extent->node);
	else
		pool->ops->offer(&pool->policy, &extent->node);
	count_offered(pool, extent);
}

static void withdraw(struct pool *pool, struct pool_extent *extent)
{
	if (extent->state != POOL_READY || extent->pins)
		return;
	if (is_given(extent))
		policy_ring_remove(&pool->given, &extent->node);
	else
		pool->ops->withdraw(&pool->policy, &extent->node);
	uncount_offered(pool, extent);
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
	pool->payload -= extent->size;
	free(extent);
}

static void count_ahead(struct pool *pool, const struct pool_extent *extent)
{
	pool->ahead += policy_is_ahead(extent->node.use) ? extent->slot_count : 0;
	pool->due += extent->node.use == POLICY_DUE ? extent->slot_count : 0;
}

static void uncount_ahead(struct pool *pool, const struct pool_extent *extent)
{
	pool->ahead -= policy_is_ahead(extent->node.use) ? extent->slot_count : 0;
	pool->due -= extent->node.use == POLICY_DUE ? extent->slot_count : 0;
}

/* The extent leaves; if it was read ahead, then in vain. */
static void count_wasted(struct pool *pool, const struct pool_extent *extent)
{
	if (!policy_is_ahead(extent->node.use))
		return;
	pool->counters.wasted += extent->size;
	uncount_ahead(pool, extent);
}

/* Enough was missed, and nothing that was read ahead for this use was asked
 * for: its readers are gone, and others need the room. */
static void give_up_ahead(struct pool *pool, enum policy_use use)
{
	for (size_t i = 0; pool->ahead && i <= pool->mask; i++)
		for (struct pool_extent *extent = pool->buckets[i]; extent;
		     extent = extent->hash_next) {
			if (extent->node.use != use || extent->pins)
				continue;
			withdraw(pool, extent);
			count_wasted(pool, extent);
			pool_spend(pool, extent, false);
			offer(pool, extent);
		}
	pool->in_vain[use] = 0;
}

static void count_missed(struct pool *pool, uint32_t bytes)
{
	for (enum policy_use use = POLICY_AHEAD; use <= POLICY_DUE; use++) {
		pool->in_vain[use] += bytes;
		if (pool->in_vain[use] > VAIN_POOLS * pool_limit_now(pool))
			give_up_ahead(pool, use);
	}
}

static void evict(struct pool *pool, struct policy_node *node)
{
	/* The node is the extent's first member. */
	struct pool_extent *extent = (struct pool_extent *)(void *)node;

	withdraw(pool, extent);
	unhash(pool, extent);
	pool->counters.evictions += node->use != POLICY_GIVEN;
	count_wasted(pool, extent);
	give_back(pool, extent);
}

/* Whether `count` slots can be had without evicting. */
static bool may_grow(const struct pool *pool, uint32_t count)
{
	return slots_in_use(&pool->slots) + count <= pool->limit;
}

/* What is hoped for gives way to what is known to come or was asked for, and what is known to
 * come to what was asked for. */
static bool gives_way(enum policy_use use, enum policy_use to)
{
	return !policy_is_ahead(use) || !policy_is_ahead(to) || use < to;
}

/* Of what the kernel keeps the latest goes first: its memory is the likeliest to be in the
 * processor's caches. */
static struct policy_node *find_victim(const struct pool *pool)
{
	struct policy_node *given = policy_ring_front(&pool->given);

	return given ? given : pool->ops->victim(&pool->policy);
}

/* Memory that was used before is taken first; fresh memory before what the pool keeps, but after
 * what the kernel keeps. What may still be wanted is evicted last of all. */
static int make_room(struct pool *pool, uint32_t count, enum policy_use use)
{
	for (;;) {
		struct policy_node *victim = find_victim(pool);
		bool given = victim && victim->use == POLICY_GIVEN;

		if (may_grow(pool, count) && (!given || slots_used_free(&pool->slots) >= count))
			return 0;
		if (!victim || !gives_way(victim->use, use))
			return -ENOBUFS;
		evict(pool, victim);
	}
}

bool pool_has_room(const struct pool *pool, uint64_t slots)
{
	return slots_in_use(&pool->slots) - pool->offered + slots <= pool->limit;
}

uint64_t pool_room_for_once(const struct pool *pool)
{
	uint32_t taken = slots_in_use(&pool->slots) - pool->passed;

	return taken < pool->limit ? (uint64_t)(pool->limit - taken) * SLOT_BYTES : 0;
}

uint32_t pool_slots(const struct pool_place *place)
{
	return slots_needed((uint32_t)(place->offset % CACHE_PAGE) + place->size);
}

int pool_add(struct pool *pool, const struct pool_place *place, enum policy_use use,
	     struct pool_extent **ret)
{
	uint32_t count = pool_slots(place);
	struct pool_extent *extent;
	int r;

	if (use == POLICY_USED)
		count_missed(pool, place->size);
	if (!pool_has_room(pool, count))
		return -ENOBUFS;
	extent = calloc(1, sizeof(*extent) + count * sizeof(extent->slots[0]));
	if (!extent)
		return -ENOMEM;
	r = make_room(pool, count, use);
	if (r < 0) {
		free(extent);
		return r;
	}
	extent->node.use = use;
	extent->number = place->number;
	extent->size = place->size;
	extent->offset = place->offset;
	extent->pins = 1;
	extent->slot_count = count;
	count_ahead(pool, extent);
	slots_take(&pool->slots, extent->slots, count);
	pool->payload += extent->size;
	extent->hash_next = *bucket(pool, place->number);
	*bucket(pool, place->number) = extent;
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
	bool ahead = policy_is_ahead(extent->node.use);

	uncount_ahead(pool, extent);
	if (ahead)
		pool->in_vain[extent->node.use] = 0;
	if (policy_is_spent(extent->node.use))
		extent->served = 0;
	extent->node.use = POLICY_USED;
	return ahead;
}

void pool_spend(struct pool *pool, struct pool_extent *extent, bool given)
{
	extent->node.use = given ? POLICY_GIVEN : POLICY_SPENT;
	extent->epoch = pool->epoch;
}

void pool_epoch(struct pool *pool, uint32_t epoch)
{
	if (pool->epoch == epoch)
		return;
	pool->epoch = epoch;
	pool->passed = pool->given_slots;
}

void pool_limit(struct pool *pool, uint64_t bytes)
{
	uint64_t slots = bytes / SLOT_BYTES;
	uint32_t held;

	pool->limit = slots < pool->slots.count ? (uint32_t)slots : pool->slots.count;
	make_room(pool, 0, POLICY_USED);
	held = slots_held(&pool->slots);
	if (held > pool->limit)
		slots_discard(&pool->slots, held - pool->limit);
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

int pool_iov_pages(const struct pool *pool, const struct pool_extent *extent, uint32_t from,
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

int pool_iov(const struct pool *pool, const struct pool_extent *extent, uint32_t from,
	     uint32_t size, struct iovec *iov)
{
	uint32_t lead = (uint32_t)(extent->offset % CACHE_PAGE);

	return pool_iov_pages(pool, extent, lead + from, size, iov);
}

uint64_t pool_budget(const struct pool *pool)
{
	return (uint64_t)pool->slots.count * SLOT_BYTES;
}

uint64_t pool_limit_now(const struct pool *pool)
{
	return (uint64_t)pool->limit * SLOT_BYTES;
}

uint64_t pool_used(const struct pool *pool)
{
	return (uint64_t)slots_in_use(&pool->slots) * SLOT_BYTES;
}

uint64_t pool_payload(const struct pool *pool)
{
	return pool->payload;
}

uint64_t pool_held(const struct pool *pool)
{
	return (uint64_t)slots_held(&pool->slots) * SLOT_BYTES;
}

uint64_t pool_due(const struct pool *pool)
{
	return (uint64_t)pool->due * SLOT_BYTES;
}

uint64_t pool_ahead(const struct pool *pool)
{
	return (uint64_t)pool->ahead * SLOT_BYTES;
}

const struct pool_counters *pool_counters(const struct pool *pool)
{
	return &pool->counters;
}
