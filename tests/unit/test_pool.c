/* The extents in memory: cache/pool.h. */
#include "cache/pool.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS	 16u
#define BUDGET	 ((uint64_t)SLOTS * SLOT_BYTES)
#define FOUR	 (4 * SLOT_BYTES) /* four of them fill the pool */
#define IOV_ROOM (SLOTS + 2)

static struct pool_params params_of(uint32_t extent_max, enum policy_choice policy)
{
	return (struct pool_params){
		.budget = BUDGET, .extent_max = extent_max, .extents = 1000, .policy = policy};
}

static int start(void **state, enum policy_choice policy)
{
	const struct pool_params params = params_of(8 * SLOT_BYTES, policy);
	struct pool *pool;

	assert_int_equal(pool_new(&params, &pool), 0);
	*state = pool;
	return 0;
}

static int lru(void **state)
{
	return start(state, POLICY_LRU);
}

static int pin(void **state)
{
	return start(state, POLICY_PIN);
}

static int teardown(void **state)
{
	pool_free(*state);
	return 0;
}

static int add_at(struct pool *pool, uint64_t number, uint64_t offset, uint32_t size,
		  enum pool_use use, struct pool_extent **ret)
{
	const struct extent place = {.number = number, .offset = offset, .size = size};

	return pool_add(pool, &place, use, ret);
}

static struct pool_extent *add(struct pool *pool, uint64_t number, uint32_t size)
{
	struct pool_extent *extent = NULL;

	assert_int_equal(add_at(pool, number, 0, size, POOL_USED, &extent), 0);
	assert_int_equal(extent->state, POOL_FILLING);
	return extent;
}

static struct pool_extent *add_ahead(struct pool *pool, uint64_t number, uint32_t size,
				     enum pool_use use)
{
	struct pool_extent *extent = NULL;

	assert_int_equal(add_at(pool, number, 0, size, use, &extent), 0);
	return extent;
}

/* In memory, and nobody uses it. */
static struct pool_extent *keep(struct pool *pool, uint64_t number, uint32_t size,
				enum pool_use use)
{
	struct pool_extent *extent =
		pool_is_ahead(use) ? add_ahead(pool, number, size, use) : add(pool, number, size);

	pool_filled(extent);
	if (pool_is_spent(use))
		pool_spend(pool, extent, use == POOL_GIVEN);
	pool_unpin(pool, extent);
	return extent;
}

static void touch(struct pool *pool, uint64_t number)
{
	struct pool_extent *extent = pool_find(pool, number);

	assert_non_null(extent);
	pool_pin(pool, extent);
	pool_unpin(pool, extent);
}

TEST(a_budget_below_two_extents_is_refused)
{
	const struct pool_params params = params_of(9 * SLOT_BYTES, POLICY_LRU);
	struct pool *pool = NULL;

	assert_int_equal(pool_new(&params, &pool), -EINVAL);
	assert_null(pool);
}

FIXTURE_BY(pool, struct pool, lru, teardown);

TEST_OF(pool, extents_are_found_by_number_in_any_state)
{
	struct pool_extent *extent;

	assert_null(pool_find(pool, 7));
	extent = add(pool, 7, 100);
	assert_ptr_equal(pool_find(pool, 7), extent);
	pool_filled(extent);
	assert_ptr_equal(pool_find(pool, 7), extent);
	pool_unpin(pool, extent);
	assert_ptr_equal(pool_find(pool, 7), extent);
	assert_int_equal(extent->is.number, 7);
	assert_int_equal(extent->is.size, 100);
	assert_null(pool_find(pool, 7 + 4)); /* the same bucket */
}

TEST_OF(pool, the_least_recently_used_leaves_first)
{
	for (uint64_t i = 0; i < 4; i++)
		keep(pool, i, FOUR, POOL_USED);
	touch(pool, 0);
	keep(pool, 10, FOUR, POOL_USED);
	assert_null(pool_find(pool, 1));
	assert_non_null(pool_find(pool, 0));
	keep(pool, 11, 2 * FOUR, POOL_USED);
	assert_null(pool_find(pool, 2));
	assert_null(pool_find(pool, 3));
	assert_non_null(pool_find(pool, 0));
	assert_int_equal(pool_stats(pool).evictions, 3);
}

TEST_OF(pool, pins_hold)
{
	struct pool_extent *pinned = keep(pool, 0, FOUR, POOL_USED);

	pool_pin(pool, pinned);
	pool_pin(pool, pinned);
	for (uint64_t i = 1; i < 100; i++)
		keep(pool, i, FOUR, POOL_USED);
	assert_ptr_equal(pool_find(pool, 0), pinned);
	pool_unpin(pool, pinned);
	for (uint64_t i = 100; i < 200; i++)
		keep(pool, i, FOUR, POOL_USED);
	assert_ptr_equal(pool_find(pool, 0), pinned);
	pool_unpin(pool, pinned); /* from here on the youngest */
	for (uint64_t i = 200; i < 203; i++)
		keep(pool, i, FOUR, POOL_USED);
	assert_non_null(pool_find(pool, 0));
	keep(pool, 203, FOUR, POOL_USED);
	assert_null(pool_find(pool, 0));
}

TEST_OF(pool, where_all_is_pinned_there_is_no_room)
{
	struct pool_extent *extents[4], *none = NULL;

	for (uint64_t i = 0; i < 4; i++)
		extents[i] = add(pool, i, FOUR);
	pool_filled(extents[0]); /* READY, but pinned */
	assert_int_equal(add_at(pool, 9, 0, 1, POOL_USED, &none), -ENOBUFS);
	assert_null(none);
	assert_null(pool_find(pool, 9));
	pool_unpin(pool, extents[0]);
	assert_int_equal(add_at(pool, 9, 0, 2 * FOUR, POOL_USED, &none), -ENOBUFS);
	assert_non_null(pool_find(pool, 0)); /* not evicted in vain */
	assert_int_equal(add_at(pool, 9, 0, FOUR, POOL_USED, &none), 0);
	assert_null(pool_find(pool, 0));
}

TEST_OF(pool, room_is_what_is_free_or_on_offer)
{
	struct pool_extent *extent;

	assert_true(pool_has_room(pool, SLOTS));
	assert_false(pool_has_room(pool, SLOTS + 1));
	extent = add(pool, 0, FOUR + 1); /* five slots */
	assert_true(pool_has_room(pool, 11));
	assert_false(pool_has_room(pool, 12));
	pool_filled(extent);
	assert_false(pool_has_room(pool, 12));
	pool_unpin(pool, extent);
	assert_true(pool_has_room(pool, SLOTS));
	pool_pin(pool, extent);
	assert_false(pool_has_room(pool, SLOTS));
}

FIXTURE_BY(pins, struct pool, pin, teardown);

/* --- who keeps what was served --------------------------------------------------------------- */

TEST_WITH(pins, pool, what_the_kernel_keeps_is_used_again_before_the_pool_grows)
{
	struct iovec before[IOV_ROOM], after[IOV_ROOM];

	keep(pool, 0, FOUR, POOL_USED);
	assert_int_equal(pool_iov(pool, keep(pool, 1, FOUR, POOL_GIVEN), 0, FOUR, before), 1);
	/* Half of the arena was never used, yet 2 takes over what 1 had. */
	assert_int_equal(pool_iov(pool, keep(pool, 2, FOUR, POOL_USED), 0, FOUR, after), 1);
	assert_ptr_equal(before[0].iov_base, after[0].iov_base);
	assert_null(pool_find(pool, 1));
	assert_int_equal(pool_stats(pool).used, 2 * FOUR);
	assert_int_equal(pool_stats(pool).held, 2 * FOUR);
	/* What is only used stays, and the arena grows. */
	keep(pool, 3, FOUR, POOL_USED);
	assert_non_null(pool_find(pool, 0));
	assert_int_equal(pool_stats(pool).used, 3 * FOUR);
	assert_int_equal(pool_stats(pool).evictions, 0); /* the kernel has it: no loss */
}

TEST_WITH(pins, pool, an_endless_scan_that_the_kernel_keeps_needs_little_memory)
{
	for (uint64_t i = 0; i < 100; i++)
		keep(pool, i, 1 + (uint32_t)(i % 4) * SLOT_BYTES, POOL_GIVEN);
	assert_true(pool_stats(pool).held <= 2 * FOUR);
}

TEST_WITH(pins, pool, where_the_pool_keeps_it_grows_before_anything_leaves)
{
	for (uint64_t i = 0; i < 4; i++)
		keep(pool, i, FOUR, POOL_SPENT);
	for (uint64_t i = 0; i < 4; i++)
		assert_non_null(pool_find(pool, i));
	assert_int_equal(pool_stats(pool).held, BUDGET);
	keep(pool, 4, FOUR, POOL_SPENT);
	assert_int_equal(pool_stats(pool).used, BUDGET);
	assert_null(pool_find(pool, 3)); /* the latest: the others were there before it */
	assert_int_equal(pool_stats(pool).evictions, 1);
}

TEST_WITH(pins, pool, what_the_kernel_keeps_leaves_before_what_the_pool_keeps)
{
	keep(pool, 0, FOUR, POOL_SPENT);
	keep(pool, 1, FOUR, POOL_GIVEN);
	keep(pool, 2, FOUR, POOL_SPENT); /* over what 1 had */
	assert_null(pool_find(pool, 1));
	keep(pool, 3, FOUR, POOL_GIVEN);
	keep(pool, 4, FOUR, POOL_SPENT);
	keep(pool, 5, FOUR, POOL_SPENT);
	assert_int_equal(pool_stats(pool).evictions, 0);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(pool_find(pool, i) != NULL, i % 2 == 0 || i == 5);
}

/* Whoever asks for it nevertheless, the kernel has let go of it. */
TEST_WITH(pins, pool, what_was_given_and_is_asked_for_again_is_used)
{
	struct pool_extent *given = keep(pool, 0, FOUR, POOL_GIVEN);

	assert_int_equal(pool_room_for_once(pool), BUDGET);
	pool_epoch(pool, 1);
	assert_int_equal(pool_room_for_once(pool), BUDGET);
	pool_pin(pool, given);
	assert_false(pool_ask(pool, given));
	pool_spend(pool, given, false);
	pool_unpin(pool, given);
	pool_epoch(pool, 2);
	assert_int_equal(pool_room_for_once(pool), 3 * FOUR);
}

TEST_WITH(pins, pool, what_is_still_wanted_leaves_last)
{
	keep(pool, 0, FOUR, POOL_AHEAD);
	keep(pool, 1, FOUR, POOL_USED);
	keep(pool, 2, FOUR, POOL_SPENT);
	keep(pool, 3, FOUR, POOL_AHEAD);
	keep(pool, 4, FOUR, POOL_USED);
	assert_null(pool_find(pool, 2));
	keep(pool, 5, FOUR, POOL_USED);
	assert_null(pool_find(pool, 3)); /* 0 is needed sooner */
	assert_int_equal(pool_stats(pool).wasted, FOUR);
	assert_non_null(pool_find(pool, 1));
}

/* The oldest is needed soonest. */
TEST_WITH(pins, pool, of_what_was_read_ahead_the_latest_leaves_first)
{
	for (uint64_t i = 0; i < 2; i++)
		keep(pool, i, FOUR, POOL_DUE);
	for (uint64_t i = 2; i < 4; i++)
		keep(pool, i, FOUR, POOL_AHEAD);
	for (uint64_t i = 0; i < 3; i++) {
		add(pool, 10 + i, FOUR);
		assert_null(pool_find(pool, (uint64_t[]){3, 2, 1}[i]));
	}
	assert_non_null(pool_find(pool, 0));
}
TEST_AGAIN(pool, of_what_was_read_ahead_the_latest_leaves_first);

TEST_WITH(pins, pool, what_is_hoped_for_gives_way_to_what_is_known_to_come)
{
	struct pool_extent *extent = NULL;

	for (uint64_t i = 0; i < 4; i++)
		keep(pool, i, FOUR, POOL_AHEAD);
	assert_int_equal(add_at(pool, 4, 0, FOUR, POOL_AHEAD, &extent), -ENOBUFS);
	for (uint64_t i = 4; i < 8; i++)
		keep(pool, i, FOUR, POOL_DUE);
	assert_int_equal(pool_stats(pool).wasted, 4 * FOUR);
	assert_int_equal(pool_stats(pool).due, BUDGET);
	assert_int_equal(add_at(pool, 8, 0, FOUR, POOL_AHEAD, &extent), -ENOBUFS);
	assert_int_equal(add_at(pool, 8, 0, FOUR, POOL_DUE, &extent), -ENOBUFS);
	keep(pool, 8, FOUR, POOL_USED);
	assert_int_equal(pool_stats(pool).due, 3 * FOUR);
	assert_int_equal(pool_stats(pool).ahead, 3 * FOUR);
}

TEST_WITH(pins, pool, a_spent_one_that_is_read_again_does_not_leave)
{
	struct pool_extent *spent = keep(pool, 0, FOUR, POOL_SPENT);

	pool_pin(pool, spent);
	keep(pool, 1, 3 * FOUR, POOL_USED);
	keep(pool, 2, FOUR, POOL_USED);
	assert_null(pool_find(pool, 1));
	assert_ptr_equal(pool_find(pool, 0), spent);
}

/* --- room for what everything is read once for ----------------------------------------------- */

TEST_WITH(pins, pool, room_for_once_is_all_but_what_this_epoch_may_still_want)
{
	struct pool_extent *filling;

	assert_int_equal(pool_room_for_once(pool), BUDGET);
	keep(pool, 0, FOUR, POOL_AHEAD);
	assert_int_equal(pool_room_for_once(pool), 3 * FOUR);
	keep(pool, 1, FOUR, POOL_SPENT);
	assert_int_equal(pool_room_for_once(pool), 3 * FOUR);
	keep(pool, 2, SLOT_BYTES, POOL_USED);
	assert_int_equal(pool_room_for_once(pool), 11 * SLOT_BYTES);
	filling = add(pool, 3, SLOT_BYTES);
	assert_int_equal(pool_room_for_once(pool), 10 * SLOT_BYTES);
	pool_filled(filling);
	pool_spend(pool, filling, false);
	assert_int_equal(pool_room_for_once(pool), 10 * SLOT_BYTES); /* pinned */
	pool_unpin(pool, filling);
	assert_int_equal(pool_room_for_once(pool), 11 * SLOT_BYTES);
}

TEST_WITH(pins, pool, what_is_asked_for_anew_is_wanted_again)
{
	struct pool_extent *extent = keep(pool, 0, FOUR, POOL_SPENT);

	assert_true(pool_serve(extent, 0, FOUR));
	pool_pin(pool, extent);
	assert_false(pool_ask(pool, extent));
	assert_int_equal(extent->use, POOL_USED);
	assert_false(pool_serve(extent, 0, FOUR / 2)); /* of it, nothing yet */
	pool_ask(pool, extent);			       /* the next request for the same reading */
	assert_true(pool_serve(extent, FOUR / 2, FOUR / 2));
	pool_unpin(pool, extent);
	assert_int_equal(pool_room_for_once(pool), 3 * FOUR);
}

/* Readers of the same beginning have not seen the end. */
TEST_WITH(pins, pool, only_ranges_make_a_whole)
{
	struct pool_extent *extent = add(pool, 0, 5 * CACHE_PAGE + 7);

	for (int reader = 0; reader < 3; reader++)
		assert_false(pool_serve(extent, 0, 4 * CACHE_PAGE));
	assert_false(pool_serve(extent, 5 * CACHE_PAGE, 7));
	assert_false(pool_serve(extent, 4 * CACHE_PAGE, 100)); /* a part of a page */
	assert_true(pool_serve(extent, 3 * CACHE_PAGE, 2 * CACHE_PAGE));
	assert_true(pool_serve(extent, 0, 1));
}

TEST_WITH(pins, pool, a_new_epoch_may_want_all_that_the_last_one_was_done_with)
{
	struct pool_extent *extent = keep(pool, 0, FOUR, POOL_SPENT);

	keep(pool, 1, FOUR, POOL_SPENT);
	pool_epoch(pool, 0); /* still the same */
	assert_int_equal(pool_room_for_once(pool), BUDGET);
	pool_epoch(pool, 1);
	assert_int_equal(pool_room_for_once(pool), 2 * FOUR);
	touch(pool, 0); /* read of, but not to its end */
	assert_int_equal(pool_room_for_once(pool), 2 * FOUR);
	pool_pin(pool, extent);
	pool_spend(pool, extent, false);
	pool_unpin(pool, extent);
	assert_int_equal(pool_room_for_once(pool), 3 * FOUR);
	add(pool, 2, 3 * FOUR); /* the latest spent one leaves first, then the one before */
	assert_non_null(pool_find(pool, 1));
	assert_int_equal(pool_room_for_once(pool), 0);
}

TEST_WITH(pins, pool, one_that_two_read_is_passed_when_both_let_go)
{
	struct pool_extent *extent = keep(pool, 0, FOUR, POOL_USED);

	pool_pin(pool, extent);
	pool_pin(pool, extent);
	pool_spend(pool, extent, false);
	pool_unpin(pool, extent);
	assert_int_equal(pool_room_for_once(pool), 3 * FOUR);
	pool_unpin(pool, extent);
	assert_int_equal(pool_room_for_once(pool), BUDGET);
	touch(pool, 0);
	touch(pool, 0);
	assert_int_equal(pool_room_for_once(pool), BUDGET);
}

/* --- limits ---------------------------------------------------------------------------------- */

static void limit(struct pool *pool, uint64_t bytes)
{
	struct slots_leaving *leaving = pool_limit(pool, bytes);

	pool_hand_back(pool, leaving);
	pool_limited(pool, leaving);
}

TEST_OF(pool, a_lower_limit_gives_memory_back_and_is_kept)
{
	for (uint64_t i = 0; i < 4; i++)
		keep(pool, i, FOUR, POOL_USED);
	assert_int_equal(pool_stats(pool).held, BUDGET);
	limit(pool, 2 * FOUR);
	assert_int_equal(pool_stats(pool).limit, 2 * FOUR);
	assert_int_equal(pool_stats(pool).used, 2 * FOUR);
	assert_int_equal(pool_stats(pool).held, 2 * FOUR);
	assert_null(pool_find(pool, 1));
	assert_non_null(pool_find(pool, 2));
	for (uint64_t i = 10; i < 20; i++) {
		keep(pool, i, FOUR, i % 2 ? POOL_SPENT : POOL_USED);
		assert_true(pool_stats(pool).used <= 2 * FOUR);
		assert_true(pool_stats(pool).held <= 2 * FOUR);
	}
	assert_false(pool_has_room(pool, 9));
	assert_true(pool_has_room(pool, 8));
	assert_int_equal(pool_stats(pool).budget, BUDGET);
}

TEST_OF(pool, a_lower_limit_takes_what_is_free_first)
{
	struct pool_extent *failed = add(pool, 9, 2 * FOUR);

	keep(pool, 0, 2 * FOUR, POOL_USED);
	pool_failed(pool, failed, -EIO);
	pool_unpin(pool, failed);
	assert_int_equal(pool_stats(pool).held, BUDGET);
	limit(pool, 2 * FOUR);
	assert_int_equal(pool_stats(pool).held, 2 * FOUR);
	assert_non_null(pool_find(pool, 0));
}

TEST_WITH(pins, pool, a_limit_that_is_raised_again_lets_the_pool_grow)
{
	for (uint64_t i = 0; i < 4; i++)
		keep(pool, i, FOUR, POOL_SPENT);
	limit(pool, FOUR);
	assert_int_equal(pool_room_for_once(pool), FOUR);
	limit(pool, 100 * BUDGET);
	assert_int_equal(pool_stats(pool).limit, BUDGET);
	assert_int_equal(pool_stats(pool).held, FOUR); /* not before it is needed */
	for (uint64_t i = 10; i < 13; i++)
		keep(pool, i, FOUR, POOL_USED);
	assert_int_equal(pool_stats(pool).used, BUDGET);
	assert_int_equal(pool_stats(pool).held, BUDGET);
	for (uint64_t i = 10; i < 13; i++)
		assert_non_null(pool_find(pool, i));
}

TEST_OF(pool, a_limit_waits_for_what_is_pinned)
{
	struct pool_extent *pinned = add(pool, 0, 2 * FOUR), *none = NULL;

	pool_filled(pinned);
	keep(pool, 1, 2 * FOUR, POOL_USED);
	limit(pool, FOUR);
	assert_null(pool_find(pool, 1));
	assert_int_equal(pool_stats(pool).used, 2 * FOUR);
	assert_int_equal(pool_stats(pool).held, 2 * FOUR);
	assert_int_equal(pool_room_for_once(pool), 0);
	assert_false(pool_has_room(pool, 1));
	assert_int_equal(add_at(pool, 2, 0, 1, POOL_USED, &none), -ENOBUFS);
	pool_unpin(pool, pinned);
	assert_true(pool_has_room(pool, 4));
	keep(pool, 2, 1, POOL_USED);
	assert_int_equal(pool_stats(pool).used, SLOT_BYTES);
	limit(pool, FOUR);
	assert_int_equal(pool_stats(pool).held, FOUR);
}

/* --- failures -------------------------------------------------------------------------------- */

TEST_OF(pool, a_failed_extent_is_out_of_sight_and_goes_with_its_last_pin)
{
	struct pool_extent *failed = add(pool, 5, FOUR), *again;

	pool_pin(pool, failed);
	pool_failed(pool, failed, -EIO);
	assert_null(pool_find(pool, 5));
	assert_int_equal(failed->state, POOL_FAILED);
	assert_int_equal(failed->error, -EIO);
	again = add(pool, 5, FOUR); /* the next reader tries again, beside it */
	assert_ptr_equal(pool_find(pool, 5), again);
	assert_int_equal(pool_stats(pool).used, 2 * FOUR);
	pool_unpin(pool, failed);
	assert_int_equal(failed->state, POOL_FAILED); /* one pin is left */
	assert_int_equal(pool_stats(pool).used, 2 * FOUR);
	pool_unpin(pool, failed);
	assert_int_equal(pool_stats(pool).used, FOUR);
	assert_ptr_equal(pool_find(pool, 5), again);
	assert_int_equal(pool_stats(pool).evictions, 0);
}

TEST_OF(pool, pieces_that_are_neighbours_are_joined)
{
	struct pool_extent *extent = add(pool, 0, 3 * SLOT_BYTES + 10);
	struct iovec iov[IOV_ROOM];

	assert_int_equal(pool_iov(pool, extent, 0, extent->is.size, iov), 1);
	assert_int_equal(iov[0].iov_len, extent->is.size);
	assert_int_equal(pool_iov(pool, extent, 100, 2 * SLOT_BYTES, iov), 1);
	assert_int_equal(iov[0].iov_len, 2 * SLOT_BYTES);
	assert_int_equal(pool_iov(pool, extent, 0, 0, iov), 0);
}

/* Fills the holes that every second of sixteen extents leaves. */
TEST_OF(pool, pieces_that_lie_apart_stay_apart)
{
	struct pool_extent *extents[SLOTS], *extent;
	struct iovec iov[IOV_ROOM];

	for (uint32_t i = 0; i < SLOTS; i++)
		extents[i] = add(pool, i, SLOT_BYTES);
	for (uint32_t i = 0; i < SLOTS; i += 2) {
		pool_failed(pool, extents[i], -EIO);
		pool_unpin(pool, extents[i]);
	}
	extent = add(pool, 100, FOUR - 1);
	assert_int_equal(pool_iov(pool, extent, 0, extent->is.size, iov), 4);
	assert_int_equal(iov[3].iov_len, SLOT_BYTES - 1);
	assert_int_equal(pool_iov(pool, extent, SLOT_BYTES - 1, 2, iov), 2);
	assert_int_equal(iov[0].iov_len, 1);
	assert_int_equal(iov[1].iov_len, 1);
	assert_int_equal(pool_iov(pool, extent, SLOT_BYTES + 5, SLOT_BYTES - 5, iov), 1);
}

TEST_OF(pool, an_extent_begins_with_the_page_of_the_file_that_it_begins_in)
{
	struct pool_extent *extent;
	struct iovec pages[IOV_ROOM], bytes[IOV_ROOM];

	assert_int_equal(add_at(pool, 0, 5 * CACHE_PAGE + 904, 20000, POOL_USED, &extent), 0);
	assert_int_equal(extent->is.offset % CACHE_PAGE, 904);
	assert_int_equal(pool_iov_pages(pool, extent, 0, 6 * CACHE_PAGE, pages), 1);
	assert_int_equal((uintptr_t)pages[0].iov_base % CACHE_PAGE, 0);
	assert_int_equal(pages[0].iov_len, 6 * CACHE_PAGE);
	assert_int_equal(pool_iov(pool, extent, 0, 20000, bytes), 1);
	assert_ptr_equal(bytes[0].iov_base, (char *)pages[0].iov_base + 904);
	assert_int_equal(bytes[0].iov_len, 20000);
	assert_int_equal(pool_iov(pool, extent, 100, 7, bytes), 1);
	assert_ptr_equal(bytes[0].iov_base, (char *)pages[0].iov_base + 1004);
}

TEST_OF(pool, what_lies_before_an_extent_takes_memory_too)
{
	const uint64_t offsets[] = {0, 1, CACHE_PAGE - 1, CACHE_PAGE, 3 * CACHE_PAGE + 1};

	for (uint64_t i = 0; i < 5; i++) {
		const struct extent place = {.number = i, .offset = offsets[i], .size = SLOT_BYTES};
		struct pool_extent *extent;

		assert_int_equal(pool_slots(&place), offsets[i] % CACHE_PAGE ? 2 : 1);
		assert_int_equal(pool_add(pool, &place, POOL_USED, &extent), 0);
		assert_int_equal(extent->slot_count, pool_slots(&place));
	}
	assert_int_equal(pool_stats(pool).used, 8 * SLOT_BYTES);
}

static uint32_t bytes_of(const struct iovec *iov, int count)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return (uint32_t)bytes;
}

/* All pages of the extent, scattered over slots, and its bytes within them. */
TEST_OF(pool, pages_and_bytes_are_the_same_memory)
{
	struct pool_extent *holes[SLOTS], *extent;
	struct iovec pages[IOV_ROOM], bytes[IOV_ROOM];
	const uint32_t size = 4 * SLOT_BYTES - 100;
	int count;

	for (uint32_t i = 0; i < SLOTS; i++)
		holes[i] = add(pool, i, SLOT_BYTES);
	for (uint32_t i = 0; i < SLOTS; i += 2) {
		pool_failed(pool, holes[i], -EIO);
		pool_unpin(pool, holes[i]);
	}
	assert_int_equal(add_at(pool, 100, 77 * CACHE_PAGE + 200, size, POOL_USED, &extent), 0);
	count = pool_iov_pages(pool, extent, 0, 5 * SLOT_BYTES, pages);
	assert_int_equal(count, 5);
	for (int i = 0; i < count; i++)
		memset(pages[i].iov_base, '1' + i, pages[i].iov_len);
	count = pool_iov(pool, extent, 0, size, bytes);
	assert_int_equal(count, 5);
	assert_int_equal(bytes_of(bytes, count), size);
	assert_ptr_equal(bytes[0].iov_base, (char *)pages[0].iov_base + 200);
	for (int i = 0; i < count; i++)
		assert_int_equal(*(char *)bytes[i].iov_base, '1' + i);
	assert_int_equal(bytes[4].iov_len, 100);
}

TEST_WITH(pins, pool, what_was_read_ahead_in_vain_is_counted)
{
	keep(pool, 0, FOUR - 1, POOL_AHEAD);
	keep(pool, 1, FOUR, POOL_GIVEN);
	keep(pool, 2, 2 * FOUR, POOL_USED);
	add(pool, 3, 4 * FOUR); /* throws all out */
	assert_int_equal(pool_stats(pool).wasted, FOUR - 1);
	assert_int_equal(pool_stats(pool).evictions, 2); /* what the kernel keeps is no loss */
}

TEST_WITH(pins, pool, what_was_read_ahead_and_is_given_up_makes_room)
{
	struct pool_extent *filling;

	keep(pool, 0, FOUR, POOL_DUE);
	keep(pool, 1, FOUR, POOL_USED);
	assert_int_equal(add_at(pool, 2, 0, 1000, POOL_DUE, &filling), 0);
	for (uint64_t number = 0; number < 4; number++)
		pool_give_up(pool, number);
	assert_int_equal(pool_stats(pool).wasted, FOUR);
	assert_int_equal(pool_stats(pool).due, SLOT_BYTES); /* what is still read is left alone */
	assert_non_null(pool_find(pool, 0));
	pool_failed(pool, filling, -EIO);
	pool_unpin(pool, filling);
}

TEST_OF(pool, what_was_read_ahead_and_failed_is_wasted_too)
{
	struct pool_extent *extent;

	assert_int_equal(add_at(pool, 0, 0, 1000, POOL_AHEAD, &extent), 0);
	pool_failed(pool, extent, -EIO);
	pool_unpin(pool, extent);
	assert_int_equal(pool_stats(pool).wasted, 1000);
	extent = add(pool, 1, 1000); /* somebody asked for this one */
	pool_failed(pool, extent, -EIO);
	pool_unpin(pool, extent);
	assert_int_equal(pool_stats(pool).wasted, 1000);
}

TEST_OF(pool, what_is_ahead_is_counted_in_memory_until_somebody_asks)
{
	struct pool_extent *asked, *failed, *evicted;

	asked = add_ahead(pool, 0, 1, POOL_AHEAD);
	failed = add_ahead(pool, 1, SLOT_BYTES + 1, POOL_AHEAD);
	evicted = add_ahead(pool, 2, FOUR, POOL_AHEAD);
	assert_int_equal(pool_stats(pool).ahead, 7 * SLOT_BYTES);
	assert_true(pool_ask(pool, asked));
	assert_false(pool_ask(pool, asked)); /* the second one to ask */
	assert_int_equal(pool_stats(pool).ahead, 6 * SLOT_BYTES);
	pool_failed(pool, failed, -EIO);
	pool_unpin(pool, failed);
	assert_int_equal(pool_stats(pool).ahead, 4 * SLOT_BYTES);
	pool_filled(evicted);
	pool_unpin(pool, evicted);
	add(pool, 3, 12 * SLOT_BYTES);
	assert_int_equal(pool_stats(pool).ahead, 0);
}

TEST_OF(pool, used_is_what_extents_hold)
{
	assert_int_equal(pool_stats(pool).budget, BUDGET);
	assert_int_equal(pool_stats(pool).used, 0);
	keep(pool, 0, 1, POOL_USED);
	assert_int_equal(pool_stats(pool).used, SLOT_BYTES);
	keep(pool, 1, SLOT_BYTES + 1, POOL_USED);
	assert_int_equal(pool_stats(pool).used, 3 * SLOT_BYTES);
	add(pool, 2, SLOTS * SLOT_BYTES);
	assert_int_equal(pool_stats(pool).used, BUDGET);
}

/* --- a long random life ---------------------------------------------------------------------- */

enum { NUMBERS = 100, PINNED = 3 };

struct life {
	struct pool *pool;
	struct pool_extent *pinned[PINNED];
	uint32_t epoch;
	uint64_t limit;
};

/* Lengths and places follow from the number. */
static uint64_t offset_of(uint64_t number)
{
	return number * 7919;
}

static uint32_t size_of(uint64_t number)
{
	return 1 + (uint32_t)(number * 104729 % (2 * FOUR - CACHE_PAGE));
}

static unsigned char byte_of(uint64_t number, uint32_t at)
{
	return (unsigned char)(number * 31 + at / 5000);
}

static void fill(struct pool *pool, const struct pool_extent *extent)
{
	struct iovec iov[IOV_ROOM];

	for (uint32_t at = 0; at < extent->is.size; at += 5000) {
		pool_iov(pool, extent, at, 1, iov);
		*(unsigned char *)iov[0].iov_base = byte_of(extent->is.number, at);
	}
}

static void assert_filled(struct pool *pool, const struct pool_extent *extent)
{
	struct iovec iov[IOV_ROOM];
	int count = pool_iov(pool, extent, 0, extent->is.size, iov);

	assert_int_equal(bytes_of(iov, count), extent->is.size);
	for (uint32_t at = 0; at < extent->is.size; at += 5000) {
		pool_iov(pool, extent, at, 1, iov);
		assert_int_equal(*(unsigned char *)iov[0].iov_base, byte_of(extent->is.number, at));
	}
}

static void let_go(struct life *life, struct pool_extent **pinned)
{
	if (!*pinned)
		return;
	if ((*pinned)->state == POOL_FILLING && random() % 4 == 0) {
		pool_failed(life->pool, *pinned, -EIO);
	} else if ((*pinned)->state == POOL_FILLING) {
		fill(life->pool, *pinned);
		pool_filled(*pinned);
	}
	if ((*pinned)->state == POOL_READY && (*pinned)->use == POOL_USED && random() % 2)
		pool_spend(life->pool, *pinned, random() % 2);
	pool_unpin(life->pool, *pinned);
	*pinned = NULL;
}

static void take(struct life *life, struct pool_extent **pinned)
{
	uint64_t number = (uint64_t)random() % NUMBERS;
	struct pool_extent *extent = pool_find(life->pool, number);

	if (extent && extent->state == POOL_READY) {
		assert_filled(life->pool, extent);
		pool_pin(life->pool, extent);
		pool_ask(life->pool, extent);
		*pinned = extent;
	} else if (!extent && add_at(life->pool, number, offset_of(number), size_of(number),
				     (enum pool_use)(random() % POOL_SPENT), &extent) == 0) {
		*pinned = extent;
	}
}

static void change_limit(struct life *life)
{
	life->limit = (uint64_t)(random() % (SLOTS + 1)) * SLOT_BYTES;
	limit(life->pool, life->limit);
}

struct sums {
	uint64_t used, ahead, due, passed, pinned; /* slots */
};

static struct sums sums_of(const struct life *life)
{
	struct sums sums = {0};

	for (uint64_t i = 0; i < NUMBERS; i++) {
		const struct pool_extent *extent = pool_find(life->pool, i);

		if (!extent)
			continue;
		sums.used += extent->slot_count;
		if (pool_is_ahead(extent->use))
			sums.ahead += extent->slot_count;
		if (extent->use == POOL_DUE)
			sums.due += extent->slot_count;
		if (extent->pins)
			sums.pinned += extent->slot_count;
		else if (extent->use == POOL_GIVEN ||
			 (extent->use == POOL_SPENT && extent->epoch == life->epoch))
			sums.passed += extent->slot_count;
	}
	return sums;
}

static void assert_sums(const struct life *life)
{
	const struct sums sums = sums_of(life);
	uint64_t limit = pool_stats(life->pool).limit / SLOT_BYTES;
	uint64_t kept = sums.used - sums.passed, free = limit > kept ? limit - kept : 0;

	assert_int_equal(pool_stats(life->pool).limit, life->limit);
	assert_int_equal(pool_stats(life->pool).used, sums.used * SLOT_BYTES);
	assert_int_equal(pool_stats(life->pool).ahead, sums.ahead * SLOT_BYTES);
	assert_int_equal(pool_stats(life->pool).due, sums.due * SLOT_BYTES);
	assert_int_equal(pool_room_for_once(life->pool), free * SLOT_BYTES);
	assert_true(pool_stats(life->pool).used <= pool_stats(life->pool).held);
	assert_true(pool_stats(life->pool).held <= BUDGET);
	if (sums.pinned <= limit) {
		assert_true(pool_has_room(life->pool, limit - sums.pinned));
		assert_false(pool_has_room(life->pool, limit - sums.pinned + 1));
	} else {
		assert_false(pool_has_room(life->pool, 0));
	}
}

TEST_OF(pool, the_books_are_right_all_through_a_long_life)
{
	struct life life = {.pool = pool, .limit = BUDGET};

	srandom(2);
	for (int round = 0; round < 30000; round++) {
		struct pool_extent **pinned = &life.pinned[random() % PINNED];
		bool over = pool_stats(life.pool).used > life.limit;

		let_go(&life, pinned);
		take(&life, pinned);
		assert_true(over || pool_stats(life.pool).used <= life.limit);
		if (random() % 50 == 0)
			change_limit(&life);
		if (random() % 100 == 0)
			pool_epoch(life.pool, ++life.epoch);
		assert_sums(&life);
	}
	for (unsigned i = 0; i < PINNED; i++)
		let_go(&life, &life.pinned[i]);
	limit(life.pool, 0);
	assert_int_equal(pool_stats(life.pool).used, 0);
	assert_int_equal(pool_stats(life.pool).held, 0);
	assert_int_equal(pool_stats(life.pool).ahead, 0);
}
TEST_AGAIN(pins, the_books_are_right_all_through_a_long_life);

TEST_OF(pool, no_limit_is_exceeded_while_nothing_is_pinned)
{
	struct life life = {.pool = pool, .limit = BUDGET};

	srandom(3);
	for (int round = 0; round < 20000; round++) {
		take(&life, &life.pinned[0]);
		let_go(&life, &life.pinned[0]);
		if (random() % 20 == 0)
			change_limit(&life);
		assert_true(pool_stats(life.pool).used <= life.limit);
		assert_true(pool_stats(life.pool).held <= life.limit);
	}
}
TEST_AGAIN(pins, no_limit_is_exceeded_while_nothing_is_pinned);

/* A job that was read ahead for has ended; others miss twice as much as there is memory. */
TEST_WITH(pins, pool, what_was_read_ahead_for_nobody_makes_room)
{
	for (uint64_t i = 0; i < 3; i++)
		keep(pool, i, FOUR, POOL_AHEAD);
	for (uint64_t i = 0; i < 8; i++)
		keep(pool, 10 + i, FOUR, POOL_SPENT);
	assert_int_equal(pool_stats(pool).ahead, 3 * FOUR);
	assert_int_equal(pool_room_for_once(pool), FOUR);
	keep(pool, 20, FOUR, POOL_SPENT);
	assert_int_equal(pool_stats(pool).ahead, 0);
	assert_int_equal(pool_room_for_once(pool), BUDGET);
	assert_int_equal(pool_stats(pool).wasted, 3 * FOUR);
}

TEST_WITH(pins, pool, what_is_asked_for_now_and_then_is_not_given_up)
{
	for (uint64_t i = 0; i < 3; i++)
		keep(pool, i, FOUR, POOL_AHEAD);
	for (uint64_t i = 0; i < 12; i++) {
		keep(pool, 10 + i, FOUR, POOL_SPENT);
		if (i == 5)
			pool_ask(pool, pool_find(pool, 0));
	}
	assert_int_equal(pool_stats(pool).ahead, 2 * FOUR);
}
