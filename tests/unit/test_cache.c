/* Requests: who waits for what, and who is answered with what: cache/cache.h. What is read ahead
 * of them is test_ahead.c's, and how a fill lays its bytes test_fill.c's. */
#include "base/clock.h"
#include "cache/ahead.h"
#include "tests/unit/cache_fixture.h"
#include "tests/unit/test.h"

/* --- life ---------------------------------------------------------------------------------------
 */

TEST_OF(w, a_budget_that_is_too_small_is_refused)
{
	struct cache_params params;

	lay_even(w, 1, 1);
	params = params_of(w, 0, 1);
	params.budget--;
	assert_int_equal(cache_new(&params, &w->cache), -EINVAL);
	assert_null(w->cache);
}

TEST_OF(w, a_cache_that_never_started_can_be_freed)
{
	struct cache_params params;

	lay_even(w, 1, 1);
	params = params_of(w, 0, 4);
	assert_int_equal(cache_new(&params, &w->cache), 0);
	assert_string_equal(stats_of(w).policy, "pin");
	assert_int_equal(stats_of(w).budget, CACHE_BUDGET_MIN);
}

/* --- bytes --------------------------------------------------------------------------------------
 */

/* In the order of the file, then back, a part of each. */
static void read_there_and_back(struct world *w)
{
	for (uint64_t e = 0; e < w->extents; e++)
		read_all_of(w, e);
	for (uint64_t e = w->extents; e-- > 0;)
		read_right(w, e, w->sizes[e] / 2, w->sizes[e] - w->sizes[e] / 2);
}

static void read_shuffled(struct world *w)
{
	uint64_t order[MOST];

	shuffle(order, w->extents);
	for (uint64_t i = 0; i < w->extents; i++)
		read_all_of(w, order[i]);
}

static void read_one_way(struct world *w, enum way way, uint64_t readahead,
			 void read(struct world *w))
{
	const struct cache_params params = params_for(w, way, readahead, 4);

	if (way != IN_MEMORY)
		forget_file(w);
	start_with(w, &params);
	read(w);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).direct, way == DIRECT);
	cache_free(w->cache);
	w->cache = NULL;
}

/* Each with what is read ahead and without. */
static void read_in_all_ways(struct world *w, void read(struct world *w))
{
	for (enum way way = 0; way < WAYS; way++) {
		if (!can(w, way))
			continue;
		read_one_way(w, way, 0, read);
		read_one_way(w, way, 4 * MIB, read);
	}
}

TEST_OF(w, a_scan_gets_its_bytes_in_every_way)
{
	lay_mixed(w, 12 * MIB);
	read_in_all_ways(w, read_there_and_back);
}

TEST_OF(w, a_shuffled_reader_gets_its_bytes_in_every_way)
{
	lay_mixed(w, 12 * MIB);
	read_in_all_ways(w, read_shuffled);
}

TEST_OF(w, tiny_files_are_read_in_every_way)
{
	for (unsigned i = 0; i < 2000 / SLOWER; i++)
		lay(w, i % 5 ? 0 : random_below(1000), 1 + random_below(700));
	write_file(w);
	read_in_all_ways(w, read_shuffled);
	read_in_all_ways(w, read_there_and_back);
}

TEST_OF(w, requests_span_two_and_three_extents)
{
	static const uint32_t full = MIB;

	for (int i = 0; i < 4; i++)
		lay(w, 0, MIB);
	lay(w, 0, 1000);
	write_file(w);
	start(w, 0, 2);
	read_right(w, 0, full - 1, 2);
	read_right(w, 0, full - 1, full + 2); /* a byte of the first and of the third */
	read_right(w, 1, 0, 3 * full);
	read_right(w, 2, 5, 2 * full + 1000 - 5); /* to the very end */
	read_right(w, 3, full - 70000, 70000 + 999);
	read_right(w, 3, full - 1, 1); /* not a byte of the next */
	assert_int_equal(stats_of(w).hits + stats_of(w).misses, 2 + 3 + 3 + 3 + 2 + 1);
	cache_stop(w->cache);
}

TEST_OF(w, a_request_for_nothing_is_answered)
{
	lay_even(w, 2, 100);
	start(w, 0, 1);
	read_right(w, 1, 0, 0);
	cache_stop(w->cache);
}

/* --- sharing and counting ------------------------------------------------------------------- */

TEST_OF(w, several_waiters_share_one_read)
{
	enum { WAITERS = 10 };
	struct call *calls = w->calls;

	lay_even(w, 4, 100000);
	start_slow(w, 0, 4);
	for (uint32_t i = 0; i < WAITERS; i++)
		ask(&calls[i], w, 2, i * 1000, 5000);
	wait_at_gate(w, 1);
	for (uint32_t i = 0; i < WAITERS; i++)
		assert_int_equal(calls[i].done, 0);
	set_gate(w, false);
	wait_answers(w, WAITERS);
	cache_stop(w->cache);
	for (uint32_t i = 0; i < WAITERS; i++)
		assert_right(&calls[i]);
	assert_int_equal(stats_of(w).device_reads, 1);
	assert_int_equal(stats_of(w).misses, WAITERS);
	assert_int_equal(stats_of(w).wait_reads, WAITERS);
}

TEST_OF(w, what_is_there_is_not_read_again)
{
	uint64_t pages = 0;

	lay_even(w, 10, 100000);
	start(w, 0, 2);
	for (uint32_t part = 0; part < 5; part++)
		for (uint64_t e = 0; e < 10; e++)
			read_right(w, e, part * 10000, 10000);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).misses, 10);
	assert_int_equal(stats_of(w).hits, 40);
	for (uint64_t e = 0; e < 10; e++)
		pages += page_bytes(w, e);
	assert_int_equal(stats_of(w).device_bytes, pages);
	assert_int_equal(stats_of(w).served_bytes, 500000);
	assert_int_equal(stats_of(w).distinct_bytes, 0);
	assert_int_equal(stats_of(w).used, slot_bytes(w, 0, 10));
	assert_int_equal(stats_of(w).evictions, 0);
	assert_int_equal(stats_of(w).bad_extents, 0);
}

TEST_OF(w, what_was_served_in_full_makes_room_first)
{
	lay_even(w, 10, 100000);
	start(w, 0, 2);
	for (int round = 0; round < 2; round++)
		for (uint64_t e = 0; e < 10; e++) {
			read_right(w, e, 0, 100000);
			assert_true(poll_until(is_let_go(w, e)));
		}
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).misses, 20); /* the kernel would not have asked again */
	assert_int_equal(stats_of(w).used, slot_bytes(w, 9, 10));
	assert_int_equal(stats_of(w).evictions, 0);
	assert_int_equal(stats_of(w).served_bytes, 2000000);
	assert_int_equal(stats_of(w).distinct_bytes, 1000000);
}

TEST_OF(w, an_extent_is_distinct_when_all_of_it_was_served)
{
	lay_even(w, 2, 100000);
	start(w, 0, 2);
	read_right(w, 0, 0, 50000);
	assert_int_equal(stats_of(w).distinct_bytes, 0);
	read_right(w, 0, 50000, 50000);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).distinct_bytes, 100000);
}

static void start_sharing(struct world *w, uint64_t share)
{
	struct cache_params params = params_of(w, 0, 2);

	params.residency = share;
	start_with(w, &params);
}

TEST_OF(w, the_kernel_s_copy_is_dropped_after_the_answer)
{
	lay_even(w, 4, MIB);
	start_sharing(w, 0);
	for (unsigned round = 0; round < 2; round++) { /* all missing; all there */
		ask(&w->calls[round], w, 0, MIB - 5, MIB + 10);
		wait_done(&w->calls[round]);
		assert_right(&w->calls[round]);
		assert_int_equal(w->calls[round].told, round);
		for (unsigned e = 0; e < 3; e++)
			assert_true(poll_until(w->told[e] == round + 1));
	}
	assert_int_equal(w->told[3], 0);
}

TEST_OF(w, io_threads_have_it_dropped_too)
{
	lay_even(w, 4, 100000);
	w->slow = w->closed = true;
	start_sharing(w, 0);
	for (unsigned i = 0; i < 3; i++)
		ask_all_of(&w->calls[i], w, 1);
	set_gate(w, false);
	wait_answers(w, 3);
	cache_stop(w->cache);
	assert_int_equal(w->told[1], 3);
	assert_int_equal(w->told[0], 0);
}

/* The kernel may have had what it asked for in part. */
TEST_OF(w, what_failed_is_dropped_as_well)
{
	lay_even(w, 4, MIB);
	w->bad[1] = true;
	start_sharing(w, 0);
	ask(&w->calls[0], w, 0, 0, 2 * MIB);
	wait_done(&w->calls[0]);
	assert_refused(&w->calls[0], -EBADMSG);
	cache_stop(w->cache);
	for (unsigned e = 0; e < 4; e++)
		assert_int_equal(w->told[e], e < 2);
}

static void read_whole(struct world *w, uint64_t extent)
{
	read_all_of(w, extent);
	assert_true(poll_until(is_let_go(w, extent)));
}

TEST_OF(w, what_the_kernel_is_to_keep_stays_with_it)
{
	lay_even(w, 6, 100000);
	start_sharing(w, 3 * 100 * KIB);
	for (unsigned e = 0; e < 6; e++)
		read_whole(w, e);
	for (unsigned e = 0; e < 6; e++) {
		assert_true(poll_until(w->told[e] == (e >= 3)));
		assert_int_equal(cache_may_drop(w->cache, e), e >= 3);
	}
	assert_int_equal(stats_of(w).resident, 3 * 100 * KIB);
	/* The kernel, though it should have it, asks again. */
	read_whole(w, 1);
	assert_true(poll_until(w->told[1] == 1));
	assert_int_equal(stats_of(w).resident, 2 * 100 * KIB);
	assert_int_equal(stats_of(w).resident_limit, 2 * 100 * KIB);
}

/* They keep the first three, and let go of one again. */
TEST_OF(w, what_readers_keep_takes_no_memory_beside_that)
{
	lay_even(w, 6, 100000);
	start_sharing(w, 0);
	for (unsigned e = 0; e < 6; e++) {
		read_whole(w, e);
		assert_true(poll_until(is_let_go(w, e)));
		if (e < 3)
			cache_kept(w->cache, e, true);
	}
	cache_kept(w->cache, 2, false);
	assert_int_equal(stats_of(w).used, slot_bytes(w, 3, 6));
	read_whole(w, 2);
	assert_int_equal(stats_of(w).misses, 7);
}

/* A header is read, then the rest: nothing of it was let go of in between. */
TEST_OF(w, what_is_read_in_pieces_is_kept_once)
{
	lay_even(w, 2, 100000);
	start_sharing(w, 100 * KIB);
	for (unsigned round = 0; round < 2; round++)
		read_right(w, 0, 0, 16 * KIB);
	read_right(w, 0, 16 * KIB, 100000 - 16 * KIB);
	assert_true(poll_until(is_let_go(w, 0)));
	assert_int_equal(w->told[0], 0);
	assert_int_equal(stats_of(w).resident, 100 * KIB);
}

TEST_OF(w, where_the_last_use_counts_the_kernel_keeps_all)
{
	enum { HALF = 2048 };
	struct cache_params params;

	lay_even(w, 2 * (uint64_t)HALF, 4 * KIB);
	params = params_of(w, 0, 2);
	params.policy = POLICY_AUTO;
	params.residency = 6 * MIB;
	start_with(w, &params);
	for (unsigned round = 0; round < 2; round++)
		for (uint64_t e = 0; e < HALF; e++)
			if (!residency_is_kept(w->cache->residency, e))
				read_whole(w, e);
	assert_true(stats_of(w).resident > 5 * MIB);
	/* Nobody wants these any more. */
	for (unsigned round = 0; round < 6 && strcmp(stats_of(w).policy, "lru"); round++)
		for (uint64_t e = HALF; e < w->extents; e++)
			read_whole(w, e);
	assert_string_equal(stats_of(w).policy, "lru");
	assert_int_equal(stats_of(w).resident_limit, 0);
	for (uint64_t e = HALF; e < w->extents; e++)
		w->told[e] = 0;
	for (uint64_t e = HALF; e < w->extents; e++)
		read_whole(w, e);
	for (uint64_t e = HALF; e < w->extents; e++)
		assert_int_equal(w->told[e], 0);
}

/* --- who is gone before the request is parked ------------------------------------------------- */

static bool is_killed(void *arg)
{
	(void)arg;
	return true;
}

static void ask_killed(struct world *w, struct call *call, uint64_t extent)
{
	struct cache_request request = {.extent = extent,
					.size = w->sizes[extent],
					.done = on_done,
					.gone = is_killed,
					.arg = call};

	*call = (struct call){.world = w, .extent = extent, .size = w->sizes[extent]};
	cache_read(w->cache, &request);
}

TEST_OF(w, who_was_killed_before_waiting_does_not_wait)
{
	lay_even(w, 20, MIB);
	start_slow(w, 0, 2);
	ask_killed(w, &w->calls[0], 0);
	assert_refused(&w->calls[0], -EINTR);
	for (unsigned e = 0; e < 8; e++) /* all the memory */
		ask_all_of(&w->calls[1 + e], w, e);
	ask_killed(w, &w->calls[20], 15);
	assert_refused(&w->calls[20], -EINTR);
	assert_int_equal(stats_of(w).parked, 8);
	set_gate(w, false);
	wait_answers(w, 10);
	for (unsigned e = 0; e < 8; e++)
		assert_right(&w->calls[1 + e]);
}

/* While storage hangs nothing is delivered, and yet it shows. */
TEST_OF(w, who_waits_now_is_counted_now)
{
	lay_even(w, 20, MIB);
	start_slow(w, 0, 2);
	assert_int_equal(stats_of(w).parked, 0);
	for (unsigned e = 0; e < 12; e++) /* some of them starve */
		ask_all_of(&w->calls[e], w, e);
	assert_int_equal(stats_of(w).parked, 12);
	assert_int_equal(stats_of(w).wait_reads, 0);
	assert_true(poll_until(stats_of(w).oldest_wait_ms > 20));
	set_gate(w, false);
	wait_answers(w, 12);
	assert_int_equal(stats_of(w).parked, 0);
	assert_int_equal(stats_of(w).oldest_wait_ms, 0);
}

/* --- what a READ costs ------------------------------------------------------------------------ */

/* Once, before the lock is taken, and by the planner as the demand is told. */
TEST_OF(w, a_read_is_looked_up_once_and_by_the_planner)
{
	unsigned before;

	lay_even(w, 20, 100000);
	start(w, 0, 2);
	before = w->resolved;
	read_all_of(w, 5);
	assert_true(poll_until(is_let_go(w, 5)));
	assert_true(w->resolved - before <= 2);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

TEST_OF(w, a_bad_extent_fails_for_its_readers_only)
{
	lay_even(w, 20, 100000);
	w->bad[7] = true;
	start(w, 0, 2);
	for (uint64_t e = 0; e < 20; e++) {
		if (e == 7)
			read_refused(w, e, -EBADMSG);
		else
			read_right(w, e, 0, 100000);
	}
	assert_int_equal(w->failed[7], 1);
	assert_int_equal(w->last_error, -EBADMSG);
	assert_int_equal(stats_of(w).bad_extents, 1);
	w->bad[7] = false; /* a cable was put back */
	read_right(w, 7, 0, 100000);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).bad_extents, 1);
	assert_int_equal(stats_of(w).served_bytes, 20 * 100000);
}

TEST_OF(w, a_request_with_a_bad_part_fails_and_serves_nothing)
{
	struct call call;

	lay_even(w, 3, MIB);
	w->bad[1] = true;
	start(w, 0, 2);
	ask(&call, w, 0, 0, 3 * MIB);
	wait_done(&call);
	cache_stop(w->cache);
	assert_refused(&call, -EBADMSG);
	assert_int_equal(stats_of(w).served_bytes, 0);
	assert_int_equal(stats_of(w).distinct_bytes, 0);
}

/* A run is read ahead and waits in the check of its first extent when readers come for that and
 * for the next. Of those that nobody asks for, all are bad. */
TEST_OF(w, a_bad_extent_of_a_run_fails_for_its_readers_only)
{
	struct call *calls = w->calls;
	uint64_t first;

	lay_even(w, 400, 16 * KIB);
	for (uint64_t e = SURE; e < w->extents; e++)
		w->bad[e] = true;
	close_gate_ahead(w);
	start(w, MIB, 1);
	scan_until_ahead(w);
	wait_at_gate(w, 1);
	first = first_ahead(w);
	assert_true(is_there(w, first + 1));
	w->bad[first] = true;
	w->bad[first + 1] = false;
	for (unsigned i = 0; i < 4; i++)
		ask_all_of(&calls[i], w, first + i / 2);
	set_gate(w, false);
	for (unsigned i = 0; i < 4; i++)
		assert_true(wait_done(&calls[i]));
	cache_stop(w->cache);
	assert_refused(&calls[0], -EBADMSG);
	assert_refused(&calls[1], -EBADMSG);
	assert_right(&calls[2]);
	assert_right(&calls[3]);
	assert_int_equal(w->failed[first], 1); /* told, although it had been read ahead */
	assert_int_equal(stats_of(w).bad_extents, 1);
	for (uint64_t e = first + 1; e < w->extents; e++)
		assert_int_equal(w->failed[e], 0);
}

TEST_OF(w, a_source_that_changed_is_not_read)
{
	lay_even(w, 10, 100000);
	start(w, MIB, 2);
	read_right(w, 0, 0, 50000);
	w->stale = true;
	read_refused(w, 5, -ESTALE);
	assert_int_equal(w->last_error, -ESTALE);
	read_right(w, 0, 50000, 50000); /* it is here, and was right when it came */
	w->stale = false;
	read_right(w, 5, 0, 100000);
	cache_stop(w->cache);
}

TEST_OF(w, a_file_truncated_underneath_fails_from_there_on)
{
	lay_even(w, 60, 100000);
	start(w, MIB, 2);
	assert_int_equal(ftruncate(w->fd, 30 * 100000 + 5), 0);
	for (uint64_t e = 0; e < 30; e++)
		read_right(w, e, 0, 100000); /* also those in a run with the cut */
	for (uint64_t e = 30; e < 60; e++)
		read_refused(w, e, -ENODATA);
	cache_stop(w->cache);
	assert_true(stats_of(w).device_errors >= 30);
	for (uint64_t e = 0; e < 60; e++)
		assert_int_equal(w->failed[e] > 0, e >= 30);
}

/* The kernel holds pages of it for the answer: to wait for these would be to wait for the device.
 */
TEST_OF(w, what_a_parked_request_reads_of_is_not_dropped)
{
	struct call call;

	lay_even(w, 4, MIB);
	start(w, 0, 2);
	read_all_of(w, 0);
	assert_true(cache_may_drop(w->cache, 0));
	w->slow = true;
	set_gate(w, true);
	ask(&call, w, 0, 5, MIB);
	wait_at_gate(w, 1);
	assert_false(cache_may_drop(w->cache, 0));
	assert_false(cache_may_drop(w->cache, 1));
	assert_true(cache_may_drop(w->cache, 2));
	set_gate(w, false);
	wait_done(&call);
	assert_right(&call);
	assert_true(poll_until(cache_may_drop(w->cache, 0)));
}

/* --- taking back and stopping ----------------------------------------------------------------- */

#define FILLING 8 /* extents of 1 MiB that fill the pool */

/* FILLING requests are parked and the rest, in vain, waits for memory. */
static void ask_too_much(struct world *w, struct call *calls, unsigned count)
{
	lay_even(w, count, MIB);
	start_slow(w, 0, 2);
	for (unsigned i = 0; i < count; i++)
		ask_all_of(&calls[i], w, i);
	wait_at_gate(w, 2);
	assert_int_equal(stats_of(w).used, CACHE_BUDGET_MIN);
	assert_int_equal(stats_of(w).misses, FILLING);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(calls[i].done, 0);
}

TEST_OF(w, a_parked_request_can_be_taken_back)
{
	struct call *calls = w->calls;

	lay_even(w, 4, 100000);
	start_slow(w, 0, 2);
	for (unsigned i = 0; i < 3; i++)
		ask_all_of(&calls[i], w, 1);
	assert_true(cache_cancel(w->cache, &calls[1]));
	assert_false(cache_cancel(w->cache, &calls[1])); /* it is gone */
	set_gate(w, false);
	wait_answers(w, 2);
	cache_stop(w->cache);
	assert_right(&calls[0]);
	assert_int_equal(calls[1].done, 0);
	assert_right(&calls[2]);
	assert_int_equal(stats_of(w).served_bytes, 200000);
}

TEST_OF(w, all_that_wait_for_long_are_given_up)
{
	enum { ASKED = 20 };
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	assert_int_equal(cache_give_up(w->cache, 3600 * CLOCK_SECOND), 0);
	assert_int_equal(cache_give_up(w->cache, 0), ASKED); /* parked and starved */
	assert_int_equal(cache_give_up(w->cache, 0), 0);
	assert_int_equal(stats_of(w).given_up, ASKED);
	assert_int_equal(stats_of(w).wait_reads, ASKED); /* storage may never answer */
	assert_int_equal(stats_of(w).parked, 0);
	set_gate(w, false);
	cache_stop(w->cache);
	for (unsigned i = 0; i < ASKED; i++)
		assert_refused(&calls[i], -ETIMEDOUT);
	assert_int_equal(stats_of(w).bad_extents, 0);
	assert_int_equal(stats_of(w).wait_reads, ASKED);
}

TEST_OF(w, an_answered_request_cannot_be_taken_back)
{
	struct call call, other;

	lay_even(w, 4, 100000);
	start(w, 0, 2);
	ask_all_of(&call, w, 1);
	wait_done(&call);
	assert_false(cache_cancel(w->cache, &call));
	assert_false(cache_cancel(w->cache, &other)); /* never heard of */
	cache_stop(w->cache);
	assert_right(&call);
}

TEST_OF(w, a_request_of_several_extents_can_be_taken_back)
{
	struct call call, other;

	lay_even(w, 4, MIB);
	start_slow(w, 0, 2);
	ask(&call, w, 0, 5, 2 * MIB);
	ask(&other, w, 1, 5, 2 * MIB);
	assert_true(cache_cancel(w->cache, &call));
	set_gate(w, false);
	wait_answers(w, 1);
	cache_stop(w->cache);
	assert_int_equal(call.done, 0);
	assert_right(&other);
}

TEST_OF(w, starved_requests_can_be_taken_back)
{
	enum { ASKED = 20 };
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	assert_false(cache_may_drop(w->cache, FILLING));
	assert_true(cache_cancel(w->cache, &calls[FILLING])); /* the first of the starved */
	assert_true(cache_may_drop(w->cache, FILLING));
	assert_true(cache_cancel(w->cache, &calls[FILLING + 3])); /* in the middle */
	assert_true(cache_cancel(w->cache, &calls[ASKED - 1]));	  /* the last */
	assert_true(cache_cancel(w->cache, &calls[0]));		  /* parked */
	set_gate(w, false);
	wait_answers(w, ASKED - 4);
	cache_stop(w->cache);
	for (unsigned i = 0; i < ASKED; i++) {
		if (i == FILLING || i == FILLING + 3 || i == ASKED - 1 || i == 0)
			assert_int_equal(calls[i].done, 0);
		else
			assert_right(&calls[i]);
	}
}

TEST_OF(w, starved_requests_are_answered_when_there_is_room)
{
	enum { ASKED = 50 };
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	set_gate(w, false);
	wait_answers(w, ASKED);
	for (unsigned i = 0; i < ASKED; i++)
		assert_right(&calls[i]);
	assert_int_equal(stats_of(w).wait_reads, ASKED);
	assert_true(stats_of(w).wait_p99_us >= stats_of(w).wait_p50_us);
	cache_stop(w->cache);
}

/* Places in the layout of fill_with_holders. */
#define LARGE(i) (10u * (i)) /* of 1 MiB, FILLING of them, far from each other */
#define SMALL	 LARGE(FILLING)
#define TWO	 (SMALL + 1) /* of 1 MiB and neighbours */
#define SCAN	 (SMALL + 10)

/* The first two large extents are held by threads that answer, the others are being read: the
 * pool is full. */
static void fill_with_holders(struct world *w, struct holder holders[2], struct call *calls,
			      uint64_t readahead)
{
	for (unsigned i = 0; i < SCAN + 20; i++)
		lay(w, 0,
		    (i % 10 == 0 && i < SMALL) || i == TWO || i == TWO + 1 ? MIB : 3 * CACHE_PAGE);
	write_file(w);
	start(w, readahead, 2);
	for (unsigned i = 0; i < 2; i++) {
		read_right(w, LARGE(i), 0, 1);
		hold(&holders[i], w, LARGE(i));
	}
	w->slow = true;
	set_gate(w, true);
	for (unsigned i = 2; i < FILLING; i++)
		ask_all_of(&calls[i], w, LARGE(i));
	assert_int_equal(stats_of(w).used, CACHE_BUDGET_MIN);
	assert_int_equal(stats_of(w).misses, FILLING);
}

TEST_OF(w, one_that_ends_its_answer_makes_room_for_the_starved)
{
	struct holder *holders = w->holders;
	struct call *calls = w->calls;

	fill_with_holders(w, holders, calls, 0);
	ask_all_of(&calls[FILLING], w, SMALL);
	assert_int_equal(stats_of(w).misses, FILLING);
	let_go_of(&holders[0]);
	assert_int_equal(stats_of(w).misses, FILLING + 1); /* its fill is under way */
	let_go_of(&holders[1]);
	set_gate(w, false);
	cache_stop(w->cache);
	assert_right(&calls[FILLING]);
}

TEST_OF(w, the_starved_are_served_in_the_order_they_came)
{
	struct holder *holders = w->holders;
	struct call *calls = w->calls;

	fill_with_holders(w, holders, calls, 0);
	ask(&calls[FILLING], w, TWO, 0, 2 * MIB);
	ask_all_of(&calls[FILLING + 1], w, SMALL);
	let_go_of(&holders[0]); /* room for the second, but it is not its turn */
	assert_int_equal(stats_of(w).misses, FILLING);
	let_go_of(&holders[1]);
	assert_int_equal(stats_of(w).misses, FILLING + 2); /* the two of the first */
	set_gate(w, false);
	cache_stop(w->cache);
	assert_right(&calls[FILLING]);
	assert_right(&calls[FILLING + 1]);
}

TEST_OF(w, a_small_request_does_not_overtake_the_starved)
{
	struct holder *holders = w->holders;
	struct call *calls = w->calls;

	fill_with_holders(w, holders, calls, 0);
	ask(&calls[FILLING], w, TWO, 0, 2 * MIB);
	let_go_of(&holders[0]);
	ask_all_of(&calls[FILLING + 1], w, SMALL); /* there is room for it */
	assert_int_equal(stats_of(w).misses, FILLING);
	let_go_of(&holders[1]);
	set_gate(w, false);
	cache_stop(w->cache);
	assert_right(&calls[FILLING]);
	assert_right(&calls[FILLING + 1]);
}

/* Three make a scan, but when they get their turn, the request of two still has none. */
TEST_OF(w, nothing_is_read_ahead_while_requests_starve)
{
	struct holder *holders = w->holders;
	struct call *calls = w->calls;

	fill_with_holders(w, holders, calls, MIB);
	for (unsigned i = 0; i < 3; i++)
		ask_all_of(&calls[FILLING + i], w, SCAN + i);
	ask(&calls[FILLING + 3], w, TWO, 0, 2 * MIB);
	let_go_of(&holders[0]);
	assert_int_equal(stats_of(w).misses, FILLING + 3);
	assert_null(ahead_find(w->cache));
	assert_int_equal(stats_of(w).prefetch_issued, 0);
	let_go_of(&holders[1]);
	set_gate(w, false);
	cache_stop(w->cache);
	for (unsigned i = 2; i < FILLING + 4; i++)
		assert_right(&calls[i]);
}

TEST_OF(w, stopping_answers_all_that_wait)
{
	enum { ASKED = 50 };
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	set_gate(w, false);
	cache_stop(w->cache);
	for (unsigned i = 0; i < ASKED; i++)
		assert_right(&calls[i]);
}

TEST_OF(w, stopping_answers_all_that_wait_for_a_source_that_changed)
{
	enum { ASKED = 50 };
	struct call *calls = w->calls;

	ask_too_much(w, calls, ASKED);
	w->stale = true;
	set_gate(w, false);
	cache_stop(w->cache);
	for (unsigned i = 0; i < ASKED; i++)
		assert_refused(&calls[i], -ESTALE);
	assert_int_equal(stats_of(w).bad_extents, ASKED);
}

static void *stop_thread(void *arg)
{
	cache_stop(arg);
	return NULL;
}

/* An I/O thread has to wait, and passes the gate before. */
static int wait_at_once(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			uint64_t needed)
{
	struct world *w = ways.world;

	if (is_reader)
		return read_now(reader, iov, count, offset, needed);
	pass_gate(w, &w->closed);
	return -EAGAIN;
}

/* The only I/O thread is at the gate with a run that it reads ahead, of which one extent is asked
 * for, when the cache stops. */
TEST_OF(w, what_stopping_leaves_unread_is_not_told_as_bad)
{
	struct call *call = &w->calls[0];
	uint64_t next;
	pthread_t id;

	lay_even(w, 400, 16 * KIB);
	ways.ops.read_now = wait_at_once;
	w->closed = true;
	start(w, MIB, 1);
	scan_until_ahead(w);
	wait_at_gate(w, 1);
	next = first_ahead(w);
	w->slow = true;
	ask_all_of(call, w, next);
	assert_int_equal(call->done, 0);
	assert_int_equal(pthread_create(&id, NULL, stop_thread, w->cache), 0);
	assert_true(poll_until(w->cache->stopping));
	set_gate(w, false);
	pthread_join(id, NULL);
	assert_refused(call, -ECANCELED);
	assert_int_equal(w->failed[next], 0);
	assert_int_equal(stats_of(w).bad_extents, 0);
}

/* --- crowds -------------------------------------------------------------------------------------
 */

enum { READERS = 16, AT_ONCE = 8 };

/* A reader with several requests under way, as the kernel has. */
struct crowd_reader {
	struct world *world;
	unsigned seed, requests;
	bool cancels; /* takes some of them back */
	struct call calls[AT_ONCE];
	uint64_t asked, served; /* bytes */
	uint64_t touched;	/* extents */
	unsigned taken_back, failures;
};

/* Takes the request back or waits for it, and looks at what came. */
static void settle_call(struct crowd_reader *reader, struct call *call)
{
	struct world *w = reader->world;

	if (!call->world)
		return;
	if (reader->cancels && rand_r(&reader->seed) % 4 == 0 && cache_cancel(w->cache, call)) {
		reader->taken_back++;
		reader->failures += call->done != 0;
		return;
	}
	if (!wait_done(call))
		abort(); /* it hangs */
	reader->served += call->error ? 0 : call->size;
	reader->failures += call->done != 1 || (!call->right && call->error != -EBADMSG);
}

static void *reader_thread(void *arg)
{
	struct crowd_reader *reader = arg;
	struct world *w = reader->world;

	is_reader = true;
	for (unsigned i = 0; i < reader->requests; i++) {
		struct call *call = &reader->calls[i % AT_ONCE];
		uint64_t extent;
		uint32_t from, size;

		settle_call(reader, call);
		reader->touched += any_request(w, &reader->seed, &extent, &from, &size);
		reader->asked += size;
		ask(call, w, extent, from, size);
	}
	for (unsigned i = 0; i < AT_ONCE; i++)
		settle_call(reader, &reader->calls[i]);
	return NULL;
}

/* Lets them loose; returns their sums. */
static struct crowd_reader crowd(struct world *w, unsigned requests, bool cancels)
{
	static struct crowd_reader readers[READERS];
	struct crowd_reader sum = {0};
	pthread_t ids[READERS];

	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct crowd_reader){.world = w,
						   .seed = i + 1,
						   .requests = requests / SLOWER,
						   .cancels = cancels};
		assert_int_equal(pthread_create(&ids[i], NULL, reader_thread, &readers[i]), 0);
	}
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(ids[i], NULL);
		sum.asked += readers[i].asked;
		sum.served += readers[i].served;
		sum.touched += readers[i].touched;
		sum.taken_back += readers[i].taken_back;
		sum.failures += readers[i].failures;
	}
	cache_stop(w->cache);
	assert_int_equal(sum.failures, 0);
	return sum;
}

static void assert_sums(struct world *w, const struct crowd_reader *sum)
{
	struct cache_stats stats = stats_of(w);

	print_message("%llu extents of %u requests, %llu hits, %llu waited, %u taken back\n",
		      (unsigned long long)sum->touched, w->answers, (unsigned long long)stats.hits,
		      (unsigned long long)stats.wait_reads, sum->taken_back);
	assert_int_equal(stats.served_bytes, sum->served);
	if (sum->taken_back)
		assert_true(stats.hits + stats.misses <= sum->touched);
	else
		assert_int_equal(stats.hits + stats.misses, sum->touched);
	assert_true(stats.prefetch_used + stats.prefetch_wasted <= stats.prefetch_issued);
	assert_true(stats.distinct_bytes <= stats.served_bytes);
	assert_true(stats.used <= stats.budget);
}

/* The device is slow, but open: all fills are for the I/O threads, and all readers together want
 * many times what there is. */
TEST_OF(w, a_starving_crowd_gets_its_bytes)
{
	struct crowd_reader sum;

	lay_large_files(w, 48 * MIB);
	w->slow = true;
	start(w, 0, 4);
	sum = crowd(w, 80, false);
	assert_sums(w, &sum);
	assert_int_equal(sum.served, sum.asked);
	assert_true(stats_of(w).evictions > 0 || stats_of(w).device_bytes > w->bytes);
}
TEST_AGAIN(far, a_starving_crowd_gets_its_bytes);

TEST_OF(w, a_crowd_with_the_file_in_memory_gets_its_bytes)
{
	struct crowd_reader sum;

	lay_mixed(w, 24 * MIB);
	start(w, MIB, 4);
	sum = crowd(w, 400, false);
	assert_sums(w, &sum);
	assert_int_equal(sum.served, sum.asked);
}

TEST_OF(w, a_crowd_that_changes_its_mind_gets_the_rest)
{
	struct crowd_reader sum;

	lay_large_files(w, 24 * MIB);
	w->slow = true;
	start(w, MIB, 4);
	sum = crowd(w, 80, true);
	assert_sums(w, &sum);
	assert_true(sum.taken_back > 0);
	assert_int_equal(w->answers, READERS * (80 / SLOWER) - sum.taken_back);
}
TEST_AGAIN(far, a_crowd_that_changes_its_mind_gets_the_rest);

TEST_OF(w, a_crowd_on_a_damaged_file_gets_what_is_right)
{
	struct crowd_reader sum;

	lay_mixed(w, 24 * MIB);
	for (uint64_t e = 0; e < w->extents; e += 5)
		w->bad[e] = true;
	w->slow = true;
	start(w, MIB, 4);
	sum = crowd(w, 300, true);
	assert_sums(w, &sum);
	for (uint64_t e = 0; e < w->extents; e++)
		assert_true(e % 5 == 0 || w->failed[e] == 0);
	assert_true(stats_of(w).bad_extents > 0);
}
TEST_AGAIN(far, a_crowd_on_a_damaged_file_gets_what_is_right);

/* --- memory -----------------------------------------------------------------------------------
 */

/* Read by a crowd that wants much more than there is room for. */
static void crowd_within(struct world *w, uint64_t budget, uint64_t limit)
{
	struct cache_params params;
	struct crowd_reader sum;

	lay_large_files(w, 48 * MIB);
	w->look = w->slow = true;
	params = params_of(w, 4 * MIB, 6);
	params.residency = 0;
	params.budget = budget;
	start_with(w, &params);
	cache_limit(w->cache, limit);
	assert_int_equal(stats_of(w).limit, limit);
	sum = crowd(w, 80, false);
	assert_sums(w, &sum);
	assert_true(w->most_used > limit / 4 * 3);
	assert_true(w->most_used <= limit);
	assert_true(w->most_held <= limit);
}

TEST_OF(w, slots_never_exceed_the_budget)
{
	crowd_within(w, CACHE_BUDGET_MIN, CACHE_BUDGET_MIN);
}

TEST_OF(w, slots_never_exceed_a_limit_below_the_budget)
{
	crowd_within(w, 3 * CACHE_BUDGET_MIN, CACHE_BUDGET_MIN + 5 * SLOT_BYTES);
}
TEST_AGAIN(far, slots_never_exceed_a_limit_below_the_budget);

struct limiter {
	struct world *world;
	atomic_bool stop;
	unsigned steps;
};

static void *limit_thread(void *arg)
{
	struct limiter *limiter = arg;
	unsigned seed = 3;

	while (!limiter->stop) {
		uint64_t more = (uint64_t)rand_r(&seed) % (3 * CACHE_BUDGET_MIN);

		cache_limit(limiter->world->cache, CACHE_BUDGET_MIN + more);
		limiter->steps++;
		sched_yield();
	}
	return NULL;
}

TEST_OF(w, the_limit_may_change_while_a_crowd_reads)
{
	struct limiter limiter = {.world = w};
	struct cache_params params;
	struct crowd_reader sum;
	pthread_t id;

	lay_mixed(w, 48 * MIB);
	w->slow = true;
	params = params_of(w, 4 * MIB, 6);
	params.residency = 0;
	params.budget = 4 * CACHE_BUDGET_MIN;
	start_with(w, &params);
	assert_int_equal(pthread_create(&id, NULL, limit_thread, &limiter), 0);
	sum = crowd(w, 300, true);
	limiter.stop = true;
	pthread_join(id, NULL);
	assert_sums(w, &sum);
	assert_true(limiter.steps > 10);
	cache_limit(w->cache, CACHE_BUDGET_MIN); /* nothing is pinned now */
	assert_true(stats_of(w).used <= CACHE_BUDGET_MIN);
	assert_true(stats_of(w).held <= CACHE_BUDGET_MIN);
}
TEST_AGAIN(far, the_limit_may_change_while_a_crowd_reads);

TEST_OF(w, a_limit_below_what_is_pinned_is_kept_once_it_is_not)
{
	enum { ASKED = 20 };
	struct cache_params params;

	lay_even(w, ASKED, MIB);
	w->slow = w->closed = true;
	params = params_of(w, 0, 2);
	params.residency = 0;
	params.budget = 3 * CACHE_BUDGET_MIN;
	start_with(w, &params);
	for (unsigned i = 0; i < ASKED; i++)
		ask_all_of(&w->calls[i], w, i);
	cache_limit(w->cache, CACHE_BUDGET_MIN);
	assert_int_equal(stats_of(w).used, ASKED * MIB); /* they are being read */
	ask_all_of(&w->calls[ASKED], w, 0);
	set_gate(w, false);
	wait_answers(w, ASKED + 1);
	cache_stop(w->cache);
	for (unsigned i = 0; i <= ASKED; i++)
		assert_right(&w->calls[i]);
	cache_limit(w->cache, CACHE_BUDGET_MIN);
	assert_int_equal(stats_of(w).used, CACHE_BUDGET_MIN);
	assert_true(stats_of(w).held <= CACHE_BUDGET_MIN);
}
