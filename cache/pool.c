#include "cache/pool.h"
#include "base/bits.h"
#include "base/math.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VAIN_POOLS 2 /* so often its size is missed before what was read ahead is given up */

/* Which policy is in force.
 *
 * An epoch uses each of N extents once, in any order, with room for C = f N of them. What is hit
 * was there when the epoch began (whatever came later came for its only use), so no policy hits
 * more than C in an epoch. pin hits C, or C - 1: what this epoch has served is worth nothing until
 * the next one, and what was served latest is such an extent. lru hits f + (1 - f) ln(1 - f) of N
 * (tests/unit/test_policy.c). The outcome of pin is that of MinIO in CoorDL (Mohan et al.,
 * Analyzing and Mitigating Data Stalls in DNN Training, VLDB 2021).
 *
 * pin is wrong where some extents are popular (it gives up what was just used), and where a job
 * goes on with other files (it never gives up the old ones). Both show in the same way: what it
 * keeps is not asked for. A window is as many uses as there are extents, so that it is no shorter
 * than an epoch. Of what the pool kept when the window began, a window of shuffled epochs that
 * begins at the share x of an epoch leaves x (1 - x) unused at most, a quarter. Where half is left,
 * lru takes over for some windows; then pin is tried again, and each time that it fails soon lru
 * stays twice as long. */
#define JUDGED	     64	  /* extents, at least: by fewer, chance would judge */
#define PROVEN	     4	  /* windows in a row that pin stands, which forget that it failed */
#define PATIENCE     4	  /* windows of lru until pin is tried again, at first, */
#define PATIENCE_MAX 1024 /* and at most */

struct policy {
	bool lru;	 /* what is in force now; else pin */
	uint32_t window; /* the number of the window under way, modulo 2^32 */
	bool automatic;
	uint64_t length; /* of a window, in uses */
	uint64_t uses;	 /* in this window */
	uint64_t served; /* extents there when it began, and not evicted since, */
	uint64_t asked;	 /* and of these asked for since */
	uint32_t rest;	 /* windows of lru that are left; of the next time */
	uint32_t patience;
	uint32_t passed; /* windows that pin has stood in a row */
};

struct pool {
	struct slots slots;
	/* What is on offer: given, latest first; used or spent, as the policy has it; and by use,
	 * latest first. */
	struct pool_link given, used, ahead[2];
	struct policy policy;
	uint64_t evictions, wasted; /* see struct pool_stats */
	uint64_t clock;		    /* offers */
	uint32_t epoch;
	uint64_t payload;	    /* bytes of extents */
	uint32_t limit;		    /* slots that may hold extents */
	uint32_t offered;	    /* slots of extents on offer */
	uint32_t passed;	    /* of these, of what was served in this epoch, or given; */
	uint32_t given_slots;	    /* and of what was given */
	uint32_t in_use[POOL_USES]; /* slots of extents in the table, by use */
	uint64_t spent;		    /* extents in the table that were served in full */
	uint64_t in_vain[2];	    /* bytes missed since one was asked for, by use */
	uint32_t mask;		    /* of buckets */
	struct pool_extent **buckets;
};

/* --- rings ----------------------------------------------------------------------------------- */

static void ring_init(struct pool_link *head)
{
	head->prev = head->next = head;
}

/* Where it leaves first. */
static void ring_push_front(struct pool_link *head, struct pool_link *link)
{
	link->prev = head;
	link->next = head->next;
	head->next->prev = link;
	head->next = link;
}

/* The link is the extent's first member. */
static struct pool_extent *ring_front(const struct pool_link *head)
{
	return head->next == head ? NULL : (struct pool_extent *)(void *)head->next;
}

static struct pool_extent *ring_back(const struct pool_link *head)
{
	return head->prev == head ? NULL : (struct pool_extent *)(void *)head->prev;
}

/* --- the table ------------------------------------------------------------------------------- */

/* Extents are numbered through: the low bits spread them well enough. */
static struct pool_extent **bucket(const struct pool *pool, uint64_t number)
{
	return &pool->buckets[number & pool->mask];
}

int pool_new(const struct pool_params *params, struct pool **ret)
{
	uint32_t buckets = 1;
	struct pool *pool;

	if (params->budget / SLOT_BYTES < 2 * slots_needed(params->extent_max))
		return -EINVAL;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	pool->policy = (struct policy){.lru = params->policy == POLICY_LRU,
				       .automatic = params->policy == POLICY_AUTO,
				       .length = max(params->extents, JUDGED),
				       .patience = PATIENCE};
	ring_init(&pool->given);
	ring_init(&pool->used);
	ring_init(&pool->ahead[POOL_AHEAD]);
	ring_init(&pool->ahead[POOL_DUE]);
	if (slots_init(&pool->slots, params->budget) < 0)
		goto fail;
	pool->limit = pool->slots.count;
	/* Photographs take about seven slots each. */
	while (buckets < pool->slots.count / 4)
		buckets *= 2;
	pool->mask = buckets - 1;
	pool->buckets = calloc(buckets, sizeof(*pool->buckets));
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

bool pool_is_lru(const struct pool *pool)
{
	return pool->policy.lru;
}

struct pool_extent *pool_find(const struct pool *pool, uint64_t number)
{
	struct pool_extent *extent = *bucket(pool, number);

	while (extent && extent->is.number != number)
		extent = extent->hash_next;
	return extent;
}

static bool is_given(const struct pool_extent *extent)
{
	return extent->use == POOL_GIVEN;
}

/* Slots of an extent that this epoch has done with. */
static uint32_t passed_slots(const struct pool *pool, const struct pool_extent *extent)
{
	bool spent = extent->use == POOL_SPENT && extent->epoch == pool->epoch;

	return spent || is_given(extent) ? extent->slot_count : 0;
}

static void offer(struct pool *pool, struct pool_extent *extent)
{
	if (extent->state != POOL_READY || extent->pins)
		return;
	extent->offered = pool->clock++;
	if (is_given(extent))
		ring_push_front(&pool->given, &extent->link);
	else if (pool_is_ahead(extent->use))
		ring_push_front(&pool->ahead[extent->use], &extent->link);
	else if (extent->use == POOL_SPENT && !pool->policy.lru)
		ring_push_front(&pool->used, &extent->link);
	else
		ring_push_front(pool->used.prev, &extent->link); /* at the back */
	pool->offered += extent->slot_count;
	pool->passed += passed_slots(pool, extent);
	pool->given_slots += is_given(extent) ? extent->slot_count : 0;
}

static void take_off_offer(struct pool *pool, struct pool_extent *extent)
{
	if (extent->state != POOL_READY || extent->pins)
		return;
	extent->link.prev->next = extent->link.next;
	extent->link.next->prev = extent->link.prev;
	pool->offered -= extent->slot_count;
	pool->passed -= passed_slots(pool, extent);
	pool->given_slots -= is_given(extent) ? extent->slot_count : 0;
}

static void give_back(struct pool *pool, struct pool_extent *extent)
{
	slots_give(&pool->slots, extent->slots, extent->slot_count);
	pool->payload -= extent->is.size;
	free(extent);
}

static void count_use(struct pool *pool, const struct pool_extent *extent)
{
	pool->in_use[extent->use] += extent->slot_count;
	pool->spent += extent->use == POOL_SPENT;
}

static void uncount_use(struct pool *pool, const struct pool_extent *extent)
{
	pool->in_use[extent->use] -= extent->slot_count;
	pool->spent -= extent->use == POOL_SPENT;
}

static void set_use(struct pool *pool, struct pool_extent *extent, enum pool_use use)
{
	uncount_use(pool, extent);
	extent->use = use;
	count_use(pool, extent);
}

/* Served in an earlier window, and not asked for in this one. */
static bool is_idle(const struct pool *pool, const struct pool_extent *extent)
{
	return extent->use == POOL_SPENT && extent->window != pool->policy.window;
}

/* The extent leaves the table. */
static void leave_table(struct pool *pool, struct pool_extent *extent)
{
	struct pool_extent **link = bucket(pool, extent->is.number);

	while (*link != extent)
		link = &(*link)->hash_next;
	*link = extent->hash_next;
	uncount_use(pool, extent);
	if (pool_is_ahead(extent->use))
		pool->wasted += extent->is.size;
	if (is_idle(pool, extent))
		pool->policy.served -= pool->policy.served > pool->policy.asked;
}

static void spend(struct pool *pool, struct pool_extent *extent, enum pool_use use)
{
	set_use(pool, extent, use);
	extent->epoch = pool->epoch;
	extent->window = pool->policy.window;
}

static void leave_unread(struct pool *pool, struct pool_extent *extent)
{
	take_off_offer(pool, extent);
	pool->wasted += extent->is.size;
	spend(pool, extent, POOL_SPENT);
	offer(pool, extent);
}

void pool_give_up(struct pool *pool, uint64_t number)
{
	struct pool_extent *extent = pool_find(pool, number);

	if (extent && extent->state == POOL_READY && pool_is_ahead(extent->use))
		leave_unread(pool, extent);
}

/* Where enough was missed, and nothing that was read ahead for a use was asked for, its readers are
 * gone, and others need the room. */
static void count_missed(struct pool *pool, uint32_t bytes)
{
	uint64_t most = VAIN_POOLS * (uint64_t)pool->limit * SLOT_BYTES;

	for (enum pool_use use = POOL_AHEAD; use <= POOL_DUE; use++) {
		struct pool_extent *extent;

		pool->in_vain[use] += bytes;
		if (pool->in_vain[use] <= most)
			continue;
		while ((extent = ring_front(&pool->ahead[use])))
			leave_unread(pool, extent);
		pool->in_vain[use] = 0;
	}
}

/* What was read ahead, and of that the latest. */
static struct pool_extent *latest_ahead(const struct pool *pool)
{
	struct pool_extent *hoped = ring_front(&pool->ahead[POOL_AHEAD]);

	return hoped ? hoped : ring_front(&pool->ahead[POOL_DUE]);
}

/* Whether something was read ahead before this one was used last. */
static bool is_later_than_ahead(const struct pool *pool, const struct pool_extent *used)
{
	const struct pool_extent *hoped = ring_back(&pool->ahead[POOL_AHEAD]);
	const struct pool_extent *due = ring_back(&pool->ahead[POOL_DUE]);
	const struct pool_extent *oldest = hoped ? hoped : due;

	return oldest && oldest->offered < used->offered;
}

static struct pool_extent *find_victim(const struct pool *pool, enum pool_use use)
{
	struct pool_extent *given = ring_front(&pool->given), *used = ring_front(&pool->used);

	if (given || !used)
		return given ? given : latest_ahead(pool);
	if (pool_is_ahead(use) || (used->use == POOL_SPENT && !pool->policy.lru) ||
	    !is_later_than_ahead(pool, used))
		return used;
	return latest_ahead(pool);
}

static int make_room(struct pool *pool, uint32_t count, enum pool_use use)
{
	for (;;) {
		struct pool_extent *victim = find_victim(pool, use);
		bool given = victim && is_given(victim);

		if (slots_in_use(&pool->slots) + count <= pool->limit &&
		    (!given || slots_used_free(&pool->slots) >= count))
			return 0;
		/* What is hoped for gives way to what is known to come or was asked for, and what
		 * is known to come to what was asked for. */
		if (!victim ||
		    (pool_is_ahead(victim->use) && pool_is_ahead(use) && victim->use >= use))
			return -ENOBUFS;
		take_off_offer(pool, victim);
		leave_table(pool, victim);
		pool->evictions += !given;
		give_back(pool, victim);
	}
}

bool pool_has_room(const struct pool *pool, uint64_t slots)
{
	return slots_in_use(&pool->slots) - pool->offered + slots <= pool->limit;
}

uint64_t pool_room_for_once(const struct pool *pool)
{
	uint32_t taken = slots_in_use(&pool->slots) - pool->passed;

	return sub_sat(pool->limit, taken) * SLOT_BYTES;
}

uint32_t pool_slots(const struct extent *wanted)
{
	return slots_needed((uint32_t)(wanted->offset % CACHE_PAGE) + wanted->size);
}

int pool_add(struct pool *pool, const struct extent *wanted, enum pool_use use,
	     struct pool_extent **ret)
{
	uint32_t count = pool_slots(wanted);
	struct pool_extent *extent;
	int r;

	if (use == POOL_USED)
		count_missed(pool, wanted->size);
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
	extent->use = use;
	extent->is = *wanted;
	extent->pins = 1;
	extent->slot_count = count;
	count_use(pool, extent);
	slots_take(&pool->slots, extent->slots, count);
	pool->payload += extent->is.size;
	extent->hash_next = *bucket(pool, wanted->number);
	*bucket(pool, wanted->number) = extent;
	*ret = extent;
	return 0;
}

void pool_pin(struct pool *pool, struct pool_extent *extent)
{
	take_off_offer(pool, extent);
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
	bool ahead = pool_is_ahead(extent->use);

	if (ahead)
		pool->in_vain[extent->use] = 0;
	if (is_idle(pool, extent))
		pool->policy.asked++;
	if (pool_is_spent(extent->use)) {
		memset(extent->pages, 0, sizeof(extent->pages));
		extent->served = extent->next = 0;
	}
	set_use(pool, extent, POOL_USED);
	return ahead;
}

bool pool_serve(struct pool_extent *extent, uint32_t from, uint32_t size)
{
	bool ends = from + size == extent->is.size, goes_on = from == extent->next;
	uint32_t begin = (from + (goes_on ? 0 : CACHE_PAGE - 1)) / CACHE_PAGE;
	uint32_t end = (from + size + (ends ? CACHE_PAGE - 1 : 0)) / CACHE_PAGE;

	for (uint32_t page = begin; page < end; page++)
		extent->served += !bit_set(extent->pages, page);
	extent->next = from + size;
	return extent->served == cache_page_up(extent->is.size) / CACHE_PAGE;
}

/* Returns whether lru is to take over. */
static bool pin_fails(struct policy *policy)
{
	if (policy->served < JUDGED || policy->asked * 2 >= policy->served) {
		policy->passed += policy->served >= JUDGED;
		if (policy->passed == PROVEN)
			policy->patience = PATIENCE;
		return false;
	}
	policy->passed = 0;
	policy->rest = policy->patience;
	if (policy->patience < PATIENCE_MAX)
		policy->patience *= 2;
	return true;
}

void pool_spend(struct pool *pool, struct pool_extent *extent, bool given)
{
	struct policy *policy = &pool->policy;

	spend(pool, extent, given ? POOL_GIVEN : POOL_SPENT);
	if (!policy->automatic || ++policy->uses < policy->length)
		return;
	policy->lru = policy->lru ? --policy->rest > 0 : pin_fails(policy);
	policy->uses = policy->asked = 0;
	policy->served = pool->spent;
	policy->window++;
}

void pool_epoch(struct pool *pool, uint32_t epoch)
{
	if (pool->epoch == epoch)
		return;
	pool->epoch = epoch;
	pool->passed = pool->given_slots;
}

/* Slots that go with whole pages may leave too few for what the limit allows: then these come back
 * at once. */
struct slots_leaving *pool_limit(struct pool *pool, uint64_t bytes)
{
	uint64_t slots = bytes / SLOT_BYTES;
	struct slots_leaving *leaving;

	pool->limit = slots < pool->slots.count ? (uint32_t)slots : pool->slots.count;
	make_room(pool, 0, POOL_USED);
	leaving = slots_choose(&pool->slots,
			       (uint32_t)sub_sat(slots_held(&pool->slots), pool->limit));
	if (slots_in_use(&pool->slots) + slots_left(&pool->slots) >= pool->limit)
		return leaving;
	pool_hand_back(pool, leaving);
	pool_limited(pool, leaving);
	return NULL;
}

void pool_hand_back(const struct pool *pool, const struct slots_leaving *leaving)
{
	slots_hand_back(&pool->slots, leaving);
}

void pool_limited(struct pool *pool, struct slots_leaving *leaving)
{
	slots_discarded(&pool->slots, leaving);
}

void pool_filled(struct pool_extent *extent)
{
	extent->state = POOL_READY;
}

/* Out of the table at once: the next reader tries again. */
void pool_failed(struct pool *pool, struct pool_extent *extent, int error)
{
	extent->state = POOL_FAILED;
	extent->error = error;
	leave_table(pool, extent);
}

int pool_iov_pages(const struct pool *pool, const struct pool_extent *extent, uint32_t from,
		   uint32_t size, struct iovec *iov)
{
	int count = 0;

	while (size) {
		char *at = slots_at(&pool->slots, extent->slots[from / SLOT_BYTES]) +
			   from % SLOT_BYTES;
		uint32_t len = (uint32_t)min(SLOT_BYTES - from % SLOT_BYTES, size);

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
	uint32_t lead = (uint32_t)(extent->is.offset % CACHE_PAGE);

	return pool_iov_pages(pool, extent, lead + from, size, iov);
}

struct pool_stats pool_stats(const struct pool *pool)
{
	uint64_t due = pool->in_use[POOL_DUE], ahead = pool->in_use[POOL_AHEAD] + due;

	return (struct pool_stats){
		.budget = (uint64_t)pool->slots.count * SLOT_BYTES,
		.limit = (uint64_t)pool->limit * SLOT_BYTES,
		.used = (uint64_t)slots_in_use(&pool->slots) * SLOT_BYTES,
		.payload = pool->payload,
		.held = (uint64_t)slots_held(&pool->slots) * SLOT_BYTES,
		.ahead = ahead * SLOT_BYTES,
		.due = due * SLOT_BYTES,
		.wasted = pool->wasted,
		.evictions = pool->evictions,
	};
}
