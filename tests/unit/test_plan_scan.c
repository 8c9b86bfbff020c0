/* Sequential scans among other readers, on traces: cache/plan/plan_scan.h. */
#include "cache/plan/plan_scan.h"
#include "tests/unit/plan_world.h"

#define READAHEAD (16 * MIB)

static struct plan_scan scan_plan;

/* The planner sees a world from its start. */
static struct world *watched(struct world *w)
{
	plan_scan_init(&scan_plan, &w->view, READAHEAD);
	return w;
}

static void plan_runs(struct world *w)
{
	struct plan_run run;

	/* Nobody would look for a run where none is wanted. */
	if (!plan_scan_wants(&scan_plan))
		return;
	while (plan_scan_next(&scan_plan, &w->budget, &run)) {
		plan_scan_commit(&scan_plan, &run, run.count);
		world_run(w, &run, w->budget.scan);
	}
}

/* What the cache does on a demand. */
static bool demand(struct world *w, uint64_t extent)
{
	bool on;

	world_ask(w, extent);
	on = plan_scan_demand(&scan_plan, extent);
	w->served[extent] = true;
	plan_runs(w);
	return on;
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

DOES(photos, watched(photos(n[0])))
DOES(leaves, watched(leaf_pages(n[0])))
DOES(readahead, plan_scan_init(&scan_plan, &the_world.view, n[0]))
DOES(ask, demand(&the_world, n[0]))
DOES(scan, scan(&the_world, n[0], n[1]))
DOES(forget, forget_pool(&the_world))
DOES(move, move_from(&the_world, n[0], n[1]))
GET(on, demand(&the_world, n[0]))

/* --- one scan ------------------------------------------------------------------------------- */

STORY(two_neighbours_are_no_scan_yet, "photos 1000; scan 100-102; runs = 0; ask 102; first = 103")

STORY(a_scan_is_read_ahead_of_in_long_runs,
      "photos 5000; scan 0-5000; twice = 0; wasted = 0; hits >= 4990; mean > 891289; unread < 1M")

/* So a short scan costs little, and a long one has all that it may have after a few steps, wherever
 * the window begins. */
TEST(the_window_at_most_doubles_with_each_step_up_to_the_limit)
{
	struct world *w = watched(world_of(5000, 16 * KIB, 16 * KIB));
	uint64_t ahead = 0, before;

	scan(w, 0, 3);
	before = planned_ahead(w, 3);
	assert_in_range(before, 1, MIB);
	for (uint64_t e = 3; e < 20; e++, before = ahead) {
		demand(w, e);
		ahead = planned_ahead(w, e + 1);
		assert_in_range(ahead, before - 16 * KIB, 2 * (before + 16 * KIB));
		assert_true(ahead <= READAHEAD);
	}
	assert_true(ahead >= READAHEAD / 2);
}

STORY(no_readahead_means_none, "photos 1000; readahead 0; scan 0-1000; runs = 0")

TEST(a_small_limit_is_kept)
{
	struct world *w = watched(photos(1000));

	plan_scan_init(&scan_plan, &w->view, 300 * KIB);
	for (uint64_t e = 0; e < 1000; e++) {
		demand(w, e);
		assert_true(planned_ahead(w, e + 1) <= 500 * KIB);
	}
	assert_true(w->hits > 900);
	assert_nothing_planned_twice(w);
}

/* The world asserts that nobody looks beyond. */
STORY(a_scan_stops_at_the_end,
      "photos 1000; scan 950-1000; twice = 0; wasted = 0; scan 999-1000; wasted = 0")

TEST(requests_within_one_extent_are_one_step)
{
	struct world *w = watched(world_of(64, 1 << 20, 1 << 20));
	uint64_t runs;

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

TEST(a_scan_that_skips_a_few_goes_on)
{
	struct world *w = watched(photos(5000));

	for (uint64_t e = 0; e < 5000; e++)
		if (e % 10 != 3 && e % 10 != 4 && e % 10 != 5)
			demand(w, e);
	assert_nothing_planned_twice(w);
	assert_true(w->hits > 3490);
}

STORY(a_scan_that_leaps_starts_anew,
      "photos 5000; scan 0-100; recount; scan 3000-3002; runs = 0; scan 3002-3100;"
      "planned 3099-3100 = 1")

/* --- where runs end ------------------------------------------------------------------------- */

/* Scans everything: no run reaches over the border before `extent`. */
static void assert_border_before(struct world *w, uint64_t extent)
{
	struct plan_run run;

	for (uint64_t e = 0; e < w->view.extents; e++) {
		world_ask(w, e);
		plan_scan_demand(&scan_plan, e);
		while (plan_scan_next(&scan_plan, &w->budget, &run)) {
			assert_false(run.extents[0] < extent &&
				     run.extents[run.count - 1] >= extent);
			plan_scan_commit(&scan_plan, &run, run.count);
			world_run(w, &run, w->budget.scan);
		}
	}
	assert_nothing_planned_twice(w);
	assert_int_equal(w->planned[extent], 1);
}

DOES(border, assert_border_before(&the_world, n[0]))

STORY(a_gap_on_disk_ends_a_run, "photos 200; move 50 128K+1; border 50")

TEST(a_jump_backward_ends_a_run)
{
	move_from(watched(photos(200)), 50, (uint64_t)-1);
	story_play("border 50");
}

TEST(small_gaps_do_not_end_a_run)
{
	struct world *w = watched(photos(200));

	for (uint64_t e = 1; e < 200; e++)
		move_from(w, e, w->budget.gap);
	scan(w, 0, 200);
	assert_true(w->most_span > w->budget.run - LARGEST);
	assert_nothing_planned_twice(w);
}

/* Not a gap that costs more to read than a request. */
STORY(what_is_there_is_left_out_and_ends_no_run,
      "photos 200; gap 200K; pool 20-200 4; scan 0-100; planned 121-122 = 1; span > 824K;"
      "scan 100-200; planned 20-200 = 135; twice = 0")

STORY(what_is_there_ends_a_run_where_gaps_cost_much,
      "photos 200; gap 0; pool 20-200 4; scan 0-200; planned 20-200 = 135; twice = 0")

/* world_run() asserts that the length is kept. */
STORY(a_run_is_no_longer_than_is_wanted_now,
      "photos 2000; run 4M; scan 0-1000; span > 3896K; run 256K; scan 1000-2000; twice = 0")

/* What did not fit is planned when there is room, from where the run had to end. */
STORY(a_run_fits_into_the_room_there_is,
      "photos 1000; scan 0-100; room 0; recount; scan 100-300; runs = 0;"
      "room 300K; scan 300-400; runs > 30; room all; scan 400-1000; twice = 0;"
      "planned 450-1000 = 550")

STORY(files_of_leaf_pages_are_read_in_long_runs,
      "leaves 20000; scan 0-20000; twice = 0; wasted = 0; hits >= 19990; runs < 156")

TEST(tiny_files_are_bounded_by_number)
{
	struct world *w = watched(world_of(20000, 100, 100));

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

STORY(what_the_kernel_has_is_not_planned,
      "photos 1000; serve 100-200; scan 0-100; planned 100-200 = 0; planned 99-100 = 1")

STORY(a_scan_of_what_the_kernel_let_go_is_read_ahead_of_again,
      "photos 1000; scan 0-1000; forget; scan 0-1000; twice = 0; planned 10-1000 = 990")

/* --- many readers --------------------------------------------------------------------------- */

/* Among demands of a shuffled order, no more than the streams there are between two steps. */
TEST(a_scan_among_shuffled_readers_goes_on)
{
	struct world *w = watched(photos(20000));

	for (uint64_t e = 0; e < 1000; e++) {
		demand(w, e);
		for (int i = 0; i < 8; i++)
			demand(w, 2000 + (uint64_t)random() % 18000);
	}
	assert_true(w->hits > 980);
}

TEST(a_shuffled_order_is_no_scan)
{
	struct world *w = watched(photos(20000));
	uint64_t bytes = 0, went_on = 0;

	for (int epoch = 0; epoch < 5; epoch++) {
		const uint32_t *order = shuffled(20000);

		memset(w->served, 0, sizeof(w->served));
		forget_pool(w);
		for (uint32_t i = 0; i < 20000; i++)
			went_on += demand(w, order[i]);
		bytes += w->bytes;
	}
	assert_true(bytes < total_bytes(w) / 100); /* of five epochs */
	assert_true(went_on < 5 * 20000 / 10);
}

/* The rest of 101; and 102 is overtaken. */
STORY(who_asks_is_told_whether_it_went_on_with_a_scan,
      "photos 2000; on 100 = 0; on 101 = 1; on 101 = 1; on 103 = 1; on 102 = 1; on 1500 = 0; "
      "on 1501 = 1; on 104 = 1")

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
	struct world *w = watched(photos(20000));

	workers_read(w, workers, batch);
	assert_nothing_planned_twice(w);
	assert_int_equal(wasted(w), 0);
	assert_true(w->hits > 20000 * 9 / 10);
}

TEST(unshuffled_loaders_are_read_ahead_of)
{
	assert_workers_are_served(2, 256);
	assert_workers_are_served(8, 256);
	assert_workers_are_served(2, 32);
	assert_workers_are_served(8, 32);
	assert_workers_are_served(32, 64);
}

/* Threads that take the next file each overtake one another by a few. */
TEST(threads_that_overtake_each_other_are_one_scan)
{
	struct world *w = watched(photos(20000));
	uint64_t ready[16], next = 0;

	for (int i = 0; i < 16; i++)
		ready[i] = next++;
	while (next < 20000) {
		uint64_t *one = &ready[random() % 16];

		demand(w, *one);
		*one = next++;
	}
	assert_nothing_planned_twice(w);
	assert_true(w->hits > 20000 * 9 / 10);
	assert_true(w->bytes / w->runs > w->budget.run / 2);
}
