/* What is read ahead of the readers, and what it costs them: cache/ahead.h through cache/cache.h.
 *
 * Reading ahead is done by threads that have nothing else to do. Where a test must know that it
 * has come somewhere, it waits until the extent is there. */
#include "cache/ahead.h"
#include "cache/fill.h"
#include "cache/request.h"
#include "tests/unit/cache_fixture.h"
#include "tests/unit/test.h"

#define READAHEAD (16 * MIB)
#define THREADS	  (LEARNER_NEAR_MOST + 1) /* one more than read ahead */

static struct cache_params buffered(struct world *w, uint64_t budget, bool keep)
{
	struct cache_params params = params_of(w, READAHEAD, THREADS);

	params.io = READER_BUFFERED;
	params.budget = budget;
	params.residency = keep ? 0 : RESIDENCY_ALL;
	return params;
}

static void begin(struct world *w, uint64_t budget, bool keep)
{
	const struct cache_params params = buffered(w, budget, keep);

	start_with(w, &params);
}

/* --- scans --------------------------------------------------------------------------------------
 */

/* Reads all in order, and never overtakes what is read ahead. */
static void scan_behind(struct world *w)
{
	for (uint64_t e = 0; e < w->extents; e++) {
		if (e >= SURE)
			assert_true(poll_until(is_there(w, e)));
		read_all_of(w, e);
	}
	cache_stop(w->cache);
}

static void assert_nothing_in_vain(struct world *w)
{
	struct cache_stats stats = stats_of(w);

	assert_int_equal(stats.prefetch_used, stats.prefetch_issued);
	assert_int_equal(stats.prefetch_wasted, 0);
	assert_int_equal(pool_stats(w->cache->pool).ahead, 0);
	assert_int_equal(stats.distinct_bytes, payload(w));
}

/* Photographs; what has small gaps; tiny files, close to each other and in leaf pages. */
TEST_OF(w, a_scan_uses_all_that_was_read_ahead_in_few_reads)
{
	for (int i = 0; i < 300; i++)
		lay(w, 0, 110000);
	for (int i = 0; i < 300; i++)
		lay(w, random_below(LEARNER_GAP_MIN), 1 + random_below(30000));
	for (int i = 0; i < 2000; i++)
		lay(w, i % 2 ? 10 : 0, 100 + (uint64_t)i % 50);
	lay_leaf_pages(w, 80);
	start(w, READAHEAD, THREADS);
	scan_behind(w);
	assert_nothing_in_vain(w);
	print_message("%llu reads\n", (unsigned long long)stats_of(w).device_reads);
	assert_true(stats_of(w).device_reads < 200);
	assert_true(stats_of(w).device_bytes <= w->bytes + 200 * 2 * CACHE_PAGE);
}
TEST_AGAIN(far, a_scan_uses_all_that_was_read_ahead_in_few_reads);

/* Many scans at once want more ahead than there is room for: each byte is either used, lost or
 * still there, and every reader gets on. */
TEST_OF(w, scans_that_outgrow_the_pool_get_on)
{
	enum { SCANS = 30 };
	struct cache_stats stats;
	uint64_t each;

	lay_even(w, 1500, 20000);
	w->slow = true;
	start(w, READAHEAD, THREADS);
	each = w->extents / SCANS;
	for (uint64_t step = 0; step < each; step++)
		for (uint64_t s = 0; s < SCANS; s++)
			read_all_of(w, s * each + step);
	cache_stop(w->cache);
	stats = stats_of(w);
	print_message("%.2f ahead, %.3f of it used, %.3f lost\n",
		      (double)stats.prefetch_issued / (double)w->bytes,
		      (double)stats.prefetch_used / (double)stats.prefetch_issued,
		      (double)stats.prefetch_wasted / (double)stats.prefetch_issued);
	assert_true(stats.prefetch_issued > w->bytes / 5);
	assert_true(stats.prefetch_used + stats.prefetch_wasted <= stats.prefetch_issued);
	assert_true(stats.prefetch_wasted <= stats.prefetch_issued / 20);
}

enum { READERS = 16 };

struct scanner {
	struct world *world;
	uint64_t from, to;
	struct call call;
	unsigned failures;
};

static void *scan_thread(void *arg)
{
	struct scanner *scanner = arg;
	struct world *w = scanner->world;

	is_reader = true;
	for (uint64_t e = scanner->from; e < scanner->to; e++) {
		ask_all_of(&scanner->call, w, e);
		if (!wait_done(&scanner->call))
			abort(); /* it hangs */
		scanner->failures += !scanner->call.right || scanner->call.done != 1;
	}
	return NULL;
}

TEST_OF(w, scanners_side_by_side_get_their_bytes)
{
	static struct scanner scanners[READERS];
	struct cache_stats stats;
	pthread_t ids[READERS];

	lay_even(w, 1600, 30000);
	w->slow = true;
	start(w, READAHEAD, THREADS);
	for (unsigned i = 0; i < READERS; i++) {
		scanners[i] = (struct scanner){.world = w, .from = i * 100, .to = (i + 1) * 100};
		assert_int_equal(pthread_create(&ids[i], NULL, scan_thread, &scanners[i]), 0);
	}
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(ids[i], NULL);
		assert_int_equal(scanners[i].failures, 0);
	}
	cache_stop(w->cache);
	stats = stats_of(w);
	print_message("%.2f ahead, %.3f of it used, %.3f lost\n",
		      (double)stats.prefetch_issued / (double)w->bytes,
		      (double)stats.prefetch_used / (double)stats.prefetch_issued,
		      (double)stats.prefetch_wasted / (double)stats.prefetch_issued);
	assert_int_equal(stats.served_bytes, w->bytes);
	assert_int_equal(stats.distinct_bytes, w->bytes);
	assert_true(stats.prefetch_used > w->bytes / 8); /* readers may be faster */
	assert_true(stats.prefetch_wasted < w->bytes / 10);
}
TEST_AGAIN(far, scanners_side_by_side_get_their_bytes);

/* --- demands go first -------------------------------------------------------------------------
 */

/* All that is read ahead is stopped, so that a demand that waited for it would wait for ever; one
 * for what came to be read ahead just before is no miss. */
TEST_OF(w, a_miss_does_not_wait_for_what_is_read_ahead)
{
	struct call *call = w->calls;
	struct cache_params params;
	unsigned misses = 0;

	lay_even(w, 4000, 16 * KIB);
	w->slow = true;
	close_gate_ahead(w);
	params = buffered(w, 16 * CACHE_BUDGET_MIN, false); /* memory stops nothing */
	start_with(w, &params);
	scan_until_ahead(w);
	for (uint64_t e = 3900; e > 2000; e -= 100) /* also scans that begin */
		for (uint64_t i = 0; i < 5; i++, call++) {
			uint64_t before = issued(w);
			bool is_miss = !is_there(w, e + i);

			ask_all_of(call, w, e + i);
			if (!is_miss || issued(w) != before)
				continue;
			assert_true(wait_done(call));
			assert_right(call);
			misses++;
		}
	assert_true(misses > 0);
	assert_in_range(issued(w), 1, LEARNER_NEAR_MOST * (LEARNER_RUN_MAX + CACHE_EXTENT_MAX));
}

/* The first few are a scan, but the only thread is at the gate with the first. */
TEST_OF(w, nothing_is_read_ahead_while_demands_are_queued)
{
	lay_even(w, 400, 16 * KIB);
	start_slow(w, READAHEAD, 1);
	ask_all_of(&w->calls[0], w, 0);
	wait_at_gate(w, 1);
	for (unsigned i = 1; i < SURE; i++)
		ask_all_of(&w->calls[i], w, i);
	assert_int_equal(issued(w), 0);
	set_gate(w, false);
	wait_answers(w, SURE);
	for (unsigned i = 0; i < SURE; i++) {
		assert_right(&w->calls[i]);
		assert_int_equal(w->order[i], i); /* as they were checked */
	}
	assert_true(poll_until(is_there(w, SURE)));
}

/* Extents below `end` that were asked for or read ahead until now. */
static unsigned known_below(struct world *w, uint64_t end)
{
	unsigned count = 0;

	for (uint64_t e = 0; e < end; e++)
		count += w->asked[e] || is_there(w, e);
	return count;
}

/* The only thread is stopped with a run; what is asked for now comes before the next run. */
TEST_OF(w, what_is_read_ahead_is_never_queued)
{
	enum { FAR = 3000 };
	unsigned at;

	lay_even(w, 4000, 16 * KIB);
	close_gate_ahead(w);
	start(w, READAHEAD, 1);
	scan_until_ahead(w);
	at = known_below(w, FAR);
	w->slow = true;
	for (unsigned i = 0; i < SURE; i++)
		ask_all_of(&w->calls[i], w, FAR + i);
	assert_int_equal(known_below(w, FAR), at);
	set_gate(w, false);
	for (unsigned i = 0; i < SURE; i++) {
		assert_true(wait_done(&w->calls[i]));
		assert_right(&w->calls[i]);
		assert_int_equal(w->order[at + i], FAR + i);
	}
}

/* Many scans wait for more; no thread runs, so that all that may be read ahead is found here. */
TEST_OF(w, no_more_is_read_ahead_at_once_than_the_device_takes)
{
	struct fill *fills[2 * LEARNER_NEAR_MOST];
	struct cache_params params;
	unsigned count = 0;

	lay_even(w, 4000, 16 * KIB);
	params = buffered(w, 16 * CACHE_BUDGET_MIN, false);
	assert_int_equal(cache_new(&params, &w->cache), 0);
	for (uint64_t e = 0; e < 2 * LEARNER_NEAR_MOST * 100; e++)
		if (e % 100 < SURE)
			read_all_of(w, e);
	while (count < 2 * LEARNER_NEAR_MOST && (fills[count] = ahead_find(w->cache)))
		count++;
	assert_int_equal(count, learner_depth(&w->cache->ahead.learner, 0));
	for (unsigned i = 0; i < count; i++)
		request_work.perform(w->cache, &fills[i]->item);
	fills[0] = ahead_find(w->cache);
	assert_non_null(fills[0]);
	request_work.perform(w->cache, &fills[0]->item);
}

/* Who looked was told no; the end of a wanted read does not send another one to hear the same. */
TEST_OF(w, what_was_held_back_is_looked_for_once_it_may_run)
{
	struct fill *fills[2 * LEARNER_NEAR_MOST];
	struct cache_params params;
	unsigned count = 0;

	lay_even(w, 2000, 64 * KIB);
	params = buffered(w, 16 * CACHE_BUDGET_MIN, false);
	params.preload = true;
	assert_int_equal(cache_new(&params, &w->cache), 0);
	assert_false(ahead_released(w->cache)); /* nobody has looked */
	while ((fills[count] = ahead_find(w->cache)))
		count++;
	assert_true(count > 0);
	assert_false(ahead_released(w->cache));
	request_work.perform(w->cache, &fills[--count]->item);
	assert_true(ahead_released(w->cache));
	assert_false(ahead_released(w->cache)); /* that was told */
	while (count)
		request_work.perform(w->cache, &fills[--count]->item);
}

/* --- everything once --------------------------------------------------------------------------
 */

struct epoch {
	uint64_t hits;	/* extents that were there or on their way when they were asked for */
	uint64_t fills; /* extents that were read, asked for or not */
	uint64_t bytes; /* of the device */
};

/* From a device that charges nothing for a request, so that no gaps are read: they are counted
 * as the device's bytes, but are not in vain. */
static void forget_costs(struct world *w)
{
	SCOPE_LOCK(&w->cache->lock);
	w->cache->ahead.learner.ratio = 0;
}

/* Photographs larger than the least gap, and so many that their shuffled order hardly ever looks
 * like a scan. */
static void lay_many_photos(struct world *w)
{
	for (unsigned i = 0; i < 4000; i++)
		lay(w, random() % 4 ? 0 : random_below(300),
		    LEARNER_GAP_MIN + 2 * KIB + random_below(8 * KIB));
	write_file(w);
}

/* Of all extents, each read by itself. */
static double all_pages(const struct world *w)
{
	uint64_t bytes = 0;

	for (uint64_t e = 0; e < w->extents; e++)
		bytes += page_bytes(w, e);
	return (double)bytes;
}

/* Each once, in an order that nobody knows. */
static struct epoch shuffled_epoch(struct world *w)
{
	uint64_t order[MOST], before = stats_of(w).device_bytes;
	struct epoch epoch = {.fills = w->checks};

	shuffle(order, w->extents);
	for (uint64_t i = 0; i < w->extents; i++) {
		forget_costs(w);
		epoch.hits += is_there(w, order[i]);
		read_all_of(w, order[i]);
	}
	epoch.bytes = stats_of(w).device_bytes - before;
	epoch.fills = w->checks - epoch.fills;
	return epoch;
}

static void show(struct world *w, const struct epoch *epoch)
{
	print_message("%.3f of the demands hit, %.3f filled, %.3f of the bytes read\n",
		      (double)epoch->hits / (double)w->extents,
		      (double)epoch->fills / (double)w->extents,
		      (double)epoch->bytes / all_pages(w));
}

static bool all_there(struct world *w)
{
	for (uint64_t e = 0; e < w->extents; e++)
		if (!w->asked[e] && !is_there(w, e))
			return false;
	return true;
}

/* A tenth is asked for; the rest comes by itself. */
TEST_OF(w, a_shuffled_reader_finds_all_there)
{
	struct cache_stats stats;
	uint64_t order[MOST], i = 0;

	lay_photos(w, 1000);
	w->slow = true;
	begin(w, 64 * MIB, false);
	shuffle(order, w->extents);
	while (i < w->extents / 10)
		read_all_of(w, order[i++]);
	assert_true(poll_until(all_there(w)));
	while (i < w->extents)
		read_all_of(w, order[i++]);
	cache_stop(w->cache);
	stats = stats_of(w);
	assert_nothing_in_vain(w);
	assert_int_equal(w->checks, w->extents); /* each was read once */
	assert_int_equal(stats.evictions, 0);
	assert_true(stats.misses <= w->extents / 10);
	/* What the first tenth left of runs are gaps. */
	assert_true(stats.device_bytes <= payload(w) * 12 / 10);
	assert_true(stats.device_bytes >= payload(w));
}

/* Of one pass over a pack that the test has just written, the reads that found nothing ahead. */
static uint64_t misses_of_a_pass(struct world *w, const struct cache_params *params)
{
	uint64_t order[MOST];

	start_with(w, params);
	shuffle(order, w->extents);
	for (uint64_t i = 0; i < w->extents; i++)
		read_all_of(w, order[i]);
	cache_stop(w->cache);
	return stats_of(w).misses;
}

/* What memory gives and what reading ahead would cost is measured, and a processor that was taken
 * away spoils that: one pass in twenty reads much ahead. */
TEST_OF(w, a_pack_in_the_page_cache_is_not_read_ahead)
{
	struct cache_params params;
	uint64_t misses = 0;

	lay_photos(w, 2000);
	params = buffered(w, 2 * slot_bytes(w, 0, w->extents), false);
	for (int pass = 0; pass < 3 && misses <= w->extents / 4; pass++) {
		cache_free(w->cache);
		w->cache = NULL;
		misses = misses_of_a_pass(w, &params);
	}
	assert_true(misses > w->extents / 4);
}

static void make_seek_bound(struct world *w)
{
	SCOPE_LOCK(&w->cache->lock);
	w->cache->ahead.learner.ratio = LEARNER_GAP_MAX;
}

static void read_nothing_ahead(struct world *w)
{
	SCOPE_LOCK(&w->cache->lock);
	w->cache->ahead.running = LEARNER_NEAR_MOST;
}

TEST_OF(w, on_a_seek_bound_device_a_record_brings_what_lies_around_it_in_leaf_pages_too)
{
	uint64_t order[MOST], wanted, around = 0;

	lay_leaf_pages(w, 150);
	begin(w, 2 * slot_bytes(w, 0, w->extents), false);
	read_nothing_ahead(w);
	shuffle(order, w->extents);
	for (unsigned i = 0; i < 20; i++)
		read_all_of(w, order[i]);
	for (unsigned i = 20; i < w->extents && around < 5; i++) {
		wanted = order[i];
		if (is_there(w, wanted))
			continue;
		make_seek_bound(w);
		read_all_of(w, wanted);
		around += is_there(w, wanted ? wanted - 1 : 1) || is_there(w, wanted + 1);
	}
	assert_int_equal(around, 5);
	cache_stop(w->cache);
}

/* The order's window, and the pool with extents that stay. */
static void fill_window_and_pool(struct world *w, uint64_t first, uint64_t end)
{
	struct prefetch_budget budget = {.run = 4 * MIB,
					 .gap = LEARNER_GAP_MAX,
					 .order = 8 * MIB,
					 .pace = 8 * MIB,
					 .no_sweep = true};
	struct plan_run run;

	SCOPE_LOCK(&w->cache->lock);
	assert_true(plan_next(w->cache->ahead.plan, &budget, &run));
	plan_commit(w->cache->ahead.plan, &run, 0);
	for (uint64_t e = first; e < end; e++) {
		struct extent x = cache_extent(w->cache, e);
		struct pool_extent *held;

		assert_int_equal(pool_add(w->cache->pool, &x, POOL_USED, &held), 0);
	}
	w->cache->ahead.learner.run = 4 * MIB;
}

/* A large file lies above a small one that comes after it, in a leaf page. Where it finds no room,
 * what lies beyond it is left out, too: they are farther apart than a gap may be. */
TEST_OF(w, what_lies_around_is_left_out_from_the_end)
{
	enum { LARGE = 21, SMALL, BEYOND, OTHERS, COUNT = OTHERS + 16 };
	uint32_t order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, SMALL, LARGE, BEYOND};

	for (unsigned i = 0; i < LARGE; i++)
		lay(w, 0, 8192);
	w->bytes += CACHE_PAGE - w->bytes % CACHE_PAGE;
	lay(w, 1280 * KIB, MIB);
	lay(w, 0, 600);
	w->offsets[SMALL] = w->offsets[LARGE] - MIB;
	lay(w, 900 * KIB, 600);
	w->bytes += CACHE_PAGE - w->bytes % CACHE_PAGE;
	for (unsigned i = OTHERS; i < COUNT; i++)
		lay(w, 0, MIB);
	write_file(w);
	begin(w, 16 * MIB + 512 * KIB, false);
	read_nothing_ahead(w);
	assert_int_equal(cache_order(w->cache, order, sizeof(order) / sizeof(*order)), 0);
	for (uint64_t i = 0; i < 10; i++)
		read_all_of(w, i);
	fill_window_and_pool(w, OTHERS, COUNT);
	make_seek_bound(w);
	read_all_of(w, SMALL);
	assert_true(is_there(w, SMALL));
	assert_true(is_there(w, LARGE) || !is_there(w, BEYOND));
}

/* The kernel keeps what was served: what waits to be asked for never fills the pool so that
 * some of it is lost. */
TEST_OF(w, a_pool_smaller_than_the_data_reads_each_byte_about_once)
{
	struct epoch epoch;

	lay_many_photos(w);
	w->slow = true;
	assert_true(payload(w) > 16 * CACHE_BUDGET_MIN);
	begin(w, 4 * CACHE_BUDGET_MIN, false);
	epoch = shuffled_epoch(w);
	cache_stop(w->cache);
	show(w, &epoch);
	assert_true((double)epoch.bytes <= 1.1 * all_pages(w));
	assert_true(epoch.fills <= w->extents * 51 / 50);
	assert_true(epoch.hits > w->extents / 8);
	assert_true(stats_of(w).prefetch_wasted <= stats_of(w).prefetch_issued / 20);
	assert_int_equal(stats_of(w).distinct_bytes, payload(w));
}
TEST_AGAIN(far, a_pool_smaller_than_the_data_reads_each_byte_about_once);

/* In an unknown order, each file in memory saves a round trip. */
TEST_WITH(far, w, far_files_are_kept_until_used_as_far_as_memory_goes)
{
	uint64_t order[MOST], limit;

	lay_many_photos(w);
	assert_true(payload(w) > 16 * CACHE_BUDGET_MIN);
	begin(w, 8 * CACHE_BUDGET_MIN, false);
	shuffle(order, w->extents);
	for (unsigned i = 0; i < w->extents / 8; i++)
		read_all_of(w, order[i]);
	limit = stats_of(w).limit;
	assert_true(poll_until(pool_stats(w->cache->pool).ahead >= limit - limit / 8));
	assert_int_equal(stats_of(w).prefetch_wasted, 0);
	cache_stop(w->cache);
}

/* What they take of the pool is much more than their bytes. */
TEST_OF(w, tiny_files_read_ahead_are_not_lost_for_others)
{
	struct epoch epoch;

	for (unsigned i = 0; i < 4000; i++)
		lay(w, 0, 300 + random_below(400));
	write_file(w);
	w->slow = true;
	begin(w, 2 * CACHE_BUDGET_MIN, false);
	epoch = shuffled_epoch(w);
	cache_stop(w->cache);
	show(w, &epoch);
	assert_true(epoch.fills <= w->extents * 51 / 50);
	assert_int_equal(stats_of(w).distinct_bytes, payload(w));
}

/* --- the pool keeps -----------------------------------------------------------------------------
 */

TEST_OF(w, a_pool_that_holds_all_reads_nothing_again)
{
	struct epoch epoch;

	lay_photos(w, 1000);
	w->slow = true;
	begin(w, 64 * MIB, true);
	epoch = shuffled_epoch(w);
	assert_true(epoch.hits > w->extents / 4);
	assert_int_equal(epoch.fills, w->extents);
	for (unsigned again = 0; again < 3; again++) {
		epoch = shuffled_epoch(w);
		assert_int_equal(epoch.bytes, 0);
		assert_int_equal(epoch.hits, w->extents);
	}
	cache_stop(w->cache);
	assert_nothing_in_vain(w);
	assert_int_equal(stats_of(w).evictions, 0);
}

/* Memory for half of the data: an epoch costs what is missing. */
TEST_OF(w, reading_ahead_costs_a_pool_that_keeps_no_hits)
{
	double extents, missing;
	struct epoch epoch;
	uint64_t all;

	lay_many_photos(w);
	all = slot_bytes(w, 0, w->extents);
	w->slow = true;
	begin(w, all / 2, true);
	extents = (double)w->extents;
	missing = 1 - 0.9 * (double)stats_of(w).budget / (double)all;
	shuffled_epoch(w);
	epoch = shuffled_epoch(w);
	show(w, &epoch);
	assert_true((double)epoch.hits >= (1 - missing) * extents);
	assert_true((double)epoch.fills <= 1.1 * missing * extents);
	assert_true((double)epoch.bytes <= 1.1 * missing * all_pages(w));
	cache_stop(w->cache);
}

/* --- preload ------------------------------------------------------------------------------------
 */

static void preload_with(struct world *w, uint64_t readahead, bool keep)
{
	struct cache_params params;
	struct epoch epoch;

	lay_photos(w, 1000);
	w->slow = true;
	params = buffered(w, 64 * MIB, keep);
	params.readahead = readahead;
	params.preload = true;
	start_with(w, &params);
	assert_true(poll_until(all_there(w)));
	epoch = shuffled_epoch(w);
	cache_stop(w->cache);
	assert_int_equal(epoch.hits, w->extents);
	assert_nothing_in_vain(w);
	assert_true(stats_of(w).device_bytes <= payload(w) * 11 / 10);
	assert_true(stats_of(w).device_reads <= w->extents / 8);
}

TEST_OF(w, preload_reads_all_without_a_demand)
{
	preload_with(w, READAHEAD, true);
}

TEST_OF(w, preload_fills_the_staging_area_too_whatever_readahead_says)
{
	preload_with(w, 0, false);
}

/* Each takes a slot, so that those that fit have few bytes. */
/* Each takes a slot, so that those that fit have few bytes. */
TEST_OF(w, preload_stops_where_memory_ends)
{
	struct cache_params params;

	for (unsigned i = 0; i < 4000; i++)
		lay(w, 0, 300 + random_below(400));
	write_file(w);
	params = buffered(w, CACHE_BUDGET_MIN, true);
	params.preload = true;
	start_with(w, &params);
	assert_true(poll_until(stats_of(w).used >= CACHE_BUDGET_MIN / 2));
	cache_stop(w->cache);
	assert_true(payload(w) > 2 * issued(w));
	assert_int_equal(stats_of(w).evictions, 0);
	assert_true(stats_of(w).used <= CACHE_BUDGET_MIN);
}
