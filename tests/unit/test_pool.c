/* The extents in memory: cache/pool.h. */
#include "cache/pool.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLOTS	 16u
#define BUDGET	 ((uint64_t)SLOTS * SLOT_BYTES)
#define FOUR	 (4 * SLOT_BYTES) /* four of them fill the pool */
#define IOV_ROOM (SLOTS + 2)

static int setup(void **state)
{
	struct pool *pool;

	assert_int_equal(pool_new(BUDGET, 8 * SLOT_BYTES, &policy_lru, &pool), 0);
	*state = pool;
	return 0;
}

static int teardown(void **state)
{
	pool_free(*state);
	return 0;
}

static struct pool_extent *add(struct pool *pool, uint64_t number, uint32_t size)
{
	struct pool_extent *extent = NULL;

	assert_int_equal(pool_add(pool, number, size, POLICY_USED, &extent), 0);
	assert_int_equal(extent->state, POOL_FILLING);
	return extent;
}

/* In memory, and nobody uses it. */
static struct pool_extent *keep(struct pool *pool, uint64_t number, uint32_t size,
				enum policy_use use)
{
	struct pool_extent *extent = NULL;

	assert_int_equal(pool_add(pool, number, size, use, &extent), 0);
	pool_filled(pool, extent);
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

static void a_budget_below_two_extents_is_refused(void **state)
{
	struct pool *pool = NULL;

	(void)state;
	assert_int_equal(pool_new(BUDGET, 9 * SLOT_BYTES, &policy_lru, &pool), -EINVAL);
	assert_null(pool);
}

static void extents_are_found_by_number_in_any_state(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *extent;

	assert_null(pool_find(pool, 7));
	extent = add(pool, 7, 100);
	assert_ptr_equal(pool_find(pool, 7), extent);
	pool_filled(pool, extent);
	assert_ptr_equal(pool_find(pool, 7), extent);
	pool_unpin(pool, extent);
	assert_ptr_equal(pool_find(pool, 7), extent);
	assert_int_equal(extent->number, 7);
	assert_int_equal(extent->size, 100);
	assert_null(pool_find(pool, 7 + 4)); /* the same bucket */
}

static void the_least_recently_used_leaves_first(void **state)
{
	struct pool *pool = *state;

	for (uint64_t i = 0; i < 4; i++)
		keep(pool, i, FOUR, POLICY_USED);
	touch(pool, 0);
	keep(pool, 10, FOUR, POLICY_USED);
	assert_null(pool_find(pool, 1));
	assert_non_null(pool_find(pool, 0));
	keep(pool, 11, 2 * FOUR, POLICY_USED);
	assert_null(pool_find(pool, 2));
	assert_null(pool_find(pool, 3));
	assert_non_null(pool_find(pool, 0));
	assert_int_equal(pool_counters(pool)->evictions, 3);
}

static void pins_hold(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *pinned = keep(pool, 0, FOUR, POLICY_USED);

	pool_pin(pool, pinned);
	pool_pin(pool, pinned);
	for (uint64_t i = 1; i < 100; i++)
		keep(pool, i, FOUR, POLICY_USED);
	assert_ptr_equal(pool_find(pool, 0), pinned);
	pool_unpin(pool, pinned);
	for (uint64_t i = 100; i < 200; i++)
		keep(pool, i, FOUR, POLICY_USED);
	assert_ptr_equal(pool_find(pool, 0), pinned);
	pool_unpin(pool, pinned); /* from here on the youngest */
	for (uint64_t i = 200; i < 203; i++)
		keep(pool, i, FOUR, POLICY_USED);
	assert_non_null(pool_find(pool, 0));
	keep(pool, 203, FOUR, POLICY_USED);
	assert_null(pool_find(pool, 0));
}

static void where_all_is_pinned_there_is_no_room(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *extents[4], *none = NULL;

	for (uint64_t i = 0; i < 4; i++)
		extents[i] = add(pool, i, FOUR);
	pool_filled(pool, extents[0]); /* READY, but pinned */
	assert_int_equal(pool_add(pool, 9, 1, POLICY_USED, &none), -ENOBUFS);
	assert_null(none);
	assert_null(pool_find(pool, 9));
	pool_unpin(pool, extents[0]);
	assert_int_equal(pool_add(pool, 9, 2 * FOUR, POLICY_USED, &none), -ENOBUFS);
	assert_non_null(pool_find(pool, 0)); /* not evicted in vain */
	assert_int_equal(pool_add(pool, 9, FOUR, POLICY_USED, &none), 0);
	assert_null(pool_find(pool, 0));
}

static void room_is_what_is_free_or_on_offer(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *extent;

	assert_true(pool_has_room(pool, BUDGET));
	assert_false(pool_has_room(pool, BUDGET + 1));
	extent = add(pool, 0, FOUR + 1); /* five slots */
	assert_true(pool_has_room(pool, 11 * SLOT_BYTES));
	assert_false(pool_has_room(pool, 11 * SLOT_BYTES + 1));
	pool_filled(pool, extent);
	assert_false(pool_has_room(pool, 11 * SLOT_BYTES + 1));
	pool_unpin(pool, extent);
	assert_true(pool_has_room(pool, BUDGET));
	pool_pin(pool, extent);
	assert_false(pool_has_room(pool, BUDGET));
}

static void spent_ones_leave_before_the_arena_grows(void **state)
{
	struct pool *pool = *state;
	struct iovec before[IOV_ROOM], after[IOV_ROOM];

	keep(pool, 0, FOUR, POLICY_USED);
	assert_int_equal(pool_iov(pool, keep(pool, 1, FOUR, POLICY_SPENT), 0, FOUR, before), 1);
	/* Half of the arena was never used, yet 2 takes over what 1 had. */
	assert_int_equal(pool_iov(pool, keep(pool, 2, FOUR, POLICY_USED), 0, FOUR, after), 1);
	assert_ptr_equal(before[0].iov_base, after[0].iov_base);
	assert_null(pool_find(pool, 1));
	assert_int_equal(pool_used(pool), 2 * FOUR);
	/* What is only used stays, and the arena grows. */
	keep(pool, 3, FOUR, POLICY_USED);
	assert_non_null(pool_find(pool, 0));
	assert_int_equal(pool_used(pool), 3 * FOUR);
}

static void spent_ones_leave_before_older_used_ones(void **state)
{
	struct pool *pool = *state;

	keep(pool, 0, FOUR, POLICY_USED);
	keep(pool, 1, FOUR, POLICY_SPENT);
	add(pool, 2, 3 * FOUR); /* needs the fresh half and one of the two */
	assert_null(pool_find(pool, 1));
	assert_non_null(pool_find(pool, 0));
}

static void used_ones_leave_before_a_spent_one_only_if_it_is_pinned(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *spent = keep(pool, 0, FOUR, POLICY_SPENT);

	pool_pin(pool, spent);
	keep(pool, 1, 3 * FOUR, POLICY_USED);
	keep(pool, 2, FOUR, POLICY_USED);
	assert_null(pool_find(pool, 1));
	assert_ptr_equal(pool_find(pool, 0), spent);
}

static void a_failed_extent_is_out_of_sight_and_goes_with_its_last_pin(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *failed = add(pool, 5, FOUR), *again;

	pool_pin(pool, failed);
	pool_failed(pool, failed, -EIO);
	assert_null(pool_find(pool, 5));
	assert_int_equal(failed->state, POOL_FAILED);
	assert_int_equal(failed->error, -EIO);
	again = add(pool, 5, FOUR); /* the next reader tries again, beside it */
	assert_ptr_equal(pool_find(pool, 5), again);
	assert_int_equal(pool_used(pool), 2 * FOUR);
	pool_unpin(pool, failed);
	assert_int_equal(failed->state, POOL_FAILED); /* one pin is left */
	assert_int_equal(pool_used(pool), 2 * FOUR);
	pool_unpin(pool, failed);
	assert_int_equal(pool_used(pool), FOUR);
	assert_ptr_equal(pool_find(pool, 5), again);
	assert_int_equal(pool_counters(pool)->evictions, 0);
}

static void pieces_that_are_neighbours_are_joined(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *extent = add(pool, 0, 3 * SLOT_BYTES + 10);
	struct iovec iov[IOV_ROOM];

	assert_int_equal(pool_iov(pool, extent, 0, extent->size, iov), 1);
	assert_int_equal(iov[0].iov_len, extent->size);
	assert_int_equal(pool_iov(pool, extent, 100, 2 * SLOT_BYTES, iov), 1);
	assert_int_equal(iov[0].iov_len, 2 * SLOT_BYTES);
	assert_int_equal(pool_iov(pool, extent, 0, 0, iov), 0);
}

/* Fills the holes that every second of sixteen extents leaves. */
static void pieces_that_lie_apart_stay_apart(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *extents[SLOTS], *extent;
	struct iovec iov[IOV_ROOM];

	for (uint32_t i = 0; i < SLOTS; i++)
		extents[i] = add(pool, i, SLOT_BYTES);
	for (uint32_t i = 0; i < SLOTS; i += 2) {
		pool_failed(pool, extents[i], -EIO);
		pool_unpin(pool, extents[i]);
	}
	extent = add(pool, 100, FOUR - 1);
	assert_int_equal(pool_iov(pool, extent, 0, extent->size, iov), 4);
	assert_int_equal(iov[3].iov_len, SLOT_BYTES - 1);
	assert_int_equal(pool_iov(pool, extent, SLOT_BYTES - 1, 2, iov), 2);
	assert_int_equal(iov[0].iov_len, 1);
	assert_int_equal(iov[1].iov_len, 1);
	assert_int_equal(pool_iov(pool, extent, SLOT_BYTES + 5, SLOT_BYTES - 5, iov), 1);
}

static void what_was_read_ahead_in_vain_is_counted(void **state)
{
	struct pool *pool = *state;

	keep(pool, 0, FOUR - 1, POLICY_AHEAD);
	keep(pool, 1, FOUR, POLICY_SPENT);
	keep(pool, 2, 2 * FOUR, POLICY_USED);
	add(pool, 3, 4 * FOUR); /* throws all out */
	assert_int_equal(pool_counters(pool)->wasted, FOUR - 1);
	assert_int_equal(pool_counters(pool)->evictions, 2); /* a spent one is no loss */
}

static void what_was_read_ahead_and_failed_is_wasted_too(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *extent;

	assert_int_equal(pool_add(pool, 0, 1000, POLICY_AHEAD, &extent), 0);
	pool_failed(pool, extent, -EIO);
	pool_unpin(pool, extent);
	assert_int_equal(pool_counters(pool)->wasted, 1000);
	extent = add(pool, 1, 1000); /* somebody asked for this one */
	pool_failed(pool, extent, -EIO);
	pool_unpin(pool, extent);
	assert_int_equal(pool_counters(pool)->wasted, 1000);
}

static void what_is_ahead_is_counted_in_memory_until_somebody_asks(void **state)
{
	struct pool *pool = *state;
	struct pool_extent *asked, *failed, *evicted;

	assert_int_equal(pool_add(pool, 0, 1, POLICY_AHEAD, &asked), 0);
	assert_int_equal(pool_add(pool, 1, SLOT_BYTES + 1, POLICY_AHEAD, &failed), 0);
	assert_int_equal(pool_add(pool, 2, FOUR, POLICY_AHEAD, &evicted), 0);
	assert_int_equal(pool_ahead(pool), 7 * SLOT_BYTES);
	assert_true(pool_ask(pool, asked));
	assert_false(pool_ask(pool, asked)); /* the second one to ask */
	assert_int_equal(pool_ahead(pool), 6 * SLOT_BYTES);
	pool_failed(pool, failed, -EIO);
	pool_unpin(pool, failed);
	assert_int_equal(pool_ahead(pool), 4 * SLOT_BYTES);
	pool_filled(pool, evicted);
	pool_unpin(pool, evicted);
	add(pool, 3, 12 * SLOT_BYTES);
	assert_int_equal(pool_ahead(pool), 0);
}

static void used_is_what_extents_hold(void **state)
{
	struct pool *pool = *state;

	assert_int_equal(pool_budget(pool), BUDGET);
	assert_int_equal(pool_used(pool), 0);
	keep(pool, 0, 1, POLICY_USED);
	assert_int_equal(pool_used(pool), SLOT_BYTES);
	keep(pool, 1, SLOT_BYTES + 1, POLICY_USED);
	assert_int_equal(pool_used(pool), 3 * SLOT_BYTES);
	add(pool, 2, SLOTS * SLOT_BYTES);
	assert_int_equal(pool_used(pool), BUDGET);
}

static uint64_t held_by(struct pool *pool, uint64_t numbers)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < numbers; i++) {
		struct pool_extent *extent = pool_find(pool, i);

		sum += extent ? extent->slot_count : 0;
	}
	return sum * SLOT_BYTES;
}

/* A long random life: what is used never exceeds the budget and is what the extents hold; a
 * pinned extent keeps its bytes. */
static void the_budget_is_never_exceeded(void **state)
{
	enum { NUMBERS = 100, PINNED = 3 };
	struct pool *pool = *state;
	struct pool_extent *pinned[PINNED] = {NULL};
	struct iovec iov[IOV_ROOM];

	srandom(2);
	for (int round = 0; round < 20000; round++) {
		uint64_t number = (uint64_t)random() % NUMBERS;
		struct pool_extent **slot = &pinned[random() % PINNED];
		struct pool_extent *extent = pool_find(pool, number);

		if (*slot) {
			pool_iov(pool, *slot, 0, 1, iov);
			assert_int_equal(*(unsigned char *)iov[0].iov_base, (*slot)->number);
			(*slot)->node.use = random() % 2 ? POLICY_SPENT : POLICY_USED;
			pool_unpin(pool, *slot);
			*slot = NULL;
		}
		if (extent) {
			pool_pin(pool, extent);
		} else if (pool_add(pool, number, (uint32_t)(1 + random() % (2 * FOUR)),
				    POLICY_USED, &extent) == 0) {
			pool_filled(pool, extent);
			pool_iov(pool, extent, 0, 1, iov);
			*(unsigned char *)iov[0].iov_base = (unsigned char)number;
		}
		*slot = extent;
		assert_true(pool_used(pool) <= BUDGET);
		assert_int_equal(held_by(pool, NUMBERS), pool_used(pool));
	}
}

#define pool_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_budget_below_two_extents_is_refused),
		pool_test(extents_are_found_by_number_in_any_state),
		pool_test(the_least_recently_used_leaves_first),
		pool_test(pins_hold),
		pool_test(where_all_is_pinned_there_is_no_room),
		pool_test(room_is_what_is_free_or_on_offer),
		pool_test(spent_ones_leave_before_the_arena_grows),
		pool_test(spent_ones_leave_before_older_used_ones),
		pool_test(used_ones_leave_before_a_spent_one_only_if_it_is_pinned),
		pool_test(a_failed_extent_is_out_of_sight_and_goes_with_its_last_pin),
		pool_test(pieces_that_are_neighbours_are_joined),
		pool_test(pieces_that_lie_apart_stay_apart),
		pool_test(what_was_read_ahead_in_vain_is_counted),
		pool_test(what_was_read_ahead_and_failed_is_wasted_too),
		pool_test(what_is_ahead_is_counted_in_memory_until_somebody_asks),
		pool_test(used_is_what_extents_hold),
		pool_test(the_budget_is_never_exceeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
