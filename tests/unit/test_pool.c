/* The extents in memory: cache/pool.h. Most tests are traces. In these, sizes and sums are in
 * slots, of which there are 16; "4+1" is a byte more than four, "4-1" one less.
 *
 *	add N SIZE [USE]	pinned, being filled; full N SIZE [USE]: there is no room for it
 *	keep N SIZE USE		filled, used so, and let go
 *	fill N, pin N, unpin N, touch N (both), give-up N, fail N (its last pin goes, too)
 *	ask N, ask-ahead N	for one that was not read ahead, or was
 *	serve N FROM SIZE	of it, and more of it is to come; whole N FROM SIZE: that was all
 *	spend N			it was served in full
 *	limit S, epoch N
 *	has N, gone N		it is there, or not
 *	used S, held S, most S (held at most), ahead S, due S, once S, wasted SIZE, evictions N
 *	room S, no-room S
 *
 * N is a number, or several as 0..3. */
#include "cache/pool.h"
#include "tests/unit/trace.h"
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

static struct pool *pool_of(enum policy_choice policy)
{
	const struct pool_params params = params_of(8 * SLOT_BYTES, policy);
	struct pool *pool;

	assert_int_equal(pool_new(&params, &pool), 0);
	return pool;
}

static int lru(void **state)
{
	*state = pool_of(POLICY_LRU);
	return 0;
}

static int pin(void **state)
{
	*state = pool_of(POLICY_PIN);
	return 0;
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

/* --- traces ---------------------------------------------------------------------------------- */

static uint32_t trace_size(struct trace *trace)
{
	return (uint32_t)trace_sum(trace, SLOT_BYTES);
}

/* The one at the end of a word may be left out. */
static enum pool_use trace_use(struct trace *trace)
{
	static const char *const uses[] = {"ahead", "due", "used", "spent", "given", NULL};

	return (enum pool_use)trace_choice(trace, uses, POOL_USED);
}

/* Of a keep or an add. */
struct addition {
	uint32_t size;
	enum pool_use use;
	int result;
	bool keeps;
};

static void add_one(struct pool *pool, uint64_t number, const struct addition *addition)
{
	bool spent = pool_is_spent(addition->use);
	struct pool_extent *extent = NULL;

	assert_int_equal(
		add_at(pool, number, 0, addition->size, spent ? POOL_USED : addition->use, &extent),
		addition->result);
	assert_int_equal(extent != NULL, addition->result == 0);
	if (!addition->keeps)
		return;
	pool_filled(extent);
	if (spent)
		pool_spend(pool, extent, addition->use == POOL_GIVEN);
	pool_unpin(pool, extent);
}

static void do_to(struct trace *trace, struct pool *pool, struct pool_extent *extent)
{
	assert_non_null(extent);
	if (trace_is(trace, "pin") || trace_is(trace, "touch"))
		pool_pin(pool, extent);
	if (trace_is(trace, "ask") || trace_is(trace, "ask-ahead"))
		assert_int_equal(pool_ask(pool, extent), trace_is(trace, "ask-ahead"));
	if (trace_is(trace, "fill"))
		pool_filled(extent);
	if (trace_is(trace, "spend"))
		pool_spend(pool, extent, false);
	if (trace_is(trace, "fail"))
		pool_failed(pool, extent, -EIO);
	if (trace_is(trace, "fail") || trace_is(trace, "unpin") || trace_is(trace, "touch"))
		pool_unpin(pool, extent);
}

static void do_to_each(struct trace *trace, struct pool *pool)
{
	struct trace_range range = trace_range(trace);

	for (uint64_t number = range.first; number <= range.last; number++) {
		struct pool_extent *extent = pool_find(pool, number);

		if (trace_is(trace, "has"))
			assert_non_null(extent);
		else if (trace_is(trace, "gone"))
			assert_null(extent);
		else if (trace_is(trace, "give-up"))
			pool_give_up(pool, number);
		else
			do_to(trace, pool, extent);
	}
}

static void add_each(struct trace *trace, struct pool *pool)
{
	struct addition addition = {.result = trace_is(trace, "full") ? -ENOBUFS : 0,
				    .keeps = trace_is(trace, "keep")};
	struct trace_range range = trace_range(trace);

	addition.size = trace_size(trace);
	addition.use = trace_use(trace);
	for (uint64_t number = range.first; number <= range.last; number++)
		add_one(pool, number, &addition);
}

static void serve(struct trace *trace, struct pool *pool)
{
	struct pool_extent *extent = pool_find(pool, trace_number(trace));
	uint32_t from = trace_size(trace);

	assert_int_equal(pool_serve(extent, from, trace_size(trace)), trace_is(trace, "whole"));
}

static void run(struct pool *pool, const char *text)
{
	struct trace trace = trace_begin(text);

	while (trace_next(&trace)) {
		const struct pool_stats stats = pool_stats(pool);
		const struct trace_sum sums[] = {
			{"used", stats.used},
			{"held", stats.held},
			{"ahead", stats.ahead},
			{"due", stats.due},
			{"wasted", stats.wasted},
			{"once", pool_room_for_once(pool)},
			{"evictions", stats.evictions * SLOT_BYTES},
			{NULL, 0},
		};

		if (trace_equals(&trace, sums, SLOT_BYTES))
			continue;
		if (trace_is(&trace, "add") || trace_is(&trace, "keep") || trace_is(&trace, "full"))
			add_each(&trace, pool);
		else if (trace_is(&trace, "serve") || trace_is(&trace, "whole"))
			serve(&trace, pool);
		else if (trace_is(&trace, "most"))
			assert_true(stats.held <= trace_size(&trace));
		else if (trace_is(&trace, "limit"))
			limit(pool, trace_size(&trace));
		else if (trace_is(&trace, "epoch"))
			pool_epoch(pool, (uint32_t)trace_number(&trace));
		else if (trace_is(&trace, "room"))
			assert_true(pool_has_room(pool, trace_number(&trace)));
		else if (trace_is(&trace, "no-room"))
			assert_false(pool_has_room(pool, trace_number(&trace)));
		else
			do_to_each(&trace, pool);
	}
}

#define TRACE(fixture, name, text)     \
	TEST_WITH(fixture, pool, name) \
	{                              \
		run(pool, text);       \
	}                              \
	_Static_assert(1, "")

TRACE(pool, extents_are_found_by_number_in_any_state,
      "gone 7; add 7 1; has 7; fill 7; has 7; unpin 7; has 7; gone 11"); /* in the same bucket */

TRACE(pool, the_least_recently_used_leaves_first,
      "keep 0..3 4 used; touch 0; keep 10 4 used; gone 1; has 0;"
      "keep 11 8 used; gone 2..3; has 0; evictions 3");

TRACE(pool, pins_hold,
      "keep 0 4 used; pin 0; pin 0; keep 1..99 4 used; has 0; unpin 0; keep 100..199 4 used; has 0;"
      "unpin 0; keep 200..202 4 used; has 0; keep 203 4 used; gone 0");

TRACE(pool, where_all_is_pinned_there_is_no_room,
      "add 0..3 4; fill 0; full 9 0+1; gone 9;"
      "unpin 0; full 9 8; has 0; add 9 4; gone 0"); /* not evicted in vain */

TRACE(pool, room_is_what_is_free_or_on_offer,
      "room 16; no-room 17; add 0 4+1; room 11; no-room 12; fill 0; no-room 12;"
      "unpin 0; room 16; pin 0; no-room 16");

TRACE(pool, used_is_what_extents_hold,
      "used 0; keep 0 0+1 used; used 1; keep 1 1+1 used; used 3; add 2 16; used 16");

/* --- who keeps what was served --------------------------------------------------------------- */

TEST_WITH(pins, pool, what_the_kernel_keeps_is_used_again_before_the_pool_grows)
{
	struct iovec before[IOV_ROOM], after[IOV_ROOM];

	run(pool, "keep 0 4 used; keep 1 4 given");
	assert_int_equal(pool_iov(pool, pool_find(pool, 1), 0, FOUR, before), 1);
	/* Half of the arena was never used, yet 2 takes over what 1 had. */
	run(pool, "keep 2 4 used");
	assert_int_equal(pool_iov(pool, pool_find(pool, 2), 0, FOUR, after), 1);
	assert_ptr_equal(before[0].iov_base, after[0].iov_base);
	/* What is only used stays, and the arena grows. The kernel has what left: no loss. */
	run(pool, "gone 1; used 8; held 8; keep 3 4 used; has 0; used 12; evictions 0");
}

TRACE(pins, an_endless_scan_that_the_kernel_keeps_needs_little_memory,
      "keep 0..99 3+1 given; keep 100..199 0+1 given; keep 200..299 2+1 given; most 8");

/* The latest leaves: the others were there before it. */
TRACE(pins, where_the_pool_keeps_it_grows_before_anything_leaves,
      "keep 0..3 4 spent; has 0..3; held 16; keep 4 4 spent; used 16; gone 3; evictions 1");

TRACE(pins, what_the_kernel_keeps_leaves_before_what_the_pool_keeps,
      "keep 0 4 spent; keep 1 4 given; keep 2 4 spent; gone 1; keep 3 4 given;"
      "keep 4 4 spent; keep 5 4 spent; evictions 0; has 0; gone 1; has 2; gone 3; has 4..5");

/* Whoever asks for it nevertheless, the kernel has let go of it. */
TRACE(pins, what_was_given_and_is_asked_for_again_is_used,
      "keep 0 4 given; once 16; epoch 1; once 16; pin 0; ask 0; spend 0; unpin 0; epoch 2; once "
      "12");

/* Of 0 and 3, 0 is needed sooner. */
TRACE(pins, what_is_still_wanted_leaves_last,
      "keep 0 4 ahead; keep 1 4 used; keep 2 4 spent; keep 3 4 ahead; keep 4 4 used; gone 2;"
      "keep 5 4 used; gone 3; wasted 4; has 1");

/* The oldest is needed soonest. */
TRACE(pins, of_what_was_read_ahead_the_latest_leaves_first,
      "keep 0..1 4 due; keep 2..3 4 ahead; add 10 4; gone 3; add 11 4; gone 2; add 12 4; gone 1; "
      "has 0");
TEST_AGAIN(pool, of_what_was_read_ahead_the_latest_leaves_first);

TRACE(pins, what_is_hoped_for_gives_way_to_what_is_known_to_come,
      "keep 0..3 4 ahead; full 4 4 ahead; keep 4..7 4 due; wasted 16; due 16;"
      "full 8 4 ahead; full 8 4 due; keep 8 4 used; due 12; ahead 12");

TRACE(pins, a_spent_one_that_is_read_again_does_not_leave,
      "keep 0 4 spent; pin 0; keep 1 12 used; keep 2 4 used; gone 1; has 0");

/* --- room for what everything is read once for ----------------------------------------------- */

TRACE(pins, room_for_once_is_all_but_what_this_epoch_may_still_want,
      "once 16; keep 0 4 ahead; once 12; keep 1 4 spent; once 12; keep 2 1 used; once 11;"
      "add 3 1; once 10; fill 3; spend 3; once 10; unpin 3; once 11"); /* pinned until then */

/* Of the second reading it is served nothing at first; and it comes in two requests. */
TRACE(pins, what_is_asked_for_anew_is_wanted_again,
      "keep 0 4 spent; whole 0 0 4; pin 0; ask 0; serve 0 0 2; ask 0; whole 0 2 2; unpin 0; once "
      "12");

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
TRACE(pins, a_new_epoch_may_want_all_that_the_last_one_was_done_with,
      "keep 0..1 4 spent; epoch 0; once 16; epoch 1; once 8; touch 0; once 8;"
      "pin 0; spend 0; unpin 0; once 12; add 2 12; has 1; once 0");

TRACE(pins, one_that_two_read_is_passed_when_both_let_go,
      "keep 0 4 used; pin 0; pin 0; spend 0; unpin 0; once 12; unpin 0; once 16;"
      "touch 0; touch 0; once 16");

/* --- limits ---------------------------------------------------------------------------------- */

TEST_OF(pool, a_lower_limit_gives_memory_back_and_is_kept)
{
	run(pool, "keep 0..3 4 used; held 16; limit 8; used 8; held 8; gone 1; has 2");
	assert_int_equal(pool_stats(pool).limit, 2 * FOUR);
	for (int i = 0; i < 5; i++)
		run(pool,
		    "keep 10 4 used; most 8; keep 11 4 spent; most 8; keep 12 8 used; most 8");
	run(pool, "no-room 9; room 8");
	assert_int_equal(pool_stats(pool).budget, BUDGET);
}

TRACE(pool, a_lower_limit_takes_what_is_free_first,
      "add 9 8; keep 0 8 used; fail 9; held 16; limit 8; held 8; has 0");

/* The memory is taken when it is needed. */
TRACE(pins, a_limit_that_is_raised_again_lets_the_pool_grow,
      "keep 0..3 4 spent; limit 4; once 4; limit 1600; held 4; keep 10..12 4 used;"
      "used 16; held 16; has 10..12; no-room 17");

TRACE(pool, a_limit_waits_for_what_is_pinned,
      "add 0 8; fill 0; keep 1 8 used; limit 4; gone 1; used 8; held 8; once 0; no-room 1;"
      "full 2 0+1; unpin 0; room 4; keep 2 0+1 used; used 1; limit 4; held 4");

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
	run(pool, "gone 5; add 5 4; used 8"); /* the next reader tries again, beside it */
	pool_unpin(pool, failed);
	assert_int_equal(failed->state, POOL_FAILED); /* one pin is left */
	run(pool, "used 8");
	pool_unpin(pool, failed);
	run(pool, "used 4; has 5; evictions 0");
}

/* What the kernel keeps is no loss. */
TRACE(pins, what_was_read_ahead_in_vain_is_counted,
      "keep 0 4-1 ahead; keep 1 4 given; keep 2 8 used; add 3 16; wasted 4-1; evictions 2");

/* What is still read is left alone. */
TRACE(pins, what_was_read_ahead_and_is_given_up_makes_room,
      "keep 0 4 due; keep 1 4 used; add 2 1 due; give-up 0..3; wasted 4; due 1; has 0; fail 2");

/* Somebody asked for the other one. */
TRACE(pool, what_was_read_ahead_and_failed_is_wasted_too,
      "add 0 1 ahead; fail 0; wasted 1; add 1 1; fail 1; wasted 1");

TRACE(pool, what_is_ahead_is_counted_in_memory_until_somebody_asks,
      "add 0 0+1 ahead; add 1 1+1 ahead; add 2 4 ahead; ahead 7; ask-ahead 0; ask 0; ahead 6;"
      "fail 1; ahead 4; fill 2; unpin 2; add 3 12; ahead 0");

/* A job that was read ahead for has ended; others miss twice as much as there is memory. */
TRACE(pins, what_was_read_ahead_for_nobody_makes_room,
      "keep 0..2 4 ahead; keep 10..17 4 spent; ahead 12; once 4;"
      "keep 20 4 spent; ahead 0; once 16; wasted 12");

TRACE(pins, what_is_asked_for_now_and_then_is_not_given_up,
      "keep 0..2 4 ahead; keep 10..15 4 spent; ask-ahead 0; keep 16..21 4 spent; ahead 8");

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

#define HOLES "add 0..15 1; fail 0; fail 2; fail 4; fail 6; fail 8; fail 10; fail 12; fail 14"

TEST_OF(pool, pieces_that_lie_apart_stay_apart)
{
	struct pool_extent *extent;
	struct iovec iov[IOV_ROOM];

	run(pool, HOLES);
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
	run(pool, "used 8");
}

/* All pages of the extent, scattered over slots, and its bytes within them: it begins with the page
 * of the file that it begins in. */
TEST_OF(pool, pages_and_bytes_are_the_same_memory)
{
	struct iovec pages[IOV_ROOM], bytes[IOV_ROOM];
	const uint32_t size = 4 * SLOT_BYTES - 100;
	struct pool_extent *extent;
	int count;

	run(pool, HOLES);
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
