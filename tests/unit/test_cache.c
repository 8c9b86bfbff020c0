/* Requests: who waits for what, and who is answered with what: cache/cache.h. What is read ahead
 * of them is test_ahead.c's, and how a fill lays its bytes test_fill.c's. In stories:
 *
 *	lay N SIZE			so many extents, one after the other
 *	share SIZE			that the kernel keeps; before the start
 *	start THREADS READAHEAD		shut THREADS: slow, and I/O threads wait at the gate
 *	slow, close, open		fills are for the I/O threads; the gate
 *	patient				who asks from now on may wait for a slow device
 *	gate N				waits until so many are there
 *	ask C E [FROM SIZE]		call C asks for an extent, or for this from there on
 *	killed C E			the same, and whoever asks is gone
 *	answers N			waits for so many
 *	right C, refused C ERROR, none C	what came, once; nothing came
 *	cancel C, in_vain C		it is taken back, or cannot be
 *	give_up SECONDS N		those that wait so long are, so many
 *	read E [FROM SIZE], whole E	asks and waits for right bytes; and until it is let go
 *	fails E ERROR			asks, and it does
 *	hold H E, let H			a reader that takes long to take its answer
 *	bad E, good E, stale, fresh	the check refuses it; the file has changed
 *	kept E, lost E			readers keep the file
 *	told E N			the kernel is told so often to drop it: waits for that
 *	failed E N, may_drop E, stays E */
#include "base/clock.h"
#include "cache/ahead.h"
#include "tests/unit/cache_fixture.h"
#include "tests/unit/story.h"

/* --- words ----------------------------------------------------------------------------------- */

NUMBER(EINTR, -EINTR)
NUMBER(ESTALE, -ESTALE)
NUMBER(EBADMSG, -EBADMSG)
NUMBER(ENODATA, -ENODATA)
NUMBER(ETIMEDOUT, -ETIMEDOUT)

static struct cache_stats stats_now(void)
{
	return ways.world->cache ? stats_of(ways.world) : (struct cache_stats){0};
}

GET(hits, stats_now().hits)
GET(misses, stats_now().misses)
GET(touched, stats_now().hits + stats_now().misses)
GET(reads, stats_now().device_reads)
GET(served, stats_now().served_bytes)
GET(distinct, stats_now().distinct_bytes)
GET(evictions, stats_now().evictions)
GET(bad_extents, stats_now().bad_extents)
GET(waited, stats_now().wait_reads)
GET(parked, stats_now().parked)
GET(given_up, stats_now().given_up)
GET(resident, stats_now().resident)
GET(resident_limit, stats_now().resident_limit)
GET(used, stats_now().used)
GET(issued, stats_now().prefetch_issued)

DO(lay)
{
	for (uint64_t i = 0; i < n[0]; i++)
		lay(ways.world, 0, n[1]);
}

static void start_after_laying(unsigned threads, uint64_t readahead, bool slow)
{
	struct world *w = ways.world;

	if (!w->image)
		write_file(w);
	w->slow = w->closed = slow;
	start(w, readahead, threads);
}

DOES(share, ways.world->share = n[0])
DOES(start, start_after_laying((unsigned)n[0], n[1], false))
DOES(shut, start_after_laying((unsigned)n[0], 0, true))
DOES(stop, cache_stop(ways.world->cache))
DOES(cut, assert_int_equal(ftruncate(ways.world->fd, (off_t)n[0]), 0))
DOES(slow, ways.world->slow = true)
DOES(patient, ways.world->patient = true)
DOES(open, set_gate(ways.world, false))
DOES(close, set_gate(ways.world, true))
DOES(gate, wait_at_gate(ways.world, (unsigned)n[0]))
DOES(answers, wait_answers(ways.world, (unsigned)n[0]))
DOES(stale, ways.world->stale = true)
DOES(fresh, ways.world->stale = false)
DOES(give_up, assert_int_equal(cache_give_up(ways.world->cache, n[0] * CLOCK_SECOND), n[1]))
DOES(hold, hold(&ways.world->holders[n[0]], ways.world, n[1]))
DOES(let, let_go_of(&ways.world->holders[n[0]]))

static struct call *call_of(const uint64_t *n)
{
	return &ways.world->calls[n[0]];
}

static bool is_killed(void *arg)
{
	(void)arg;
	return true;
}

/* Each of a range asks for the next extent. */
DO(ask)
{
	uint64_t extent = n[1] + story_nth, size = ways.world->sizes[extent];

	ask(call_of(n), ways.world, extent, (uint32_t)n[2],
	    (uint32_t)(story_given > 2 ? n[3] : size));
}

DO(killed)
{
	struct call *call = call_of(n);
	struct cache_request request = {.extent = n[1],
					.size = ways.world->sizes[n[1]],
					.done = on_done,
					.gone = is_killed,
					.arg = call};

	*call = (struct call){.world = ways.world, .extent = n[1], .size = request.size};
	cache_read(ways.world->cache, &request);
}

DOES(right, assert_right(call_of(n)))
DOES(refused, assert_refused(call_of(n), (int)n[1]))
DOES(none, assert_int_equal(call_of(n)->done, 0))
DOES(cancel, assert_true(cache_cancel(ways.world->cache, call_of(n))))
DOES(in_vain, assert_false(cache_cancel(ways.world->cache, call_of(n))))

DO(read)
{
	uint64_t size = story_given > 1 ? n[2] : ways.world->sizes[n[0]];

	read_right(ways.world, n[0], (uint32_t)n[1], (uint32_t)size);
}

static void read_whole(struct world *w, uint64_t extent)
{
	read_all_of(w, extent);
	assert_true(poll_until(is_let_go(w, extent)));
}

DOES(whole, read_whole(ways.world, n[0]))
DOES(fails, read_refused(ways.world, n[0], (int)n[1]))
DOES(bad, ways.world->bad[n[0]] = true)
DOES(good, ways.world->bad[n[0]] = false)
DOES(kept, cache_kept(ways.world->cache, n[0], true))
DOES(lost, cache_kept(ways.world->cache, n[0], false))
DOES(told, assert_true(poll_until(ways.world->told[n[0]] == n[1])))
DOES(failed, assert_int_equal(ways.world->failed[n[0]], n[1]))
DOES(may_drop, assert_true(poll_until(cache_may_drop(ways.world->cache, n[0]))))
DOES(stays, assert_false(cache_may_drop(ways.world->cache, n[0])))

/* --- life ----------------------------------------------------------------------------------------
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

/* --- bytes ---------------------------------------------------------------------------------------
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

TEST_OF(w, a_scan_and_a_shuffled_reader_get_their_bytes_in_every_way)
{
	lay_mixed(w, 12 * MIB);
	read_in_all_ways(w, read_there_and_back);
	read_in_all_ways(w, read_shuffled);
}

/* A byte of the first and of the third; to the very end; not a byte of the next. */
STORY_OF(w, requests_span_two_and_three_extents,
	 "lay 4 1M; lay 1 1000; start 2 0; read 0 1048575 2; read 0 1048575 1M+2; read 1 0 3M; "
	 "read 2 5 2M+995; read 3 978576 70999; read 3 1048575 1; touched = 14")

STORY_OF(w, a_request_for_nothing_is_answered, "lay 2 100; start 1 0; read 1 0 0")

/* --- sharing and counting ------------------------------------------------------------------- */

STORY_OF(w, several_waiters_share_one_read,
	 "lay 4 100000; shut 4; ask 0 2 0 5000; ask 1 2 1000 5000; ask 2 2 2000 5000; "
	 "ask 3 2 9000 1; gate 1; none 0..3; open; answers 4; stop; right 0..3; reads = 1; "
	 "misses = 4; waited = 4")

STORY_OF(w, who_may_wait_reads_in_its_own_thread,
	 "lay 2 100000; start 2 0; slow; patient; ask 0 0; right 0; ask 1 1; right 1; stop; "
	 "reads = 2")

STORY_OF(w, who_may_wait_does_not_where_another_read_is_under_way,
	 "lay 3 100000; shut 4; ask 0 0; gate 1; patient; ask 1 1; gate 2; ask 2 2; gate 3; "
	 "none 0..2; open; answers 3; stop; right 0..2; reads = 3")

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

/* The kernel would not have asked again. */
TEST_OF(w, what_was_served_in_full_makes_room_first)
{
	story_play(
		"lay 10 100000; start 2 0; whole 0..9; whole 0..9; stop; misses = 20; "
		"evictions = 0; served = 2000000; distinct = 1000000");
	assert_int_equal(stats_of(w).used, slot_bytes(w, 9, 10));
}

STORY_OF(w, an_extent_is_distinct_when_all_of_it_was_served,
	 "lay 2 100000; start 2 0; read 0 0 50000; distinct = 0; read 0 50000 50000; stop; "
	 "distinct = 100000")

/* All missing; all there. */
TEST_OF(w, the_kernel_s_copy_is_dropped_after_the_answer)
{
	story_play(
		"lay 4 1M; share 0; start 2 0; ask 0 0 1048571 1M+10; answers 1; right 0; "
		"told 0..2 1; ask 1 0 1048571 1M+10; answers 2; right 1; told 0..2 2; told 3 0");
	for (unsigned round = 0; round < 2; round++)
		assert_int_equal(w->calls[round].told, round);
}

STORY_OF(w, io_threads_have_it_dropped_too,
	 "lay 4 100000; share 0; shut 2; ask 0 1; ask 1 1; ask 2 1; open; answers 3; stop; "
	 "told 1 3; told 0 0")

/* The kernel may have had what it asked for in part. */
STORY_OF(w, what_failed_is_dropped_as_well,
	 "lay 4 1M; bad 1; share 0; start 2 0; ask 0 0 0 2M; answers 1; refused 0 EBADMSG; stop; "
	 "told 0..1 1; told 2..3 0")

/* In the end the kernel, though it should have it, asks again. */
STORY_OF(w, what_the_kernel_is_to_keep_stays_with_it,
	 "lay 6 100000; share 300K; start 2 0; whole 0..5; told 0..2 0; told 3..5 1; stays 0..2; "
	 "may_drop 3..5; resident = 300K; whole 1; told 1 1; resident = 200K; "
	 "resident_limit = 200K")

/* They keep the first three, and let go of one again. */
TEST_OF(w, what_readers_keep_takes_no_memory_beside_that)
{
	story_play(
		"lay 6 100000; share 0; start 2 0; whole 0; kept 0; whole 1; kept 1; whole 2; "
		"kept 2; whole 3..5; lost 2");
	assert_int_equal(stats_of(w).used, slot_bytes(w, 3, 6));
	story_play("whole 2; misses = 7");
}

/* A header is read, then the rest: nothing of it was let go of in between. */
TEST_OF(w, what_is_read_in_pieces_is_kept_once)
{
	story_play(
		"lay 2 100000; share 100K; start 2 0; read 0 0 16K; read 0 0 16K; read 0 16K "
		"83616");
	assert_true(poll_until(is_let_go(w, 0)));
	story_play("told 0 0; resident = 100K");
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

/* --- who waits ----------------------------------------------------------------------------------
 */

/* Eight take all the memory. */
STORY_OF(w, who_was_killed_before_waiting_does_not_wait,
	 "lay 20 1M; shut 2; killed 0 0; refused 0 EINTR; ask 1..8 0; killed 20 15; "
	 "refused 20 EINTR; parked = 8; open; answers 10; right 1..8")

/* While storage hangs nothing is delivered, and yet it shows. Some starve. */
TEST_OF(w, who_waits_now_is_counted_now)
{
	story_play("lay 20 1M; shut 2; parked = 0; ask 0..11 0; parked = 12; waited = 0");
	assert_true(poll_until(stats_of(w).oldest_wait_ms > 20));
	story_play("open; answers 12; parked = 0");
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

/* A cable is put back in the end. */
STORY_OF(w, a_bad_extent_fails_for_its_readers_only,
	 "lay 20 100000; bad 7; start 2 0; read 0..6; fails 7 EBADMSG; read 8..19; failed 7 1; "
	 "bad_extents = 1; good 7; read 7; stop; bad_extents = 1; served = 2000000")

STORY_OF(w, a_request_with_a_bad_part_fails_and_serves_nothing,
	 "lay 3 1M; bad 1; start 2 0; ask 0 0 0 3M; answers 1; stop; refused 0 EBADMSG; "
	 "served = 0; distinct = 0")

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

/* What is here was right when it came. */
STORY_OF(w, a_source_that_changed_is_not_read,
	 "lay 10 100000; start 2 1M; read 0 0 50000; stale; fails 5 ESTALE; read 0 50000 50000; "
	 "fresh; read 5; stop")

/* Also those are right that are in a run with the cut. */
TEST_OF(w, a_file_truncated_underneath_fails_from_there_on)
{
	story_play(
		"lay 60 100000; start 2 1M; cut 3000005; read 0..29; fails 30..59 ENODATA; stop; "
		"failed 0..29 0");
	assert_true(stats_of(w).device_errors >= 30);
	for (uint64_t e = 30; e < 60; e++)
		assert_true(w->failed[e] > 0);
}

/* The kernel holds pages of it for the answer: to wait for these would be to wait for the device.
 */
STORY_OF(w, what_a_parked_request_reads_of_is_not_dropped,
	 "lay 4 1M; start 2 0; whole 0; may_drop 0; slow; close; ask 0 0 5 1M; gate 1; stays 0..1; "
	 "may_drop 2; open; answers 2; right 0; may_drop 0")

/* --- taking back and stopping ----------------------------------------------------------------- */

/* FILLING requests are parked and the rest, in vain, waits for memory. */
#define TOO_MUCH "lay 20 1M; shut 2; ask 0..19 0; gate 2; used = 8M; misses = 8; none 0..19; "

/* Then it is gone. */
STORY_OF(w, a_parked_request_can_be_taken_back,
	 "lay 4 100000; shut 2; ask 0 1; ask 1 1; ask 2 1; cancel 1; in_vain 1; open; answers 2; "
	 "stop; right 0; none 1; right 2; served = 200000")

/* Parked and starved; storage may never answer. */
STORY_OF(w, all_that_wait_for_long_are_given_up,
	 TOO_MUCH
	 "give_up 3600 0; give_up 0 20; give_up 0 0; given_up = 20; waited = 20; "
	 "parked = 0; open; stop; refused 0..19 ETIMEDOUT; bad_extents = 0; waited = 20")

/* Call 1 was never heard of. */
STORY_OF(w, an_answered_request_cannot_be_taken_back,
	 "lay 4 100000; start 2 0; ask 0 1; answers 1; in_vain 0; in_vain 1; stop; right 0")

STORY_OF(w, a_request_of_several_extents_can_be_taken_back,
	 "lay 4 1M; shut 2; ask 0 0 5 2M; ask 1 1 5 2M; cancel 0; open; answers 1; stop; none 0; "
	 "right 1")

/* The first of the starved, one in the middle, the last, and a parked one. */
STORY_OF(w, starved_requests_can_be_taken_back,
	 TOO_MUCH
	 "stays 8; cancel 8; may_drop 8; cancel 11; cancel 19; cancel 0; open; "
	 "answers 16; stop; none 0; right 1..7; none 8; right 9..10; none 11; right 12..18; "
	 "none 19")

TEST_OF(w, starved_requests_are_answered_when_there_is_room)
{
	story_play(TOO_MUCH "open; answers 20; right 0..19; waited = 20");
	assert_true(stats_of(w).wait_p99_us >= stats_of(w).wait_p50_us);
}

/* Places in the layout of fill_with_holders: large ones of 1 MiB, far from each other. */
#define SMALL 80
#define TWO   (SMALL + 1) /* of 1 MiB and neighbours */
#define SCAN  (SMALL + 10)

/* The first two large extents are held by threads that answer, the others are being read: the
 * pool is full. */
static void fill_with_holders(struct world *w, const char *start)
{
	for (unsigned i = 0; i < SCAN + 20; i++)
		lay(w, 0,
		    (i % 10 == 0 && i < SMALL) || i == TWO || i == TWO + 1 ? MIB : 3 * CACHE_PAGE);
	story_play(start);
	story_play(
		"read 0 0 1; hold 0 0; read 10 0 1; hold 1 10; slow; close; ask 2 20; ask 3 30; "
		"ask 4 40; ask 5 50; ask 6 60; ask 7 70; used = 8M; misses = 8");
}

/* 80 is the small extent, and 81 and 82 are the two. */
TEST_OF(w, one_that_ends_its_answer_makes_room_for_the_starved)
{
	fill_with_holders(w, "start 2 0");
	story_play("ask 8 80; misses = 8; let 0; misses = 9; let 1; open; stop; right 8");
}

/* There is room for the second, but it is not its turn; it comes with the two of the first. */
TEST_OF(w, the_starved_are_served_in_the_order_they_came)
{
	fill_with_holders(w, "start 2 0");
	story_play(
		"ask 8 81 0 2M; ask 9 80; let 0; misses = 8; let 1; misses = 10; open; stop; "
		"right 8..9");
}

TEST_OF(w, a_small_request_does_not_overtake_the_starved)
{
	fill_with_holders(w, "start 2 0");
	story_play("ask 8 81 0 2M; let 0; ask 9 80; misses = 8; let 1; open; stop; right 8..9");
}

/* Three make a scan, but when they get their turn, the request of two still has none. */
TEST_OF(w, nothing_is_read_ahead_while_requests_starve)
{
	fill_with_holders(w, "start 2 1M");
	story_play("ask 8..10 90; ask 11 81 0 2M; let 0; misses = 11");
	assert_null(ahead_find(w->cache));
	story_play("issued = 0; let 1; open; stop; right 2..11");
}

STORY_OF(w, stopping_answers_all_that_wait, TOO_MUCH "open; stop; right 0..19")

STORY_OF(w, stopping_answers_all_that_wait_for_a_source_that_changed,
	 TOO_MUCH "stale; open; stop; refused 0..19 ESTALE; bad_extents = 20")

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

/* --- crowds --------------------------------------------------------------------------------------
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

static void assert_sums(struct world *w, const struct crowd_reader *sum)
{
	struct cache_stats stats = stats_of(w);

	print_message("%llu extents of %u requests, %llu hits, %llu waited, %u taken back\n",
		      (unsigned long long)sum->touched, w->answers, (unsigned long long)stats.hits,
		      (unsigned long long)stats.wait_reads, sum->taken_back);
	assert_int_equal(stats.served_bytes, sum->served);
	assert_int_equal(w->answers, sum->requests - sum->taken_back);
	if (sum->cancels) {
		assert_true(sum->taken_back > 0);
		assert_true(stats.hits + stats.misses <= sum->touched);
	} else {
		assert_int_equal(stats.hits + stats.misses, sum->touched);
		assert_int_equal(sum->served, sum->asked);
	}
	assert_true(stats.prefetch_used + stats.prefetch_wasted <= stats.prefetch_issued);
	assert_true(stats.distinct_bytes <= stats.served_bytes);
	assert_true(stats.used <= stats.budget);
}

/* Lets them loose, and looks at their sums. */
static void crowd(struct world *w, unsigned requests, bool cancels)
{
	static struct crowd_reader readers[READERS];
	struct crowd_reader sum = {.cancels = cancels};
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
		assert_int_equal(readers[i].failures, 0);
		sum.requests += readers[i].requests;
		sum.asked += readers[i].asked;
		sum.served += readers[i].served;
		sum.touched += readers[i].touched;
		sum.taken_back += readers[i].taken_back;
	}
	cache_stop(w->cache);
	assert_sums(w, &sum);
}

TEST_OF(w, a_crowd_with_the_file_in_memory_gets_its_bytes)
{
	lay_mixed(w, 24 * MIB);
	start(w, MIB, 4);
	crowd(w, 400, false);
}

/* The device is slow, but open: all fills are for the I/O threads. */
TEST_OF(w, a_crowd_that_changes_its_mind_gets_what_is_right_of_a_damaged_file)
{
	lay_large_files(w, 24 * MIB);
	for (uint64_t e = 0; e < w->extents; e += 9)
		w->bad[e] = true;
	w->slow = true;
	start(w, MIB, 4);
	crowd(w, 80, true);
	for (uint64_t e = 0; e < w->extents; e++)
		assert_true(e % 9 == 0 || w->failed[e] == 0);
	assert_true(stats_of(w).bad_extents > 0);
}
TEST_AGAIN(far, a_crowd_that_changes_its_mind_gets_what_is_right_of_a_damaged_file);

/* --- memory ---------------------------------------------------------------------------------- */

static void start_with_budget(struct world *w, uint64_t readahead, unsigned threads,
			      uint64_t budget)
{
	struct cache_params params = params_of(w, readahead, threads);

	params.residency = 0;
	params.budget = budget;
	start_with(w, &params);
}

/* All readers together want many times what there is. */
static void crowd_within(struct world *w, uint64_t budget, uint64_t limit)
{
	lay_large_files(w, 48 * MIB);
	w->look = w->slow = true;
	start_with_budget(w, 4 * MIB, 6, budget);
	cache_limit(w->cache, limit);
	assert_int_equal(stats_of(w).limit, limit);
	crowd(w, 80, false);
	assert_true(w->most_used > limit / 4 * 3);
	assert_true(w->most_used <= limit);
	assert_true(w->most_held <= limit);
}

TEST_OF(w, a_starving_crowd_gets_its_bytes_and_never_exceeds_the_budget)
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
	pthread_t id;

	lay_mixed(w, 48 * MIB);
	w->slow = true;
	start_with_budget(w, 4 * MIB, 6, 4 * CACHE_BUDGET_MIN);
	assert_int_equal(pthread_create(&id, NULL, limit_thread, &limiter), 0);
	crowd(w, 300, true);
	limiter.stop = true;
	pthread_join(id, NULL);
	assert_true(limiter.steps > 10);
	cache_limit(w->cache, CACHE_BUDGET_MIN); /* nothing is pinned now */
	assert_true(stats_of(w).used <= CACHE_BUDGET_MIN);
	assert_true(stats_of(w).held <= CACHE_BUDGET_MIN);
}
TEST_AGAIN(far, the_limit_may_change_while_a_crowd_reads);

TEST_OF(w, a_limit_below_what_is_pinned_is_kept_once_it_is_not)
{
	lay_even(w, 20, MIB);
	w->slow = w->closed = true;
	start_with_budget(w, 0, 2, 3 * CACHE_BUDGET_MIN);
	story_play("ask 0..19 0");
	cache_limit(w->cache, CACHE_BUDGET_MIN);
	story_play("used = 20M; ask 20 0; open; answers 21; stop; right 0..20"); /* being read */
	cache_limit(w->cache, CACHE_BUDGET_MIN);
	assert_int_equal(stats_of(w).used, CACHE_BUDGET_MIN);
	assert_true(stats_of(w).held <= CACHE_BUDGET_MIN);
}
