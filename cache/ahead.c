#include "base/clock.h"
#include "base/math.h"
#include "cache/cache_internal.h"
#include "cache/fill.h"
#include "cache/oracle_thread.h"
#include "cache/plan/plan_order.h"
#include <string.h>

#define PACE_NS	     100000000ull	  /* over which the readers' pace is taken */
#define PACE_SECONDS 2			  /* to be ahead of them, where their order is known */
#define STALLS	     2			  /* the same, of the slowest reads, where storage is far */
#define PACE_MIN     ((uint64_t)64 << 20) /* and bytes, at least */

#define FIRST_FILES 256

#define CACHED 64 /* wanted extents in a row: the pack is in the page cache */

static bool have(void *context, uint64_t number)
{
	const struct cache *cache = context;

	return pool_find(cache->pool, number) || residency_is_kept(cache->residency, number);
}

static bool kept(void *context, uint64_t number)
{
	const struct cache *cache = context;

	return residency_is_recent(cache->residency) ? served_has(&cache->served, number)
						     : residency_is_kept(cache->residency, number);
}

static bool served(void *context, uint64_t number)
{
	return served_has(&((const struct cache *)context)->served, number);
}

static void passed(void *context, uint64_t number)
{
	pool_give_up(((const struct cache *)context)->pool, number);
}

static void resolve(void *context, uint64_t number, struct extent *ret)
{
	*ret = cache_extent(context, number);
}

int ahead_new(struct cache *cache, const struct cache_params *params)
{
	const struct plan_params plan = {
		.view =
			{
				.extents = params->source.extents,
				.grain = SLOT_BYTES,
				.context = cache,
				.resolve = resolve,
				.have = have,
				.served = served,
				.kept = kept,
				.passed = passed,
			},
		/* One stream must not fill the pool with what is only hoped for. */
		.readahead = min(params->readahead, params->budget / 8),
		/* Object stores are made for many; a sweep is what hides their latency. */
		.shared = cache->shared && !cache->remote,
		.epochs = params->residency != RESIDENCY_ALL,
	};
	int r = plan_new(&plan, &cache->ahead.plan);

	learner_init(&cache->ahead.learner, cache->remote);
	if (r == 0 && params->preload)
		plan_preload(cache->ahead.plan);
	return r;
}

static bool add(struct cache *cache, const struct plan_run *run, unsigned at,
		struct pool_extent **ret)
{
	enum pool_use use = run->forecast == PLAN_ORDER ? POOL_DUE : POOL_AHEAD;
	struct extent place = cache_extent(cache, run->extents[at]);

	if (pool_add(cache->pool, &place, use, ret) < 0)
		return false;
	cache->ahead.issued += place.size;
	return true;
}

/* A read goes through the file by rising offset. */
static void sort(struct fill *fill)
{
	for (unsigned i = 1; i < fill->count; i++) {
		struct pool_extent *extent = fill->extents[i];
		unsigned at = i;

		for (; at > 0 && fill->extents[at - 1]->is.offset > extent->is.offset; at--)
			fill->extents[at] = fill->extents[at - 1];
		fill->extents[at] = extent;
	}
}

/* Adds the extents of a run as far as there is room. Returns its fill, or NULL. Lock held. */
static struct fill *add_run(struct cache *cache, const struct plan_run *run)
{
	struct fill *fill = fill_new(run->count);
	unsigned added = 0;

	while (fill && added < run->count && add(cache, run, added, &fill->extents[added]))
		added++;
	if (!added) {
		free(fill);
		return NULL;
	}
	fill->ahead = true;
	fill->count = added;
	sort(fill);
	return fill;
}

/* Until readers are seen to follow nothing usual, a sweep would only take the link from the files
 * that show it; of a pool that cannot hold all, also the memory that their order needs, so there it
 * waits longer. Nor does one go on beside a known order: what that leaves out may be for the ranks
 * of other machines. */
static bool order_expected(const struct cache *cache)
{
	bool beginning = cache->oracle && cache->served.misses < FIRST_FILES;

	return (beginning && (!cache->holds_all || oracle_thread_expects(cache->oracle))) ||
	       plan_known_orders(cache->ahead.plan)->count > 0;
}

static struct prefetch_budget budget(const struct cache *cache)
{
	const struct pool_stats pool = pool_stats(cache->pool);
	const struct ahead *ahead = &cache->ahead;
	bool remote = cache->remote;
	uint64_t limit = pool.limit, part = limit / 8;
	/* What outlives the slowest reads, where storage is remote. */
	uint64_t cushion = STALLS * learner_stall(&ahead->learner);
	/* Half of the memory is for what scans will want, given out in pieces worth a read. */
	uint64_t scan = sub_sat(limit / 2, pool.ahead);
	/* The sweep over everything leaves an eighth to the other forecasts. Where storage is far,
	 * each file that it keeps saves a round trip, and the others gain little from memory. */
	uint64_t once = sub_sat(pool_room_for_once(cache->pool), remote ? limit / 32 : part);
	/* What comes next in a known order is worth more than what is needed later in this epoch:
	 * an eighth of the memory, enough to stay ahead of the readers, is taken from that. On a
	 * seek-bound device a sweep costs the same however much it brings, so it may take nearly
	 * all. Remote storage may need more to outlive a stall. */
	uint64_t next = max(sub_sat(part, pool.due), once);
	uint64_t most =
		learner_seek_bound(&ahead->learner) ? limit - part : min(cushion, limit - part);
	/* What the readers of a known order take in PACE_SECONDS. Where storage is far, they take
	 * what comes, so that it says little. */
	uint64_t pace =
		remote ? max(cushion, limit / 4) : (uint64_t)(ahead->pace.rate * PACE_SECONDS);

	return (struct prefetch_budget){
		.run = learner_run(&ahead->learner),
		/* On shared storage, bytes read in gaps are taken from other machines. */
		.gap = cache->shared ? LEARNER_GAP_MIN : learner_gap(&ahead->learner),
		.scan = scan < part ? 0 : scan,
		.sweep = once,
		.order = max(next, sub_sat(most, pool.ahead)),
		.pace = max(pace, PACE_MIN),
		.no_sweep = atomic_load(&cache->requests.cached) >= CACHED ||
			    (remote ? order_expected(cache) : learner_alone(&ahead->learner)),
	};
}

static void count_pace(struct pace *pace, uint64_t bytes)
{
	uint64_t now = clock_ns();

	pace->bytes += bytes;
	if (now - pace->since < PACE_NS)
		return;
	pace->rate = (pace->rate + (double)pace->bytes * 1e9 / (double)(now - pace->since)) / 2;
	pace->bytes = 0;
	pace->since = now;
}

/* Not while requests starve. A refusal is remembered for ahead_released(). */
static bool may_read_ahead(struct cache *cache)
{
	unsigned depth;

	/* Set before the look: a thread that ends a read meanwhile sees it without the lock. */
	atomic_store(&cache->ahead.held, true);
	depth = learner_depth(&cache->ahead.learner, atomic_load(&cache->requests.running));
	if (!waiters_none(&cache->requests.starved) || atomic_load(&cache->stopping) ||
	    cache->ahead.running >= depth)
		return false;
	atomic_store(&cache->ahead.held, false);
	return true;
}

bool ahead_demand(struct cache *cache, const struct extent *extents, unsigned count)
{
	struct prefetch_budget now;

	for (unsigned i = 0; i < count; i++) {
		count_pace(&cache->ahead.pace, extents[i].size);
		plan_demand(cache->ahead.plan, extents[i].number);
	}
	pool_epoch(cache->pool, (uint32_t)plan_epoch(cache->ahead.plan));
	if (cache->ahead.running && !cache->remote)
		return false;
	now = budget(cache);
	return plan_wants(cache->ahead.plan, &now) && may_read_ahead(cache);
}

bool ahead_released(struct cache *cache)
{
	if (!atomic_load(&cache->ahead.held))
		return false;
	SCOPE_LOCK(&cache->lock);
	return may_read_ahead(cache);
}

/* Lock held. */
static struct fill *next_run(struct cache *cache)
{
	struct prefetch_budget now;
	struct plan_run run;
	struct fill *fill;

	if (!may_read_ahead(cache))
		return NULL;
	now = budget(cache);
	if (!plan_next(cache->ahead.plan, &now, &run))
		return NULL;
	fill = add_run(cache, &run);
	plan_commit(cache->ahead.plan, &run, fill ? fill->count : 0);
	return fill;
}

struct fill *ahead_find(struct cache *cache)
{
	struct fill *fill;
	bool alone;

	pthread_mutex_lock(&cache->lock);
	if (atomic_load(&cache->requests.running) == 0)
		learner_idle(&cache->ahead.learner, clock_ns());
	fill = next_run(cache);
	cache->ahead.running += fill != NULL;
	alone = learner_alone(&cache->ahead.learner);
	pthread_mutex_unlock(&cache->lock);
	if (!fill && alone)
		work_look_after(cache->work, LEARNER_IDLE_NS);
	return fill;
}

static void sort_run(struct cache *cache, struct plan_run *run)
{
	for (unsigned i = 1; i < run->count; i++) {
		uint64_t number = run->extents[i], offset = cache_extent(cache, number).offset;
		unsigned at = i;

		for (; at > 0 && cache_extent(cache, run->extents[at - 1]).offset > offset; at--)
			run->extents[at] = run->extents[at - 1];
		run->extents[at] = number;
	}
}

/* Adds what lies around an extent, from there on as far as there is room: by offset, as what is
 * left out in between may be longer than a gap. */
static void add_around(struct cache *cache, struct plan_run *run, struct pool_extent *wanted,
		       struct fill *wide)
{
	unsigned at = 0, begin, end;

	sort_run(cache, run);
	while (run->extents[at] != wanted->is.number)
		at++;
	wide->extents[at] = wanted;
	for (begin = at; begin > 0; begin--)
		if (!add(cache, run, begin - 1, &wide->extents[begin - 1]))
			break;
	for (end = at + 1; end < run->count; end++)
		if (!add(cache, run, end, &wide->extents[end]))
			break;
	wide->count = end - begin;
	memmove(wide->extents, &wide->extents[begin], wide->count * sizeof(wide->extents[0]));
	memmove(run->extents, &run->extents[begin], wide->count * sizeof(run->extents[0]));
	plan_commit(cache->ahead.plan, run, wide->count);
}

struct fill *ahead_widen(struct cache *cache, struct fill *fill)
{
	struct prefetch_budget now;
	struct plan_run run;
	struct fill *wide;

	if (!learner_seek_bound(&cache->ahead.learner))
		return fill;
	now = budget(cache);
	if (!plan_around(cache->ahead.plan, &now, fill->extents[0]->is.number, &run))
		return fill;
	wide = fill_new(run.count);
	if (!wide)
		return fill;
	add_around(cache, &run, fill->extents[0], wide);
	wide->next = fill->next;
	free(fill);
	return wide;
}

void ahead_done(struct cache *cache)
{
	SCOPE_LOCK(&cache->lock);
	cache->ahead.running--;
}

void ahead_stats(const struct cache *cache, struct cache_far *ret)
{
	const struct learner *learner = &cache->ahead.learner;
	const struct prefetch_budget now = budget(cache);

	*ret = (struct cache_far){
		.reads = cache->ahead.running,
		.most = learner_depth(learner, 0),
		.read_bytes = learner->mean_bytes,
		.read_us = learner->mean_ns / 1000,
		.full = now.sweep < now.run && now.order < now.run,
	};
}
