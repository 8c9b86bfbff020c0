/* What to read ahead, on traces: cache/plan.h. */
#include "cache/plan.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KIB	  ((uint64_t)1 << 10)
#define MIB	  ((uint64_t)1 << 20)
#define READAHEAD (16 * MIB)
#define MOST	  20000u /* extents */

/* A pack, and a pool that keeps everything. */
struct world {
	struct plan plan;
	struct plan_view view;
	uint64_t offsets[MOST];
	uint32_t sizes[MOST];
	bool pooled[MOST], served[MOST];
	uint8_t planned[MOST]; /* how often */
	uint8_t asked[MOST];
	uint64_t runs, bytes;  /* planned */
	uint64_t hits;	       /* demands of what was planned before */
	struct plan_run last;  /* run */
	bool late;	       /* a planned extent had been there already */
	uint64_t most_extents; /* of one run */
	uint64_t most_bytes;
};

static void locate(void *context, uint64_t number, uint64_t *ret_offset, uint32_t *ret_size)
{
	const struct world *w = context;

	assert_true(number < w->view.extents);
	*ret_offset = w->offsets[number];
	*ret_size = w->sizes[number];
}

static bool have(void *context, uint64_t number, bool again)
{
	const struct world *w = context;

	assert_true(number < w->view.extents);
	return w->pooled[number] || (!again && w->served[number]);
}

/* `extents` of a size between the two, one behind the other. */
static struct world *world_of(uint64_t extents, uint32_t smallest, uint32_t largest)
{
	static struct world w;
	uint64_t offset = 0;

	memset(&w, 0, sizeof(w));
	srandom(5);
	w.view = (struct plan_view){extents, &w, locate, have};
	for (uint64_t i = 0; i < extents; i++) {
		w.offsets[i] = offset;
		w.sizes[i] = smallest + (uint32_t)random() % (largest - smallest + 1);
		offset += w.sizes[i];
	}
	plan_init(&w.plan, READAHEAD);
	return &w;
}

/* Photographs: 110 KB on average. */
static struct world *photos(uint64_t extents)
{
	return world_of(extents, 20 << 10, 200 << 10);
}

static void note_run(struct world *w, const struct plan_run *run)
{
	uint64_t bytes = 0;

	assert_true(run->count > 0);
	for (uint64_t e = run->first; e < run->first + run->count; e++) {
		w->late |= w->pooled[e];
		w->pooled[e] = true;
		w->planned[e]++;
		bytes += w->sizes[e];
	}
	assert_int_equal(bytes, run->bytes);
	w->runs++;
	w->bytes += bytes;
	w->last = *run;
	if (run->count > w->most_extents)
		w->most_extents = run->count;
	if (bytes > w->most_bytes)
		w->most_bytes = bytes;
}

/* What the cache does on a demand. */
static void demand(struct world *w, uint64_t extent)
{
	struct plan_run run;

	w->hits += w->planned[extent] > 0;
	w->pooled[extent] = true;
	w->asked[extent]++;
	plan_demand(&w->plan, &w->view, extent, w->served[extent]);
	w->served[extent] = true;
	while (plan_next(&w->plan, &w->view, &run))
		note_run(w, &run);
}

static void scan(struct world *w, uint64_t from, uint64_t to)
{
	for (uint64_t e = from; e < to; e++)
		demand(w, e);
}

static uint64_t planned_ahead(const struct world *w, uint64_t from)
{
	uint64_t bytes = 0;

	for (uint64_t e = from; e < w->view.extents; e++)
		bytes += w->planned[e] ? w->sizes[e] : 0;
	return bytes;
}

/* Bytes that were planned and that nobody asked for. */
static uint64_t wasted(const struct world *w)
{
	uint64_t bytes = 0;

	for (uint64_t e = 0; e < w->view.extents; e++)
		bytes += w->planned[e] && !w->asked[e] ? w->sizes[e] : 0;
	return bytes;
}

static void assert_nothing_planned_twice(const struct world *w)
{
	assert_false(w->late);
	for (uint64_t e = 0; e < w->view.extents; e++)
		assert_true(w->planned[e] <= 1);
}

/* --- one scan ------------------------------------------------------------------------------- */

static void two_neighbours_are_no_scan_yet(void **state)
{
	struct world *w = photos(1000);

	(void)state;
	scan(w, 100, 102);
	assert_int_equal(w->runs, 0);
	demand(w, 102);
	assert_int_equal(w->last.first, 103);
}

static void a_scan_is_read_ahead_of_in_runs_of_a_mebibyte(void **state)
{
	struct world *w = photos(5000);
	uint64_t total;

	(void)state;
	scan(w, 0, 5000);
	total = w->offsets[4999] + w->sizes[4999];
	assert_nothing_planned_twice(w);
	assert_int_equal(wasted(w), 0);
	assert_true(w->hits >= 4990);
	assert_true(w->most_bytes <= PLAN_RUN_BYTES + 200 * KIB);
	print_message("%.2f MiB a run\n", (double)w->bytes / (double)w->runs / (double)MIB);
	assert_true(w->bytes / w->runs > PLAN_RUN_BYTES * 9 / 10);
	assert_true(w->bytes > total - MIB);
}

static void the_window_grows_while_the_scan_goes_on(void **state)
{
	struct world *w = photos(5000);
	uint64_t before = 0;

	(void)state;
	for (uint64_t e = 0; e < 5; e++) {
		demand(w, e);
		assert_true(planned_ahead(w, e + 1) >= before);
		before = planned_ahead(w, e + 1);
	}
	assert_true(before < 4 * MIB); /* a short scan costs little */
	scan(w, 5, 200);
	assert_true(planned_ahead(w, 200) >= READAHEAD / 2 - 200 * KIB);
	assert_true(planned_ahead(w, 200) <= READAHEAD + 200 * KIB);
}

static void no_readahead_means_none(void **state)
{
	struct world *w = photos(1000);

	(void)state;
	plan_init(&w->plan, 0);
	scan(w, 0, 1000);
	assert_int_equal(w->runs, 0);
}

static void a_small_limit_is_kept(void **state)
{
	struct world *w = photos(1000);

	(void)state;
	plan_init(&w->plan, 300 * KIB);
	for (uint64_t e = 0; e < 1000; e++) {
		demand(w, e);
		assert_true(planned_ahead(w, e + 1) <= 500 * KIB);
	}
	assert_true(w->hits > 900);
	assert_nothing_planned_twice(w);
}

static void a_scan_stops_at_the_end(void **state)
{
	struct world *w = photos(1000); /* locate() asserts that nobody looks beyond */

	(void)state;
	scan(w, 950, 1000);
	assert_nothing_planned_twice(w);
	assert_int_equal(wasted(w), 0);
	scan(w, 999, 1000); /* and once more */
	assert_int_equal(wasted(w), 0);
}

static void requests_within_one_extent_are_one_step(void **state)
{
	struct world *w = world_of(64, 1 << 20, 1 << 20);
	uint64_t runs;

	(void)state;
	for (uint64_t e = 0; e < 10; e++) {
		demand(w, e);
		runs = w->runs;
		for (int i = 0; i < 7; i++)
			demand(w, e);
		assert_int_equal(w->runs, runs);
	}
	assert_int_equal(w->hits, 7 * 8);
	assert_nothing_planned_twice(w);
}

static void a_scan_that_skips_a_few_goes_on(void **state)
{
	struct world *w = photos(5000);

	(void)state;
	for (uint64_t e = 0; e < 5000; e++)
		if (e % 10 != 3 && e % 10 != 4 && e % 10 != 5)
			demand(w, e);
	assert_nothing_planned_twice(w);
	assert_true(w->hits > 3490);
}

static void a_scan_that_leaps_starts_anew(void **state)
{
	struct world *w = photos(5000);
	uint64_t before;

	(void)state;
	scan(w, 0, 100);
	before = w->runs;
	scan(w, 3000, 3002);
	assert_int_equal(w->runs, before);
	scan(w, 3002, 3100);
	assert_true(w->planned[3099]);
}

/* --- where runs end ------------------------------------------------------------------------- */

/* Runs that a scan plans must not reach over the border before `extent`. */
static void assert_border_before(struct world *w, uint64_t extent)
{
	struct plan_run run;

	for (uint64_t e = 0; e < w->view.extents; e++) {
		plan_demand(&w->plan, &w->view, e, false);
		w->pooled[e] = true;
		while (plan_next(&w->plan, &w->view, &run)) {
			assert_false(run.first < extent && run.first + run.count > extent);
			note_run(w, &run);
		}
	}
	assert_nothing_planned_twice(w);
	assert_int_equal(w->planned[extent], 1);
}

static void move_from(struct world *w, uint64_t extent, int64_t by)
{
	for (uint64_t e = extent; e < w->view.extents; e++)
		w->offsets[e] += (uint64_t)by;
}

static void a_gap_on_disk_ends_a_run(void **state)
{
	struct world *w = photos(200);

	(void)state;
	move_from(w, 50, PLAN_GAP_BYTES + 1);
	assert_border_before(w, 50);
}

static void a_jump_backward_ends_a_run(void **state)
{
	struct world *w = photos(200);

	(void)state;
	move_from(w, 50, -1);
	assert_border_before(w, 50);
}

static void small_gaps_do_not_end_a_run(void **state)
{
	struct world *w = photos(200);

	(void)state;
	for (uint64_t e = 1; e < 200; e++)
		move_from(w, e, PLAN_GAP_BYTES);
	scan(w, 0, 200);
	assert_true(w->most_bytes >= PLAN_RUN_BYTES);
	assert_nothing_planned_twice(w);
}

static void what_is_there_ends_a_run_and_is_passed_over(void **state)
{
	struct world *w = photos(200);

	(void)state;
	for (uint64_t e = 20; e < 200; e += 4)
		w->pooled[e] = true;
	scan(w, 0, 100);
	assert_true(w->planned[121]); /* not held up */
	scan(w, 100, 200);
	for (uint64_t e = 20; e < 200; e++)
		assert_int_equal(w->planned[e], e % 4 != 0);
}

static void tiny_files_are_bounded_by_number(void **state)
{
	struct world *w = world_of(20000, 100, 100);

	(void)state;
	for (uint64_t e = 0; e < 20000; e++) {
		demand(w, e);
		assert_true(e + 1 >= 20000 - PLAN_AHEAD_EXTENTS ||
			    !w->planned[e + 1 + PLAN_AHEAD_EXTENTS]);
	}
	assert_int_equal(w->most_extents, PLAN_RUN_EXTENTS);
	assert_true(w->hits > 19990);
	assert_true(w->runs < 20000 / PLAN_RUN_EXTENTS * 2);
	assert_nothing_planned_twice(w);
}

/* --- who had it before ---------------------------------------------------------------------- */

static void forget_pool(struct world *w)
{
	memset(w->pooled, 0, sizeof(w->pooled));
	memset(w->planned, 0, sizeof(w->planned));
}

static void what_the_kernel_has_is_not_planned(void **state)
{
	struct world *w = photos(1000);

	(void)state;
	for (uint64_t e = 100; e < 200; e++)
		w->served[e] = true;
	scan(w, 0, 100);
	for (uint64_t e = 100; e < 200; e++)
		assert_int_equal(w->planned[e], 0);
	assert_true(w->planned[99]);
}

static void a_scan_of_what_the_kernel_let_go_is_read_ahead_of_again(void **state)
{
	struct world *w = photos(1000);

	(void)state;
	scan(w, 0, 1000);
	forget_pool(w);
	scan(w, 0, 1000);
	assert_nothing_planned_twice(w);
	for (uint64_t e = 10; e < 1000; e++)
		assert_int_equal(w->planned[e], 1);
}

/* --- many readers --------------------------------------------------------------------------- */

static void four_scans_at_once_are_told_apart(void **state)
{
	struct world *w = photos(20000);

	(void)state;
	for (uint64_t e = 0; e < 1000; e++)
		for (uint64_t scan_at = 0; scan_at < 4; scan_at++)
			demand(w, scan_at * 5000 + e);
	assert_nothing_planned_twice(w);
	assert_true(w->hits >= 4 * 990);
	assert_true(w->bytes / w->runs > PLAN_RUN_BYTES * 9 / 10);
	assert_true(wasted(w) <= 4 * (READAHEAD / 2 + 2 * MIB));
}

/* Among demands of a shuffled order, no more than the streams there are between two steps. */
static void a_scan_among_shuffled_readers_goes_on(void **state)
{
	struct world *w = photos(20000);

	(void)state;
	for (uint64_t e = 0; e < 1000; e++) {
		demand(w, e);
		for (int i = 0; i < 8; i++)
			demand(w, 2000 + (uint64_t)random() % 18000);
	}
	assert_true(w->hits > 980);
}

static void a_shuffled_order_is_no_scan(void **state)
{
	static uint32_t order[MOST];
	struct world *w = photos(MOST);
	uint64_t total = w->offsets[MOST - 1] + w->sizes[MOST - 1], bytes = 0;

	(void)state;
	for (int epoch = 0; epoch < 5; epoch++) {
		for (uint32_t i = 0; i < MOST; i++)
			order[i] = i;
		for (uint32_t i = MOST; i > 1; i--) {
			uint32_t j = (uint32_t)random() % i, swap = order[i - 1];

			order[i - 1] = order[j];
			order[j] = swap;
		}
		memset(w->served, 0, sizeof(w->served));
		forget_pool(w);
		for (uint32_t i = 0; i < MOST; i++)
			demand(w, order[i]);
		bytes += w->bytes;
		print_message("%llu runs, %llu KiB\n", (unsigned long long)w->runs,
			      (unsigned long long)(w->bytes >> 10));
		w->bytes = w->runs = 0;
	}
	assert_true(bytes < total / 100); /* of five epochs */
}

/* Worker w of W reads batches w, w + W, ..., each a little ahead of or behind the others. */
static void workers_read(struct world *w, uint64_t workers, uint64_t batch)
{
	uint64_t at[64] = {0}, left = w->view.extents;

	while (left) {
		uint64_t worker = (uint64_t)random() % workers;
		uint64_t e = (at[worker] / batch * workers + worker) * batch + at[worker] % batch;

		if (e >= w->view.extents)
			continue;
		at[worker]++;
		demand(w, e);
		left--;
	}
}

static void assert_workers_are_served(uint64_t workers, uint64_t batch)
{
	struct world *w = photos(20000);
	uint64_t total = w->offsets[19999] + w->sizes[19999];

	workers_read(w, workers, batch);
	print_message("%d workers, batches of %d: %.2f planned, %.2f MiB a run, %d missed\n",
		      (int)workers, (int)batch, (double)w->bytes / (double)total,
		      (double)w->bytes / (double)w->runs / (double)MIB, (int)(20000 - w->hits));
	assert_nothing_planned_twice(w);
	assert_int_equal(wasted(w), 0);
	assert_true(w->hits > 20000 * 9 / 10);
}

static void unshuffled_loaders_are_read_ahead_of(void **state)
{
	(void)state;
	assert_workers_are_served(2, 256);
	assert_workers_are_served(8, 256);
	assert_workers_are_served(2, 32);
	assert_workers_are_served(8, 32);
	assert_workers_are_served(32, 64);
}

static unsigned streams_followed(const struct world *w)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PLAN_STREAMS; i++)
		count += w->plan.streams[i].next != UINT64_MAX;
	return count;
}

static void one_that_falls_behind_is_no_scan_of_its_own(void **state)
{
	struct world *w = photos(1000);

	(void)state;
	scan(w, 0, 30);
	for (uint64_t e = 30; e < 1000; e++) {
		demand(w, e);
		demand(w, e - 25);
	}
	assert_int_equal(streams_followed(w), 1);
	assert_nothing_planned_twice(w);
}

/* Threads that take the next file each overtake one another by a few. */
static void threads_that_overtake_each_other_are_one_scan(void **state)
{
	struct world *w = photos(20000);
	uint64_t ready[16], next = 0;

	(void)state;
	for (int i = 0; i < 16; i++)
		ready[i] = next++;
	while (next < 20000) {
		uint64_t *one = &ready[random() % 16];

		demand(w, *one);
		*one = next++;
	}
	print_message("%d missed\n", (int)(20000 - w->hits));
	assert_nothing_planned_twice(w);
	assert_true(w->hits > 20000 * 9 / 10);
	assert_true(w->bytes / w->runs > PLAN_RUN_BYTES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_neighbours_are_no_scan_yet),
		cmocka_unit_test(a_scan_is_read_ahead_of_in_runs_of_a_mebibyte),
		cmocka_unit_test(the_window_grows_while_the_scan_goes_on),
		cmocka_unit_test(no_readahead_means_none),
		cmocka_unit_test(a_small_limit_is_kept),
		cmocka_unit_test(a_scan_stops_at_the_end),
		cmocka_unit_test(requests_within_one_extent_are_one_step),
		cmocka_unit_test(a_scan_that_skips_a_few_goes_on),
		cmocka_unit_test(a_scan_that_leaps_starts_anew),
		cmocka_unit_test(a_gap_on_disk_ends_a_run),
		cmocka_unit_test(a_jump_backward_ends_a_run),
		cmocka_unit_test(small_gaps_do_not_end_a_run),
		cmocka_unit_test(what_is_there_ends_a_run_and_is_passed_over),
		cmocka_unit_test(tiny_files_are_bounded_by_number),
		cmocka_unit_test(what_the_kernel_has_is_not_planned),
		cmocka_unit_test(a_scan_of_what_the_kernel_let_go_is_read_ahead_of_again),
		cmocka_unit_test(four_scans_at_once_are_told_apart),
		cmocka_unit_test(a_scan_among_shuffled_readers_goes_on),
		cmocka_unit_test(a_shuffled_order_is_no_scan),
		cmocka_unit_test(unshuffled_loaders_are_read_ahead_of),
		cmocka_unit_test(one_that_falls_behind_is_no_scan_of_its_own),
		cmocka_unit_test(threads_that_overtake_each_other_are_one_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
