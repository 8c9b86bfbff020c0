/* Fills of far storage, where a read is a round trip and keeps no thread busy: cache/fill.h through
 * cache/cache.h. Nothing that is submitted ends before the test says so. */
#include "tests/unit/cache_fixture.h"
#include "tests/unit/test.h"

#define READAHEAD (16 * MIB)
#define BUDGET	  (64 * MIB)
#define THREADS	  2

static void start_far(struct world *w, uint64_t readahead)
{
	struct cache_params params = params_of(w, readahead, THREADS);

	params.budget = BUDGET;
	start_with(w, &params);
}

static bool is_urgent(struct world *w, uint64_t extent)
{
	SCOPE_LOCK(&w->far->lock);
	for (struct reader_request *r = w->far->first; r; r = r->next)
		if (w->offsets[extent] >= r->offset && w->offsets[extent] < far_end(r))
			return !r->ahead;
	return false;
}

TEST_WITH(far, w, requests_under_way_are_not_bounded_by_threads)
{
	enum { ASKED = 100 };

	lay_even(w, ASKED, 110000);
	far_hold(w->far, true);
	start_far(w, 0);
	for (unsigned e = 0; e < ASKED; e++)
		ask_all_of(&w->calls[e], w, e);
	assert_true(poll_until(far_waiting(w->far) == ASKED));
	assert_int_equal(w->answers, 0);
	far_hold(w->far, false);
	wait_answers(w, ASKED);
	for (unsigned e = 0; e < ASKED; e++)
		assert_right(&w->calls[e]);
}

/* All is to be read ahead, and nothing of it ends. */
static void start_preload(struct world *w)
{
	struct cache_params params;

	lay_even(w, 400, 110000);
	params = params_of(w, READAHEAD, THREADS);
	far_hold(w->far, true);
	params.budget = BUDGET;
	params.preload = true;
	start_with(w, &params);
	assert_true(poll_until(far_waiting(w->far) > THREADS));
}

TEST_WITH(far, w, reads_ahead_under_way_are_not_bounded_by_threads)
{
	start_preload(w);
	far_hold(w->far, false);
	assert_true(poll_until(issued(w) == w->bytes));
	for (uint64_t e = 0; e < w->extents; e++)
		read_all_of(w, e);
	assert_true(stats_of(w).device_bytes <= w->bytes + w->far->asked * 2 * CACHE_PAGE);
}

/* Nobody has to wait for the end of the first ones to have the next begin. */
TEST_WITH(far, w, files_of_a_known_order_are_asked_for_side_by_side)
{
	static uint32_t order[400];
	struct cache_params params;

	lay_even(w, 400, 110000);
	for (uint32_t i = 0; i < 400; i++)
		order[i] = i * 7 % 400;
	params = params_of(w, READAHEAD, THREADS);
	params.budget = BUDGET;
	params.oracle_cpus = 1;
	assert_int_equal(cache_new(&params, &w->cache), 0);
	assert_int_equal(cache_order(w->cache, order, 400), 0);
	far_hold(w->far, true);
	assert_int_equal(cache_start(w->cache), 0);
	assert_true(poll_until(far_waiting(w->far) == LEARNER_FAR_START));
	far_hold(w->far, false);
	for (unsigned i = 0; i < 400; i++)
		read_all_of(w, order[i]);
	cache_stop(w->cache);
	assert_int_equal(stats_of(w).prefetch_wasted, 0);
	assert_true(stats_of(w).device_bytes <= w->bytes / 10 * 11);
}

TEST_WITH(far, w, what_is_on_its_way_becomes_urgent_when_somebody_waits_for_it)
{
	start_preload(w);
	assert_false(is_urgent(w, 0));
	ask_all_of(&w->one, w, 0);
	assert_true(is_urgent(w, 0));
	assert_false(is_urgent(w, 100));
	far_hold(w->far, false);
	assert_true(wait_done(&w->one));
	assert_right(&w->one);
	assert_int_equal(w->far->urgent, 0); /* it was not asked for once more */
}

/* Read ahead with its neighbours, then alone. */
TEST_WITH(far, w, one_extent_that_cannot_be_read_fails_alone)
{
	enum { BAD = 3 };
	uint64_t misses;

	start_preload(w);
	w->far->bad = w->offsets[BAD] + 50000;
	far_hold(w->far, false);
	assert_true(poll_until(issued(w) == w->bytes && far_waiting(w->far) == 0));
	assert_true(poll_until(!is_there(w, BAD)));
	for (uint64_t e = 0; e < w->extents; e++)
		if (e != BAD)
			read_all_of(w, e);
	misses = stats_of(w).misses;
	read_refused(w, BAD, -EIO);
	assert_int_equal(stats_of(w).misses, misses + 1);
	assert_int_equal(stats_of(w).bad_extents, 1);
	assert_int_equal(w->failed[BAD], 1);
}

/* How often requests were settled: after their answer, with their bytes still there, as right. */
static atomic_uint settled, settled_after, settled_whole, settled_right;

static void note_settled(struct reader_request *request, bool right)
{
	struct world *w = ways.world;
	uint64_t at = request->offset;
	bool whole = true;

	for (int i = 0; i < request->count; at += request->iov[i++].iov_len)
		whole &= memcmp(request->iov[i].iov_base, w->image + at, request->iov[i].iov_len) ==
			 0;
	SCOPE_LOCK(&w->lock);
	settled_after += w->answers > settled;
	settled_whole += whole;
	settled_right += right;
	settled++;
}

TEST_WITH(far, w, what_was_read_is_settled_once_it_was_answered)
{
	enum { FILES = 100, BAD = 7 };

	lay_even(w, FILES, 2 * CACHE_PAGE);
	w->bad[BAD] = true;
	w->far->settle = note_settled;
	start_far(w, 0);
	for (unsigned e = 0; e < FILES; e++) {
		ask_all_of(&w->calls[e], w, e);
		assert_true(wait_done(&w->calls[e]));
		assert_true(poll_until(settled == e + 1));
	}
	assert_int_equal(settled_after, FILES);
	assert_int_equal(settled_whole, FILES);
	assert_int_equal(settled_right, FILES - 1);
}

static void *far_stop_thread(void *arg)
{
	cache_stop(arg);
	return NULL;
}

TEST_WITH(far, w, stopping_waits_for_what_somebody_waits_for)
{
	pthread_t id;

	lay_even(w, 10, 110000);
	far_hold(w->far, true);
	w->far->patient = true;
	start_far(w, 0);
	ask_all_of(&w->one, w, 7);
	assert_int_equal(pthread_create(&id, NULL, far_stop_thread, w->cache), 0);
	assert_true(poll_until(w->cache->stopping));
	assert_false(is_done(&w->one));
	far_hold(w->far, false);
	pthread_join(id, NULL);
	assert_right(&w->one);
}

TEST_WITH(far, w, stopping_does_not_wait_for_what_nobody_waits_for)
{
	start_preload(w);
	cache_stop(w->cache);
	assert_int_equal(far_waiting(w->far), 0);
	assert_int_equal(stats_of(w).bad_extents, 0);
	assert_int_equal(pool_stats(w->cache->pool).ahead, 0);
}

TEST_WITH(far, w, a_source_that_changed_is_not_asked)
{
	lay_even(w, 10, 110000);
	start_far(w, 0);
	w->stale = true;
	read_refused(w, 1, -ESTALE);
	assert_int_equal(w->far->asked, 0);
}
