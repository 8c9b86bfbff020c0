/* The extents in memory: cache/pool.h. Most tests are stories. In these, sizes are in slots (S), of
 * which there are 16, and bytes.
 *
 *	add N SIZE [USE]	pinned, being filled; full N SIZE [USE]: there is no room for it
 *	keep N SIZE USE		filled, used so, and let go
 *	fill N, pin N, unpin N, touch N (both), give_up N, fail N (its last pin goes, too)
 *	ask N, ask_ahead N	for one that was not read ahead, or was
 *	serve N FROM SIZE	of it, and more of it is to come; whole N FROM SIZE: that was all
 *	spend N			it was served in full
 *	limit SIZE, epoch N
 *	has N, gone N		it is there, or not
 *	room SLOTS, no_room SLOTS */
#include "cache/pool.h"
#include "tests/unit/story.h"
#include <errno.h>

#define SLOTS	 16u
#define BUDGET	 ((uint64_t)SLOTS * SLOT_BYTES)
#define FOUR	 (4 * SLOT_BYTES) /* four of them fill the pool */
#define IOV_ROOM (SLOTS + 2)

static struct pool_params params_of(uint32_t extent_max, enum policy_choice policy)
{
	return (struct pool_params){
		.budget = BUDGET, .extent_max = extent_max, .extents = 1000, .policy = policy};
}

static struct pool *the_pool;

static int make_pool(void **state, enum policy_choice policy)
{
	const struct pool_params params = params_of(8 * SLOT_BYTES, policy);

	assert_int_equal(pool_new(&params, &the_pool), 0);
	*state = the_pool;
	return 0;
}

static int lru(void **state)
{
	return make_pool(state, POLICY_LRU);
}

static int pin(void **state)
{
	return make_pool(state, POLICY_PIN);
}

static int teardown(void **state)
{
	pool_free(*state);
	return 0;
}

FIXTURE_BY(pool, struct pool, lru, teardown);
FIXTURE_BY(pins, struct pool, pin, teardown);

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
	return extent;
}

static void limit(struct pool *pool, uint64_t bytes)
{
	struct slots_leaving *leaving = pool_limit(pool, bytes);

	pool_hand_back(pool, leaving);
	pool_limited(pool, leaving);
}

/* --- words ----------------------------------------------------------------------------------- */

NUMBER(ahead, 1 + POOL_AHEAD)
NUMBER(due, 1 + POOL_DUE)
NUMBER(used, 1 + POOL_USED)
NUMBER(spent, 1 + POOL_SPENT)
NUMBER(given, 1 + POOL_GIVEN)

/* Of "add", "keep" and "full": the last number, which may be left out. */
static enum pool_use use_of(const uint64_t *n)
{
	return n[2] ? (enum pool_use)(n[2] - 1) : POOL_USED;
}

static struct pool_extent *put(const uint64_t *n, enum pool_use use, int result)
{
	struct pool_extent *extent = NULL;

	assert_int_equal(add_at(the_pool, n[0], 0, (uint32_t)n[1], use, &extent), result);
	assert_int_equal(extent != NULL, result == 0);
	return extent;
}

static struct pool_extent *at(const uint64_t *n)
{
	struct pool_extent *extent = pool_find(the_pool, n[0]);

	assert_non_null(extent);
	return extent;
}

DOES(add, put(n, use_of(n), 0))
DOES(full, put(n, use_of(n), -ENOBUFS))
DOES(fill, pool_filled(at(n)))
DOES(pin, pool_pin(the_pool, at(n)))
DOES(unpin, pool_unpin(the_pool, at(n)))
DOES(ask, assert_false(pool_ask(the_pool, at(n))))
DOES(ask_ahead, assert_true(pool_ask(the_pool, at(n))))
DOES(spend, pool_spend(the_pool, at(n), false))
DOES(serve, assert_false(pool_serve(at(n), (uint32_t)n[1], (uint32_t)n[2])))
DOES(whole, assert_true(pool_serve(at(n), (uint32_t)n[1], (uint32_t)n[2])))
DOES(give_up, pool_give_up(the_pool, n[0]))
DOES(has, at(n))
DOES(gone, assert_null(pool_find(the_pool, n[0])))
DOES(limit, limit(the_pool, n[0]))
DOES(epoch, pool_epoch(the_pool, (uint32_t)n[0]))
DOES(room, assert_true(pool_has_room(the_pool, n[0])))
DOES(no_room, assert_false(pool_has_room(the_pool, n[0])))

DO(keep)
{
	bool spent = pool_is_spent(use_of(n));
	struct pool_extent *extent = put(n, spent ? POOL_USED : use_of(n), 0);

	pool_filled(extent);
	if (spent)
		pool_spend(the_pool, extent, use_of(n) == POOL_GIVEN);
	pool_unpin(the_pool, extent);
}

DO(touch)
{
	do_pin(n);
	do_unpin(n);
}

DO(fail)
{
	struct pool_extent *extent = at(n);

	pool_failed(the_pool, extent, -EIO);
	pool_unpin(the_pool, extent);
}

GET(used, pool_stats(the_pool).used)
GET(held, pool_stats(the_pool).held)
GET(ahead, pool_stats(the_pool).ahead)
GET(due, pool_stats(the_pool).due)
GET(wasted, pool_stats(the_pool).wasted)
GET(evictions, pool_stats(the_pool).evictions)
GET(once, pool_room_for_once(the_pool))

STORY_OF(pool, extents_are_found_by_number_in_any_state,
	 "gone 7; add 7 1S; has 7; fill 7; has 7; unpin 7; has 7; gone 11")

STORY_OF(pool, the_least_recently_used_leaves_first,
	 "keep 0..3 4S used; touch 0; keep 10 4S used; gone 1; has 0; keep 11 8S used; gone 2..3; "
	 "has 0; evictions = 3")

STORY_OF(pool, pins_hold,
	 "keep 0 4S used; pin 0; pin 0; keep 1..99 4S used; has 0; unpin 0; keep 100..199 4S used; "
	 "has 0; unpin 0; keep 200..202 4S used; has 0; keep 203 4S used; gone 0")

/* Not evicted in vain. */
STORY_OF(pool, where_all_is_pinned_there_is_no_room,
	 "add 0..3 4S; fill 0; full 9 1; gone 9; unpin 0; full 9 8S; has 0; add 9 4S; gone 0")

STORY_OF(pool, room_is_what_is_free_or_on_offer,
	 "room 16; no_room 17; add 0 4S+1; room 11; no_room 12; fill 0; no_room 12; unpin 0; "
	 "room 16; pin 0; no_room 16")

STORY_OF(pool, used_is_what_extents_hold,
	 "used = 0; keep 0 1 used; used = 1S; keep 1 1S+1 used; used = 3S; add 2 16S; used = 16S")

/* --- who keeps what was served --------------------------------------------------------------- */

TEST_WITH(pins, pool, what_the_kernel_keeps_is_used_again_before_the_pool_grows)
{
	struct iovec before[IOV_ROOM], after[IOV_ROOM];

	story_play("keep 0 4S used; keep 1 4S given");
	assert_int_equal(pool_iov(pool, pool_find(pool, 1), 0, FOUR, before), 1);
	/* Half of the arena was never used, yet 2 takes over what 1 had. */
	story_play("keep 2 4S used");
	assert_int_equal(pool_iov(pool, pool_find(pool, 2), 0, FOUR, after), 1);
	assert_ptr_equal(before[0].iov_base, after[0].iov_base);
	/* What is only used stays, and the arena grows. The kernel has what left: no loss. */
	story_play(
		"gone 1; used = 8S; held = 8S; keep 3 4S used; has 0; used = 12S; evictions = 0");
}

STORY_OF(pins, an_endless_scan_that_the_kernel_keeps_needs_little_memory,
	 "keep 0..99 3S+1 given; keep 100..199 1 given; keep 200..299 2S+1 given; held <= 8S")

/* The latest leaves: the others were there before it. */
STORY_OF(pins, where_the_pool_keeps_it_grows_before_anything_leaves,
	 "keep 0..3 4S spent; has 0..3; held = 16S; keep 4 4S spent; used = 16S; gone 3; "
	 "evictions = 1")

STORY_OF(pins, what_the_kernel_keeps_leaves_before_what_the_pool_keeps,
	 "keep 0 4S spent; keep 1 4S given; keep 2 4S spent; gone 1; keep 3 4S given; "
	 "keep 4 4S spent; keep 5 4S spent; evictions = 0; has 0; gone 1; has 2; gone 3; has 4..5")

/* Whoever asks for it nevertheless, the kernel has let go of it. */
STORY_OF(pins, what_was_given_and_is_asked_for_again_is_used,
	 "keep 0 4S given; once = 16S; epoch 1; once = 16S; pin 0; ask 0; spend 0; unpin 0; "
	 "epoch 2; once = 12S")

/* Of 0 and 3, 0 is needed sooner. */
STORY_OF(pins, what_is_still_wanted_leaves_last,
	 "keep 0 4S ahead; keep 1 4S used; keep 2 4S spent; keep 3 4S ahead; keep 4 4S used; "
	 "gone 2; keep 5 4S used; gone 3; wasted = 4S; has 1")

/* The oldest is needed soonest. */
STORY_OF(pins, of_what_was_read_ahead_the_latest_leaves_first,
	 "keep 0..1 4S due; keep 2..3 4S ahead; add 10 4S; gone 3; add 11 4S; gone 2; add 12 4S; "
	 "gone 1; has 0")
TEST_AGAIN(pool, of_what_was_read_ahead_the_latest_leaves_first);

/* Which was used since 0 was read. */
STORY_OF(pins, what_is_read_ahead_never_takes_the_room_of_what_was,
	 "keep 0 4S ahead; keep 1..3 4S used; keep 4 4S ahead; has 0; gone 1; wasted = 0")
TEST_AGAIN(pool, what_is_read_ahead_never_takes_the_room_of_what_was);

/* An older use is no reason: lru keeps what was used last, though nobody reads it now. */
STORY_OF(pool, what_was_served_since_stays_before_what_was_read_ahead,
	 "keep 0 4S ahead; keep 1..3 4S spent; keep 4 4S used; gone 0; has 1..3; wasted = 4S")
STORY_OF(pins, what_was_served_leaves_before_what_was_read_ahead,
	 "keep 0 4S ahead; keep 1..3 4S spent; keep 4 4S used; has 0..2; gone 3; wasted = 0")

STORY_OF(pins, what_is_hoped_for_gives_way_to_what_is_known_to_come,
	 "keep 0..3 4S ahead; full 4 4S ahead; keep 4..7 4S due; wasted = 16S; due = 16S; "
	 "full 8 4S ahead; full 8 4S due; keep 8 4S used; due = 12S; ahead = 12S")

STORY_OF(pins, a_spent_one_that_is_read_again_does_not_leave,
	 "keep 0 4S spent; pin 0; keep 1 12S used; keep 2 4S used; gone 1; has 0")

/* --- room for what everything is read once for ----------------------------------------------- */

/* Pinned until then. */
STORY_OF(pins, room_for_once_is_all_but_what_this_epoch_may_still_want,
	 "once = 16S; keep 0 4S ahead; once = 12S; keep 1 4S spent; once = 12S; keep 2 1S used; "
	 "once = 11S; add 3 1S; once = 10S; fill 3; spend 3; once = 10S; unpin 3; once = 11S")

/* Of the second reading it is served nothing at first; and it comes in two requests. */
STORY_OF(pins, what_is_asked_for_anew_is_wanted_again,
	 "keep 0 4S spent; whole 0 0 4S; pin 0; ask 0; serve 0 0 2S; ask 0; whole 0 2S 2S; "
	 "unpin 0; once = 12S")

/* Readers of the same beginning have not seen the end. A part of a page does not count. */
TEST_WITH(pins, pool, only_ranges_make_a_whole)
{
	struct pool_extent *extent = add(pool, 0, 5 * CACHE_PAGE + 7);

	for (int reader = 0; reader < 3; reader++)
		assert_false(pool_serve(extent, 0, 4 * CACHE_PAGE));
	assert_false(pool_serve(extent, 5 * CACHE_PAGE, 7));
	assert_false(pool_serve(extent, 4 * CACHE_PAGE, 100));
	assert_true(pool_serve(extent, 3 * CACHE_PAGE, 2 * CACHE_PAGE));
	assert_true(pool_serve(extent, 0, 1));
}

/* One that is touched is not read to its end. The latest spent one leaves first. */
STORY_OF(pins, a_new_epoch_may_want_all_that_the_last_one_was_done_with,
	 "keep 0..1 4S spent; epoch 0; once = 16S; epoch 1; once = 8S; touch 0; once = 8S; pin 0; "
	 "spend 0; unpin 0; once = 12S; add 2 12S; has 1; once = 0")

STORY_OF(pins, one_that_two_read_is_passed_when_both_let_go,
	 "keep 0 4S used; pin 0; pin 0; spend 0; unpin 0; once = 12S; unpin 0; once = 16S; "
	 "touch 0; touch 0; once = 16S")

/* --- limits ---------------------------------------------------------------------------------- */

TEST_OF(pool, a_lower_limit_gives_memory_back_and_is_kept)
{
	story_play("keep 0..3 4S used; held = 16S; limit 8S; used = 8S; held = 8S; gone 1; has 2");
	assert_int_equal(pool_stats(pool).limit, 2 * FOUR);
	for (int i = 0; i < 5; i++)
		story_play(
			"keep 10 4S used; held <= 8S; keep 11 4S spent; held <= 8S; "
			"keep 12 8S used; held <= 8S");
	story_play("no_room 9; room 8");
	assert_int_equal(pool_stats(pool).budget, BUDGET);
}

STORY_OF(pool, a_lower_limit_takes_what_is_free_first,
	 "add 9 8S; keep 0 8S used; fail 9; held = 16S; limit 8S; held = 8S; has 0")

/* The memory is taken when it is needed. */
STORY_OF(pins, a_limit_that_is_raised_again_lets_the_pool_grow,
	 "keep 0..3 4S spent; limit 4S; once = 4S; limit 1600S; held = 4S; keep 10..12 4S used; "
	 "used = 16S; held = 16S; has 10..12; no_room 17")

STORY_OF(pool, a_limit_waits_for_what_is_pinned,
	 "add 0 8S; fill 0; keep 1 8S used; limit 4S; gone 1; used = 8S; held = 8S; once = 0; "
	 "no_room 1; full 2 1; unpin 0; room 4; keep 2 1 used; used = 1S; limit 4S; held = 4S")

/* --- failures -------------------------------------------------------------------------------- */

TEST(a_budget_below_two_extents_is_refused)
{
	const struct pool_params params = params_of(9 * SLOT_BYTES, POLICY_LRU);
	struct pool *pool = NULL;

	assert_int_equal(pool_new(&params, &pool), -EINVAL);
	assert_null(pool);
}

TEST_OF(pool, a_failed_extent_is_out_of_sight_and_goes_with_its_last_pin)
{
	struct pool_extent *failed = add(pool, 5, FOUR);

	pool_pin(pool, failed);
	pool_failed(pool, failed, -EIO);
	assert_int_equal(failed->state, POOL_FAILED);
	assert_int_equal(failed->error, -EIO);
	story_play("gone 5; add 5 4S; used = 8S"); /* the next reader tries again, beside it */
	pool_unpin(pool, failed);
	assert_int_equal(failed->state, POOL_FAILED); /* one pin is left */
	story_play("used = 8S");
	pool_unpin(pool, failed);
	story_play("used = 4S; has 5; evictions = 0");
}

/* What the kernel keeps is no loss. */
STORY_OF(pins, what_was_read_ahead_in_vain_is_counted,
	 "keep 0 3S+16383 ahead; keep 1 4S given; keep 2 8S used; add 3 16S; wasted = 3S+16383; "
	 "evictions = 2")

/* What is still read is left alone. */
STORY_OF(pins, what_was_read_ahead_and_is_given_up_makes_room,
	 "keep 0 4S due; keep 1 4S used; add 2 1S due; give_up 0..3; wasted = 4S; due = 1S; has 0; "
	 "fail 2")

/* Somebody asked for the other one. */
STORY_OF(pool, what_was_read_ahead_and_failed_is_wasted_too,
	 "add 0 1S ahead; fail 0; wasted = 1S; add 1 1S; fail 1; wasted = 1S")

STORY_OF(pool, what_is_ahead_is_counted_in_memory_until_somebody_asks,
	 "add 0 1 ahead; add 1 1S+1 ahead; add 2 4S ahead; ahead = 7S; ask_ahead 0; ask 0; "
	 "ahead = 6S; fail 1; ahead = 4S; fill 2; unpin 2; add 3 12S; ahead = 0")

/* A job that was read ahead for has ended; others miss twice as much as there is memory. */
STORY_OF(pins, what_was_read_ahead_for_nobody_makes_room,
	 "keep 0..2 4S ahead; keep 10..17 4S spent; ahead = 12S; once = 4S; keep 20 4S spent; "
	 "ahead = 0; once = 16S; wasted = 12S")

STORY_OF(pins, what_is_asked_for_now_and_then_is_not_given_up,
	 "keep 0..2 4S ahead; keep 10..15 4S spent; ask_ahead 0; keep 16..21 4S spent; ahead = 8S")

/* --- where the bytes are --------------------------------------------------------------------- */

static uint32_t bytes_of(const struct iovec *iov, int count)
{
	size_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return (uint32_t)bytes;
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

#define HOLES "add 0..15 1S; fail 0; fail 2; fail 4; fail 6; fail 8; fail 10; fail 12; fail 14"

TEST_OF(pool, pieces_that_lie_apart_stay_apart)
{
	struct pool_extent *extent;
	struct iovec iov[IOV_ROOM];

	story_play(HOLES);
	extent = add(pool, 100, FOUR - 1);
	assert_int_equal(pool_iov(pool, extent, 0, extent->is.size, iov), 4);
	assert_int_equal(iov[3].iov_len, SLOT_BYTES - 1);
	assert_int_equal(pool_iov(pool, extent, SLOT_BYTES - 1, 2, iov), 2);
	assert_int_equal(iov[0].iov_len, 1);
	assert_int_equal(iov[1].iov_len, 1);
	assert_int_equal(pool_iov(pool, extent, SLOT_BYTES + 5, SLOT_BYTES - 5, iov), 1);
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
	story_play("used = 8S");
}

/* All pages of the extent, scattered over slots, and its bytes within them: it begins with the page
 * of the file that it begins in. */
TEST_OF(pool, pages_and_bytes_are_the_same_memory)
{
	struct iovec pages[IOV_ROOM], bytes[IOV_ROOM];
	const uint32_t size = 4 * SLOT_BYTES - 100;
	struct pool_extent *extent;
	int count;

	story_play(HOLES);
	assert_int_equal(add_at(pool, 100, 77 * CACHE_PAGE + 200, size, POOL_USED, &extent), 0);
	count = pool_iov_pages(pool, extent, 0, 5 * SLOT_BYTES, pages);
	assert_int_equal(count, 5);
	for (int i = 0; i < count; i++) {
		assert_int_equal((uintptr_t)pages[i].iov_base % CACHE_PAGE, 0);
		memset(pages[i].iov_base, '1' + i, pages[i].iov_len);
	}
	count = pool_iov(pool, extent, 0, size, bytes);
	assert_int_equal(count, 5);
	assert_int_equal(bytes_of(bytes, count), size);
	assert_ptr_equal(bytes[0].iov_base, (char *)pages[0].iov_base + 200);
	for (int i = 0; i < count; i++)
		assert_int_equal(*(char *)bytes[i].iov_base, '1' + i);
	assert_int_equal(bytes[4].iov_len, 100);
	assert_int_equal(pool_iov(pool, extent, 100, 7, bytes), 1);
	assert_ptr_equal(bytes[0].iov_base, (char *)pages[0].iov_base + 300);
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
