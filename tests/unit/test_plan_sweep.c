/* Everything sweep, on simulated epochs: cache/plan/plan_sweep.h. A device brings `ratio` bytes
 * read ahead for each byte that is asked for. */
#define TEST_MAIN
#include "cache/plan/plan_preload.h"
#include "cache/plan/plan_sweep.h"
#include "tests/unit/plan_world.h"
#include <math.h>

#define FAST   1e9 /* ratio of a device that is always done */
#define PHOTOS 20000u

struct sim {
	struct world *world;
	struct plan_sweep sweep;
	struct plan_preload preload; /* in place of it */
	double ratio;
	double owed;	 /* bytes that the device could have brought meanwhile */
	uint64_t memory; /* for what is ahead */
	bool forgets;	 /* what was served leaves the pool */
	bool holds;	 /* the pool has all that came, in each epoch */
};

static struct sim the_sim;

static struct sim *sim_with(struct world *world, const struct plan_params *params)
{
	struct plan_params all = *params;
	struct sim *sim = &the_sim;

	all.readahead = MIB;
	plan_sweep_release(&sim->sweep);
	*sim = (struct sim){.world = world, .ratio = FAST, .memory = NO_END};
	sim->preload.view = &world->view;
	assert_int_equal(plan_sweep_init(&sim->sweep, &world->view, &all), 0);
	return sim;
}

static struct sim *sim_of(struct world *world)
{
	return sim_with(world, &(struct plan_params){.shared = false});
}

static struct sim *shared_sim_of(struct world *world)
{
	return sim_with(world, &(struct plan_params){.shared = true});
}

static struct sim *epochs_of(struct world *world)
{
	struct sim *sim = sim_with(world, &(struct plan_params){.epochs = true});

	sim->forgets = true;
	return sim;
}

static int read_once(void **state)
{
	*state = sim_of(photos(PHOTOS));
	return 0;
}

static int read_in_epochs(void **state)
{
	*state = epochs_of(photos(PHOTOS));
	return 0;
}

static int read_by_many(void **state)
{
	*state = shared_sim_of(photos(PHOTOS));
	return 0;
}

FIXTURE_BY(photos, struct sim, read_once, NULL);
FIXTURE_BY(epochs, struct sim, read_in_epochs, NULL);
FIXTURE_BY(shared, struct sim, read_by_many, NULL);

static uint64_t block_end(const struct world *w, uint64_t extent)
{
	uint64_t end = (extent / PLAN_BLOCK + 1) * PLAN_BLOCK;

	return end < w->view.extents ? end : w->view.extents;
}

static uint64_t asked_in_block(const struct world *w, uint64_t extent)
{
	uint64_t count = 0;

	for (uint64_t e = extent / PLAN_BLOCK * PLAN_BLOCK; e < block_end(w, extent); e++)
		count += w->asked[e] > 0;
	return count;
}

/* Nothing is read ahead that was asked for, or next to which nothing was. */
static void check_run(const struct sim *sim, const struct plan_run *run)
{
	const struct world *w = sim->world;

	for (unsigned i = 0; i < run->count; i++) {
		assert_int_equal(w->asked[run->extents[i]], 0);
		assert_true(sim->preload.active || asked_in_block(w, run->extents[i]) > 0);
	}
}

static struct prefetch_budget budget_now(const struct sim *sim)
{
	const struct world *w = sim->world;
	uint64_t left = sim->memory > w->ahead ? sim->memory - w->ahead : 0;
	struct prefetch_budget budget = w->budget;

	budget.sweep = left < budget.sweep ? left : budget.sweep;
	return budget;
}

/* Where nothing is, nobody would look for a run. */
static bool is_wanted(const struct sim *sim)
{
	struct prefetch_budget budget = budget_now(sim);

	return sim->preload.active ? plan_preload_wants(&sim->preload, &budget)
				   : plan_sweep_wants(&sim->sweep, &budget);
}

static bool next_run(struct sim *sim, const struct prefetch_budget *budget, struct plan_run *ret)
{
	return sim->preload.active ? plan_preload_next(&sim->preload, budget, ret)
				   : plan_sweep_next(&sim->sweep, budget, ret);
}

static void commit(struct sim *sim, const struct plan_run *run)
{
	if (sim->preload.active)
		plan_preload_commit(&sim->preload, run, run->count);
	else
		plan_sweep_commit(&sim->sweep, run, run->count);
}

/* False where there is nothing to read. */
static bool read_run(struct sim *sim)
{
	struct world *w = sim->world;
	struct prefetch_budget budget = budget_now(sim);
	struct plan_run run;

	if (!next_run(sim, &budget, &run))
		return false;
	commit(sim, &run);
	world_run(w, &run, budget.sweep);
	check_run(sim, &run);
	sim->owed -= (double)run.bytes;
	return true;
}

static void read_runs(struct sim *sim)
{
	while (sim->owed > 0)
		if (!is_wanted(sim) || !read_run(sim))
			sim->owed = 0;
}

static void ask(struct sim *sim, uint64_t extent, bool scan)
{
	struct world *w = sim->world;
	uint64_t epoch = sim->sweep.epoch;

	plan_sweep_demand(&sim->sweep, extent, scan);
	if (sim->sweep.epoch != epoch)
		plan_preload_epoch(&sim->preload);
	if (sim->sweep.epoch != epoch && !sim->holds)
		forget_pool(w);
	world_ask(w, extent);
	w->served[extent] = true;
	if (sim->forgets)
		w->pooled[extent] = false;
}

static void demand(struct sim *sim, uint64_t extent)
{
	ask(sim, extent, false);
	sim->owed += sim->ratio * sim->world->sizes[extent];
	read_runs(sim);
}

/* Asks for extents from..from + count in a random order. */
static void shuffle_over(struct sim *sim, uint64_t from, uint32_t count)
{
	const uint32_t *order = shuffled(count);

	for (uint32_t i = 0; i < count; i++)
		demand(sim, from + order[i]);
}

static void assert_all_was_read_once(const struct sim *sim)
{
	const struct world *w = sim->world;
	uint64_t missed = w->demands - w->hits;

	assert_nothing_planned_twice(w);
	assert_int_equal(wasted(w), 0);
	assert_int_equal(planned_in(w, 0, w->view.extents) + missed, w->view.extents);
	assert_int_equal(sim->sweep.ahead, 0);
}

static void assert_near(double found, double derived, double tolerance)
{
	if (fabs(found - derived) > tolerance)
		fail_msg("%.3f instead of %.3f", found, derived);
}

GET(late, the_world.demands - the_world.hits >= demands_that_find(&the_world, PLAN_BLOCK))
GET(more, read_run(&the_sim))
GET(wanted, is_wanted(&the_sim))
GET(epoch, the_sim.sweep.epoch)
GET(active, the_sim.preload.active)
GET(swept, the_sim.sweep.ahead)
GET(asked, the_sim.sweep.bytes)

DOES(photos, sim_of(photos(n[0])))
DOES(sizes, sim_of(world_of(n[0], (uint32_t)n[1], (uint32_t)n[1])))
DOES(leaves, sim_of(leaf_pages(n[0])))
DOES(changed, sim_of(changed_photos(n[0], n[1])))
DOES(epochs, epochs_of(photos(PHOTOS)))
DOES(shared, shared_sim_of(photos(PHOTOS)))
DOES(forgets, the_sim.forgets = true)
DOES(memory, the_sim.memory = n[0])
DOES(twentieth, the_sim.memory = total_bytes(&the_world) / 20)
DOES(ratio, the_sim.ratio = (double)n[0])
DOES(no_sweep, the_world.budget.no_sweep = true)
DOES(move, move_from(&the_world, n[0], n[1]))
DOES(lose, the_world.pooled[n[0]] = false)
DOES(preload, plan_preload_begin(&the_sim.preload))
DOES(once, assert_all_was_read_once(&the_sim))

DO(ask)
{
	for (uint64_t e = n[0]; e == n[0] || e < n[1]; e += n[2] ? n[2] : 1)
		ask(&the_sim, e, false);
}

DO(demand)
{
	for (uint64_t e = n[0]; e == n[0] || e < n[1]; e += n[2] ? n[2] : 1)
		demand(&the_sim, e);
}

DO(again)
{
	for (uint64_t i = 0; i < n[1]; i++)
		demand(&the_sim, n[0]);
}

DO(scan)
{
	for (uint64_t e = n[0]; e < n[1]; e++)
		ask(&the_sim, e, true);
}

/* With replacement. */
DO(draw)
{
	for (uint64_t i = 0; i < n[0]; i++)
		demand(&the_sim, (uint64_t)random() % PHOTOS);
}

/* Of n[1] extents from n[0] on the first n[2]. */
DO(shuffle)
{
	const uint32_t *order = shuffled((uint32_t)n[1]);

	for (uint32_t i = 0; i < (n[2] ? n[2] : n[1]); i++)
		demand(&the_sim, n[0] + order[i]);
}

DO(read)
{
	while (read_run(&the_sim))
		;
}

/* As far as something is wanted. */
DO(sweep)
{
	the_sim.owed = 1e300;
	read_runs(&the_sim);
}

/* --- a shuffled epoch ------------------------------------------------------------------------ */

/* Of N extents let x N be asked for, and u N neither asked for nor read ahead. A demand misses
 * with probability m = u / (1 - x); u falls by the misses and by the sweep: du/dx = -m - r. So
 * dm/dx = -r / (1 - x), and m = 1 - r ln(1 / (1 - x)) until it is 0 at x = 1 - exp(-1 / r): this is
 * the integral of 1 - m. */
static double hits_of_epoch(double ratio)
{
	return ratio * (1 - exp(-1 / ratio));
}

TEST(a_shuffled_epoch_reads_each_file_once_and_hits_what_theory_says)
{
	const double ratios[] = {0.25, 1, 4};

	for (unsigned i = 0; i < 3; i++) {
		struct sim *sim = sim_of(photos(PHOTOS));

		sim->ratio = ratios[i];
		shuffle_over(sim, 0, PHOTOS);
		assert_all_was_read_once(sim);
		assert_near((double)sim->world->hits / PHOTOS, hits_of_epoch(ratios[i]), 0.02);
	}
}

STORY(a_fast_device_leaves_hardly_a_miss,
      "photos 20000; shuffle 0 20000; once; late = 0; mean > 838860")

/* world_run() asserts that the pool is never overfilled. A twentieth is there throughout, and a
 * growing share of what is left. */
STORY(a_pool_of_a_twentieth_is_never_overfilled_and_nothing_is_lost,
      "photos 20000; forgets; twentieth; shuffle 0 20000; once; hits > 1000")

/* world_run() asserts that it is left alone. */
STORY(what_the_pool_has_is_not_read,
      "photos 20000; pool 0-20000 3; shuffle 0 20000; twice = 0; "
      "planned 0-20000 > 10000")

/* A device that is not waited for would have each room of one file filled at once. */
STORY(room_is_filled_by_long_runs,
      "photos 20000; forgets; memory 20M; shuffle 0 20000 5000; mean > 512K")

/* A pool that lets go of everything at once: what was read in vain is not read in vain again. */
TEST_WITH(photos, sim, what_was_let_go_of_is_not_read_ahead_twice)
{
	const uint32_t *order = shuffled(PHOTOS);

	for (uint32_t i = 0; i < PHOTOS / 10; i++) {
		demand(sim, order[i]);
		memset(sim->world->pooled, 0, sizeof(sim->world->pooled));
	}
	assert_nothing_planned_twice(sim->world);
	assert_true(planned_in(sim->world, 0, PHOTOS) > PHOTOS / 2);
}

/* --- what is no epoch ------------------------------------------------------------------------ */

STORY(who_asks_for_two_files_has_nothing_read, "photos 20000; demand 500; demand 9000; runs = 0")

STORY(asking_for_the_same_file_again_and_again_proves_nothing,
      "photos 20000; again 500 500; again 9000 500; again 500 500; runs = 0")

TEST_WITH(photos, sim, a_scan_is_left_to_the_scan)
{
	sim->owed = 1;
	for (uint64_t e = 0; e < PHOTOS / 2; e++) {
		ask(sim, e, true);
		assert_false(read_run(sim));
	}
}

TEST(looking_at_a_few_files_costs_a_bounded_amount)
{
	struct sim *sim = sim_of(photos(MOST));
	const uint32_t *order = shuffled(MOST);
	struct world *w = sim->world;

	for (uint32_t i = 0; i < 40; i++) {
		demand(sim, order[i]);
		assert_true(w->ahead <= 100 * w->asked_bytes + LARGEST);
	}
	assert_true(w->bytes > 0);
	assert_true(w->bytes < 500 * MIB);
	assert_true(w->bytes < total_bytes(w) / 10);
}

/* --- where ----------------------------------------------------------------------------------- */

STORY(an_epoch_over_train_reads_nothing_of_val,
      "photos 20000; shuffle 0 18000; planned 18176-20000 = 0; hits > 16200")

STORY(a_block_that_is_found_after_the_sweep_is_read_too,
      "photos 20000; demand 10000-11000 10; planned 0-256 = 0; more = 0; demand 7; "
      "planned 0-256 = 255")

STORY(the_pass_goes_on_before_it_turns_back,
      "photos 20000; ask 10000-11000 10; more = 1; first = 9984; ask 7; more = 1; first > 9984")

/* --- runs ------------------------------------------------------------------------------------ */

/* Every other extent was asked for before anything is read. */
STORY(what_was_asked_for_is_read_through_where_that_is_cheap,
      "photos 2000; memory 0; demand 0-2000 2; runs = 0; memory all; gap 200K; sweep; "
      "planned 0-2000 = 1000; mean > 349525")

STORY(what_was_asked_for_ends_a_run_where_gaps_cost_much,
      "photos 2000; memory 0; demand 0-2000 2; runs = 0; memory all; gap 0; sweep; "
      "planned 0-2000 = 1000; runs = 1000")

/* world_run() asserts that their extents begin near each other. */
STORY(runs_are_as_long_as_is_wanted_now,
      "photos 20000; run 256K; preload; sweep; mean > 109226; photos 20000; run 1M; "
      "preload; sweep; mean > 846506; photos 20000; run 4M; preload; sweep; "
      "mean > 3795626")

STORY(a_preload_reads_the_files_of_a_delta_together,
      "changed 20000 20; gap 200K; preload; sweep; planned 0-20000 = 20000; twice = 0; "
      "mean > 768K")

STORY(what_comes_at_once_is_read_ahead_for_a_preload_only,
      "photos 20000; no_sweep; shuffle 0 1000; runs = 0; preload; sweep; "
      "planned 0-20000 = 19000")

/* --- wanted records that bring a run ---------------------------------------------------------- */

/* Notes a run but for the extent that it was read for. */
static void note_around(struct sim *sim, struct plan_run *run, uint64_t wanted)
{
	struct world *w = sim->world;
	bool found = false;

	for (unsigned i = 0; i < run->count; i++)
		found |= run->extents[i] == wanted;
	assert_true(found);
	w->pooled[wanted] = false;
	world_run(w, run, NO_END);
	w->planned[wanted]--;
	w->ahead -= w->sizes[wanted];
}

/* Asks for an extent that is not there as a cache does on a seek-bound device. Returns whether
 * more came with it. */
static bool miss(struct sim *sim, uint64_t extent)
{
	struct world *w = sim->world;
	struct plan_run run;

	ask(sim, extent, false);
	if (sim->preload.active ? !plan_preload_around(&sim->preload, &w->budget, extent, &run)
				: !plan_sweep_around(&sim->sweep, &w->budget, extent, &run))
		return false;
	commit(sim, &run);
	note_around(sim, &run, extent);
	return true;
}

static struct sim *sim_of_a_seek_bound_device(void)
{
	struct sim *sim = sim_of(photos(PHOTOS));

	sim->world->budget.run = 4 * MIB;
	sim->ratio = 0;
	return sim;
}

DOES(seeks, sim_of_a_seek_bound_device())
GET(miss, miss(&the_sim, n[0]))

static uint64_t runs_of_the_sweep(void)
{
	struct sim *sim = sim_of_a_seek_bound_device();

	plan_preload_begin(&sim->preload);
	sim->owed = 3 * FAST;
	read_runs(sim);
	return sim->world->runs;
}

/* In whatever order: what is read around one record is what the sweep would have read. */
TEST(wanted_records_that_bring_their_runs_cost_no_more_requests_than_the_sweep)
{
	uint64_t sweep = runs_of_the_sweep(), alone = 0;
	struct sim *sim = sim_of_a_seek_bound_device();
	const uint32_t *order = shuffled(PHOTOS);
	struct world *w = sim->world;

	for (uint32_t i = 0; i < PHOTOS; i++) {
		if (w->pooled[order[i]])
			ask(sim, order[i], false);
		else
			alone += !miss(sim, order[i]);
	}
	assert_nothing_planned_twice(w);
	assert_int_equal(wasted(w), 0);
	assert_int_equal(sim->sweep.ahead, 0);
	print_message("%d runs and %d alone, the sweep: %d\n", (int)w->runs, (int)alone,
		      (int)sweep);
	assert_in_range(w->runs, sweep, sweep + alone);
	assert_in_range(alone, 8, 40);
}

TEST(the_pass_leaves_out_what_wanted_records_brought)
{
	struct sim *sim = sim_of_a_seek_bound_device();
	uint64_t sweep = runs_of_the_sweep();
	const uint32_t *order;

	sim = sim_of_a_seek_bound_device();
	order = shuffled(PHOTOS);
	for (uint32_t i = 0; i < 200; i++)
		if (!sim->world->pooled[order[i]])
			miss(sim, order[i]);
		else
			ask(sim, order[i], false);
	sim->owed = 3 * FAST;
	read_runs(sim);
	assert_nothing_planned_twice(sim->world);
	assert_true(sim->world->runs <= sweep + sweep / 20);
}

STORY(nothing_comes_with_a_record_before_the_epoch_is_known,
      "seeks; miss 0 = 0; miss 997 = 0; miss 1994 = 0; miss 2991 = 0; miss 3988 = 0; "
      "miss 4985 = 0; miss 5982 = 0; ask 6979; miss 7976 = 1")

TEST_WITH(shared, sim, on_shared_storage_nothing_comes_with_a_record_of_a_block_asked_of_a_little)
{
	for (uint32_t i = 0; i < 100; i++)
		assert_false(miss(sim, i * 197));
}

STORY(what_lies_behind_a_long_gap_does_not_come_with_a_record,
      "seeks; ask 10000-11940 97; move 1283 1M; move 1289 1M; miss 1285 = 1; "
      "first = 1283; count = 6")

/* It is on its way all the same, and does not count as planned. */
STORY(nothing_comes_with_a_record_that_there_is_no_room_for,
      "sizes 100 1M; run 256K; room 0 512K; preload; miss 50 = 0; swept = 0; asked = 1M")

STORY(an_extent_that_is_longer_than_a_run_comes_alone,
      "sizes 100 1M; run 256K; preload; sweep; runs = 100")

STORY(tiny_files_are_bounded_by_number,
      "sizes 20000 100; preload; sweep; extents = 256; planned 0-20000 = 20000")

/* In a run's bytes lie thousands of them. */
TEST(around_a_tiny_file_few_others_are_looked_at)
{
	struct sim *sim = sim_of(world_of(PHOTOS, 50, 50));
	const uint32_t *order = shuffled(PHOTOS);
	struct world *w = sim->world;

	for (uint32_t i = 0; i < PHOTOS; i++) {
		uint64_t before = w->looks;

		if (w->pooled[order[i]])
			ask(sim, order[i], false);
		else
			miss(sim, order[i]);
		assert_true(w->looks - before <= 4 * PLAN_RUN_EXTENTS);
	}
	assert_nothing_planned_twice(w);
	assert_true(w->runs <= PHOTOS / PLAN_RUN_EXTENTS + 1);
}

/* Hundredths of the pack lie in the file in any order. */
static void scatter(struct world *w)
{
	const uint32_t *order = shuffled(100);
	uint64_t offset = 0, each = w->view.extents / 100;

	for (uint32_t i = 0; i < 100; i++)
		for (uint64_t e = order[i] * each; e < (order[i] + 1) * each; e++) {
			w->offsets[e] = offset;
			offset += w->sizes[e];
		}
}

DOES(scatter, scatter(&the_world))

/* world_run() asserts that no run goes backwards. */
STORY(a_pack_whose_offsets_jump_is_read_all_the_same,
      "photos 20000; scatter; shuffle 0 20000; once; late = 0")

/* --- what it costs to know that there is nothing --------------------------------------------- */

TEST_WITH(photos, sim, when_all_is_planned_nothing_is_looked_at)
{
	const uint32_t *order = shuffled(PHOTOS);
	struct world *w = sim->world;
	uint32_t i = 0;

	while (planned_in(w, 0, PHOTOS) + w->demands - w->hits < PHOTOS)
		demand(sim, order[i++]);
	assert_true(i < PHOTOS / 10);
	assert_false(read_run(sim));
	assert_false(is_wanted(sim));
	w->looks = 0;
	for (; i < PHOTOS; i++)
		demand(sim, order[i]);
	assert_int_equal(w->looks, 0);
}

/* As after a preload. */
STORY(a_new_block_that_is_in_memory_starts_no_look_through_the_pack,
      "photos 20000; pool 0-20000 1; demand 0-20; wanted = 0; ask 1280; wanted = 0; "
      "lose 1801; ask 1792; wanted = 1; more = 1; first = 1801")

/* The pool has what a run brings before that counts as planned. */
TEST_WITH(photos, sim, what_a_run_brings_counts_once)
{
	struct prefetch_budget budget = budget_now(sim);
	struct plan_run run;

	for (uint64_t e = 0; e < 80; e += 4)
		ask(sim, e, false);
	budget.gap = MIB; /* over what was asked for */
	assert_true(next_run(sim, &budget, &run));
	assert_true(run.count > 3);
	for (unsigned i = 0; i < run.count; i++)
		sim->world->pooled[run.extents[i]] = true;
	commit(sim, &run);
	assert_int_equal(sim->sweep.ahead, run.bytes);
}

STORY(an_epoch_looks_at_each_extent_about_once,
      "photos 20000; ratio 1; shuffle 0 20000; looks < 25000")

STORY(where_there_is_no_room_little_is_looked_at,
      "photos 20000; room 0 1; shuffle 0 20000; runs = 0; looks <= 40000")

TEST(packs_of_next_to_nothing_are_fine)
{
	for (uint32_t extents = 0; extents <= 3; extents++) {
		struct sim *sim = sim_of(photos(extents));

		sim->owed = 1;
		read_runs(sim);
		for (int i = 0; i < 100; i++)
			shuffle_over(sim, 0, extents);
		assert_int_equal(sim->world->runs, 0);
		sim = sim_of(photos(extents));
		plan_preload_begin(&sim->preload);
		sim->owed = FAST;
		read_runs(sim);
		assert_int_equal(planned_in(sim->world, 0, extents), extents);
	}
}

/* --- preload --------------------------------------------------------------------------------- */

STORY(preload_stops_where_memory_ends_and_goes_on_when_there_is_more,
      "photos 20000; memory 100M; preload; read; bytes >= 99M; bytes <= 100M; "
      "shuffle 0 20000; once; bytes > 200M")

STORY(preload_helps_whoever_asked_before_it,
      "shared; shuffle 0 100; runs = 0; preload; read; planned 0-20000 = 19900")

/* --- shared storage -------------------------------------------------------------------------- */

/* What was read, by demands and ahead, in each block: no more than 5/4 of what was asked for. */
static void assert_five_fourths(const struct world *w)
{
	for (uint64_t block = 0; block < w->view.extents; block = block_end(w, block)) {
		uint64_t asked = asked_in_block(w, block), known = 0;

		for (uint64_t e = block; e < block_end(w, block); e++)
			known += w->asked[e] || w->planned[e];
		assert_true(known * 4 <= asked * 5);
	}
}

DOES(fifths, assert_five_fourths(&the_world))

STORY(one_of_sixteen_ranks_has_nothing_read_ahead,
      "shared; shuffle 0 20000 1250; runs = 0; shared; shuffle 0 20000 10000; runs = 0")

STORY(shared_storage_is_never_asked_for_more_than_five_fourths,
      "shared; shuffle 0 20000 16000; fifths; twice = 0; bytes > 0; "
      "shared; shuffle 0 20000 18000; fifths; twice = 0; bytes > 0")

STORY(the_last_fifth_of_a_whole_epoch_is_read_ahead,
      "shared; shuffle 0 20000; fifths; once; hits >= 3000; hits <= 4000")

STORY(a_block_is_finished_when_four_fifths_were_asked_for, /* be it by a scan */
      "shared; scan 0-204; more = 0; scan 204-205; read; planned 0-20000 = 51")

/* --- epochs ---------------------------------------------------------------------------------- */

/* Only what was asked for before the epoch was known may be read in vain: of a hundredth. */
STORY(the_next_epoch_is_known_soon_and_streams_like_the_first,
      "epochs; ratio 1; shuffle 0 20000; epoch = 0; shuffle 0 20000; epoch = 1; twice = 0; "
      "wasted <= 40M; hits > 12043; hits < 13243; shuffle 0 20000; epoch = 2; twice = 0; "
      "wasted <= 40M; hits > 12043; hits < 13243")

static bool is_kept[MOST];

static bool keeps(void *context, uint64_t number)
{
	(void)context;
	return is_kept[number];
}

static bool have_or_keeps(void *context, uint64_t number)
{
	return world_have(context, number) || is_kept[number];
}

/* Nobody asks for that part any more, and yet all epochs are whole. */
TEST(epochs_of_which_the_kernel_keeps_a_part_stream_too)
{
	for (unsigned shared = 0; shared < 2; shared++) {
		const struct plan_params params = {.epochs = true, .shared = shared};
		struct sim *sim = sim_with(photos(PHOTOS), &params);
		struct world *w = sim->world;

		memset(is_kept, 0, sizeof(is_kept));
		sim->ratio = 1;
		shuffle_over(sim, 0, PHOTOS);
		w->view.kept = keeps;
		w->view.have = have_or_keeps;
		for (uint32_t e = 0; e < PHOTOS; e++)
			is_kept[e] = random() % 100 < 57;
		for (uint64_t epoch = 1; epoch < 5; epoch++) {
			const uint32_t *order = shuffled(PHOTOS);

			for (uint32_t i = 0; i < PHOTOS; i++)
				if (!is_kept[order[i]])
					demand(sim, order[i]);
			assert_int_equal(sim->sweep.epoch, epoch);
			assert_true((double)w->hits / (PHOTOS * 0.43) > (shared ? 0.3 : 0.58));
		}
	}
}

struct counted {
	uint64_t looks;
};

static bool look_for_odd(void *context, uint64_t extent)
{
	struct counted *counted = context;

	counted->looks++;
	return extent % 2;
}

static void resolve_nothing(void *context, uint64_t number, struct extent *ret)
{
	(void)context;
	*ret = (struct extent){.number = number, .size = 1};
}

/* Whoever waits for the cache waits for the end of an epoch, too. */
TEST(the_end_of_a_long_epoch_looks_at_a_sample)
{
	const uint64_t extents = 1 << 20;

	for (unsigned whole = 0; whole < 2; whole++) {
		struct counted counted = {0};
		const struct plan_params params = {.epochs = true,
						   .view = {.extents = extents,
							    .context = &counted,
							    .resolve = resolve_nothing,
							    .have = look_for_odd,
							    .kept = look_for_odd}};
		struct plan_sweep sweep;

		assert_int_equal(plan_sweep_init(&sweep, &params.view, &params), 0);
		for (uint64_t i = 0; i < extents; i += whole ? 2 : 6)
			plan_sweep_count(&sweep, i);
		assert_int_equal(sweep.epoch, 0);
		counted.looks = 0;
		for (uint64_t i = 0; sweep.epoch == 0; i += 6)
			plan_sweep_count(&sweep, i);
		assert_true(counted.looks <= 65536);
		assert_int_equal(sweep.armed, whole);
		plan_sweep_release(&sweep);
	}
}

STORY(where_the_kernel_keeps_all_there_is_one_epoch,
      "photos 2000; shuffle 0 2000; shuffle 0 2000; shuffle 0 2000; shuffle 0 2000; "
      "shuffle 0 2000; epoch = 0; twice = 0")

/* Of N draws some N / e files are never drawn: what is read ahead is wasted at last. */
STORY(who_draws_with_replacement_is_left_alone_after_one_epoch,
      "epochs; draw 40000; recount; draw 100000; bytes < 22M; epoch > 2")

STORY(a_whole_epoch_after_a_broken_one_makes_the_next_one_stream,
      "epochs; shuffle 0 20000; draw 40000; shuffle 0 20000; shuffle 0 20000; shuffle 0 20000; "
      "hits > 18000")

TEST_WITH(epochs, sim, a_file_that_is_read_now_and_then_ends_no_epoch)
{
	const uint32_t *order = shuffled(PHOTOS);

	for (uint32_t i = 0; i < PHOTOS; i++) {
		demand(sim, order[i]);
		if (i % 4 == 0)
			demand(sim, 77); /* labels.txt */
	}
	assert_int_equal(sim->sweep.epoch, 0);
}

STORY(validation_in_between_belongs_to_the_epoch,
      "epochs; shuffle 0 18000; scan 18000-20000; epoch = 0; shuffle 0 18000; epoch = 1; "
      "scan 18000-20000; epoch = 1; shuffle 0 18000; epoch = 2; scan 18000-20000; epoch = 2; "
      "shuffle 0 18000; scan 18000-20000; epoch = 3; hits > 16200")

STORY(what_was_preloaded_is_not_preloaded_for_the_next_epoch,
      "epochs; preload; read; shuffle 0 20000; shuffle 0 200; epoch = 1; active = 0; "
      "planned 10000-20000 = 0")

/* A job that loops over a part of the pack, while the device is slow to bring the rest. */
static struct sim *preload_beside_readers(void)
{
	struct sim *sim = epochs_of(photos(PHOTOS));

	sim->forgets = false;
	sim->holds = true;
	sim->ratio = 0.5;
	plan_preload_begin(&sim->preload);
	return sim;
}

static void loop_over_each_20th(struct sim *sim)
{
	const uint32_t *order = shuffled(PHOTOS / 20);

	for (uint32_t i = 0; i < PHOTOS / 20; i++)
		demand(sim, 20 * (uint64_t)order[i]);
}

static uint64_t preloaded(const struct sim *sim)
{
	return sim->preload.bytes;
}

TEST(an_unfinished_preload_goes_on_in_the_next_epochs)
{
	struct sim *sim = preload_beside_readers();
	struct world *w = sim->world;
	uint64_t before = 0;

	while (preloaded(sim) < total_bytes(w)) {
		loop_over_each_20th(sim);
		assert_true(sim->preload.active);
		assert_true(preloaded(sim) > before);
		before = preloaded(sim);
	}
	assert_true(sim->sweep.epoch > 10);
	assert_nothing_planned_twice(w);
	for (uint64_t e = 0; e < PHOTOS; e++)
		assert_true(w->pooled[e]);
	loop_over_each_20th(sim);
	assert_false(sim->preload.active);
}

STORY(files_of_leaf_pages_are_preloaded_in_long_runs,
      "leaves 20000; preload; read; planned 0-20000 = 20000; runs < 156")

/* What readers are done with must not make room for what nobody asks for, epoch by epoch. */
TEST(a_preload_that_filled_the_memory_ends_with_the_epoch)
{
	struct sim *sim = preload_beside_readers();

	sim->memory = 300 * MIB;
	while (read_run(sim))
		;
	sim->memory = NO_END;
	while (sim->sweep.epoch == 0)
		loop_over_each_20th(sim);
	assert_false(sim->preload.active);
	assert_true(planned_in(sim->world, 0, PHOTOS) < PHOTOS / 2);
}

/* Readers who leave the device no time for a preload have done its work by their epoch's end. */
STORY(an_epoch_over_all_is_the_end_of_a_preload,
      "epochs; ratio 0; preload; shuffle 0 20000; active = 1; ratio 1; shuffle 0 20000; "
      "epoch = 1; active = 0; hits >= 12043; hits <= 13242")

static int release(void **state)
{
	(void)state;
	/* The last test's. */
	plan_sweep_release(&sim_of(photos(1))->sweep);
	return 0;
}

int main(void)
{
	return test_run(NULL, release);
}
