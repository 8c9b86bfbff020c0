/* What belongs together, on traces: cache/plan/plan_near.h. */
#include "cache/plan/plan_near.h"
#include "tests/unit/plan_world.h"

#define FRAME (30 * KIB)

static struct plan_near near_plan;
static struct plan *all; /* instead of near_plan alone: with all that cache/plan/plan.h has */

/* Directories of so many files each, branches that have the same directories, and the number of
 * stems that these share out. */
static struct {
	uint64_t directory, branch, stems;
	bool missing[MOST]; /* no such file */
	uint64_t lookups;
} tree;

static void tree_kin(void *context, uint64_t number, struct plan_kin *ret)
{
	const struct world *w = context;
	uint64_t first = number / tree.directory * tree.directory, end = first + tree.directory;

	*ret = (struct plan_kin){.file = number,
				 .file_end = number + 1,
				 .directory = first,
				 .directory_end = end < w->view.extents ? end : w->view.extents,
				 .stem = number % tree.stems};
}

/* The place within `unit` extents is kept. */
static uint64_t exchanged(uint64_t number, uint64_t to, uint64_t unit)
{
	return to / unit * unit + number % unit;
}

/* `from` and `to` lie in the same place of two branches, or else in two directories. */
static bool tree_namesake(void *context, uint64_t number, uint64_t from, uint64_t to, uint64_t *ret)
{
	uint64_t unit = from % tree.branch == to % tree.branch ? tree.branch : tree.directory;
	uint64_t found = exchanged(number, to, unit);

	(void)context;
	tree.lookups++;
	if (number / unit != from / unit || tree.missing[found])
		return false;
	*ret = found;
	return true;
}

/* The planner sees a world of `count` directories from its start. */
static struct world *planted(struct world *w, uint64_t directory, uint64_t branch)
{
	tree.directory = directory;
	tree.branch = tree.stems = branch;
	tree.lookups = 0;
	memset(tree.missing, 0, sizeof(tree.missing));
	w->view.kin = tree_kin;
	w->view.namesake = tree_namesake;
	plan_near_init(&near_plan);
	return w;
}

static struct world *folders(uint64_t count, uint64_t files)
{
	return planted(world_of(count * files, FRAME / 2, FRAME * 3 / 2), files, count * files);
}

/* Branch b has file b * count + i, for i below count: images, and so on. */
static struct world *branches(uint64_t branch, uint64_t count)
{
	return planted(world_of(branch * count, FRAME / 2, FRAME * 3 / 2), 50, count);
}

static bool next_run(struct world *w, struct plan_run *run)
{
	if (all)
		return plan_next(all, &w->limits, run);
	return plan_near_next(&near_plan, &w->view, &w->limits, run);
}

static void demand(struct world *w, uint64_t extent)
{
	struct plan_run run;

	world_ask(w, extent);
	if (all)
		plan_demand(all, extent);
	else
		plan_near_demand(&near_plan, &w->view, extent);
	w->served[extent] = true;
	while (next_run(w, &run))
		world_run(w, &run, w->limits.room);
}

/* Bytes brought in for each byte asked for. */
static double amplification(const struct world *w)
{
	return (double)(w->asked_bytes + wasted(w)) / (double)w->asked_bytes;
}

/* --- clips ----------------------------------------------------------------------------------- */

/* How each clip is read: `length` files from `from` on, by `step`, or in a random order. */
struct cut {
	uint64_t directory, from, length, done;
	int64_t step;
	bool shuffled;
	uint64_t order[64];
};

static void cut_shuffle(struct cut *cut)
{
	for (uint64_t i = 0; i < cut->length; i++)
		cut->order[i] = i;
	for (uint64_t i = cut->length; cut->shuffled && i > 1; i--) {
		uint64_t j = (uint64_t)random() % i, swap = cut->order[i - 1];

		cut->order[i - 1] = cut->order[j];
		cut->order[j] = swap;
	}
}

static uint64_t cut_next(struct cut *cut)
{
	int64_t at = (int64_t)cut->from + cut->step * (int64_t)cut->order[cut->done++];

	return cut->directory * tree.directory + (uint64_t)at;
}

/* Where a clip of so many frames may begin, whichever way it goes. */
static uint64_t random_start(const struct cut *like)
{
	uint64_t span = (uint64_t)llabs(like->step) * (like->length - 1);
	uint64_t at = (uint64_t)random() % (tree.directory - span);

	return like->step < 0 ? at + span : at;
}

#define READERS 4

/* As many readers, each with a clip of a directory of its own, in a random order of these. */
static void read_clips(struct world *w, const struct cut *like)
{
	uint32_t count = (uint32_t)(w->view.extents / tree.directory), begun = 0, ended = 0;
	const uint32_t *order = shuffled(count);
	struct cut cuts[READERS] = {0};

	while (ended < count) {
		struct cut *cut = &cuts[random() % READERS];

		if (cut->done == cut->length) {
			if (begun == count)
				continue;
			*cut = *like;
			cut->directory = order[begun++];
			cut->from = random_start(like);
			cut_shuffle(cut);
		}
		demand(w, cut_next(cut));
		ended += cut->done == cut->length;
	}
}

static void assert_clips(struct world *w, const struct cut *like, double hits)
{
	read_clips(w, like);
	assert_nothing_planned_twice(w);
	assert_true((double)w->hits >= hits * (double)w->demands);
	assert_true(amplification(w) < 1.01);
}

static void whole_clips_are_read_ahead_from_their_second_frame_on(void **state)
{
	(void)state;
	assert_clips(folders(1000, 16), &(struct cut){.length = 16, .step = 1}, 0.85);
	assert_clips(folders(1000, 60), &(struct cut){.length = 60, .step = 1}, 0.95);
}

static void frames_may_come_in_any_order(void **state)
{
	(void)state;
	assert_clips(folders(1000, 16), &(struct cut){.length = 16, .step = 1, .shuffled = true},
		     0.85);
}

static void a_rest_comes_in_one_run(void **state)
{
	struct world *w = folders(1000, 16);

	(void)state;
	read_clips(w, &(struct cut){.length = 16, .step = 1});
	assert_true(w->runs < 1010);
	assert_true(w->bytes > total_bytes(w) * 8 / 10);
}

static void eight_frames_of_a_long_clip_are_eight(void **state)
{
	(void)state;
	assert_clips(folders(1000, 64), &(struct cut){.length = 8, .step = 1}, 0.7);
}

static void steps_are_followed_whichever_way_they_go(void **state)
{
	(void)state;
	assert_clips(folders(1000, 64), &(struct cut){.length = 8, .step = 7}, 0.7);
	assert_clips(folders(1000, 64), &(struct cut){.length = 8, .step = -7}, 0.7);
	assert_clips(folders(1000, 64), &(struct cut){.length = 16, .step = -1}, 0.8);
}

static void some_frames_of_each_in_no_order_are_no_habit(void **state)
{
	struct world *w = folders(1000, 60);

	(void)state;
	read_clips(w, &(struct cut){.length = 8, .step = 7, .shuffled = true});
	assert_int_equal(w->runs, 0);
}

/* As many forecasts may be open as were believed in, and fail. */
static void a_habit_that_is_given_up_costs_a_few_directories(void **state)
{
	struct world *w = folders(2000, 16);
	uint64_t runs;

	(void)state;
	for (uint64_t e = 0; e < 16 * 500; e++)
		demand(w, e);
	assert_true(w->hits > 16 * 400);
	for (uint64_t d = 500; d < 1500; d++)
		for (uint64_t i = 0; i < 2; i++)
			demand(w, d * 16 + i * 9);
	assert_true(wasted(w) <= 8 * 16 * FRAME);
	runs = w->runs;
	for (uint64_t e = 16 * 1500; e < 16 * 2000; e++)
		demand(w, e);
	assert_true(w->runs > runs + 480);
}

/* Of directories of 20, one in `odds` is left after two files; the others after 18. */
static void read_most(struct world *w, int odds)
{
	for (uint64_t d = 0; d < 3000; d++) {
		uint64_t count = random() % odds ? 18 : 2;

		for (uint64_t i = 0; i < count; i++)
			demand(w, d * 20 + i * 3 % 20);
	}
}

static void read_most_partners(struct world *w, int odds)
{
	const uint32_t *order = shuffled(20000);

	for (uint64_t i = 0; i < 20000; i++) {
		demand(w, order[i]);
		if (random() % odds)
			demand(w, 20000 + order[i]);
	}
}

static void habits_that_hardly_hold_cost_a_quarter_at_most(void **state)
{
	(void)state;
	for (int odds = 4; odds < 16; odds++) {
		struct world *w = folders(3000, 20);

		read_most(w, odds);
		assert_true(w->runs > 100);
		assert_true(amplification(w) < 1.25);

		w = branches(2, 20000);
		read_most_partners(w, odds);
		assert_true(w->runs > 100);
		assert_true(amplification(w) < 1.25);
	}
}

static void large_directories_are_not_read_to_their_end(void **state)
{
	struct world *w = folders(100, 600); /* 18 MB each */

	(void)state;
	for (uint64_t e = 0; e < 600 * 100; e++)
		demand(w, e / 600 * 600 + e * 7 % 600);
	assert_int_equal(near_plan.whole.score, 8);
	assert_int_equal(w->runs, 0);
	w->limits.run = 8 * MIB;
	for (uint64_t e = 0; e < w->view.extents; e++)
		w->pooled[e] = w->served[e] = false;
	for (uint64_t e = 0; e < 600 * 100; e++)
		demand(w, e / 600 * 600 + e * 7 % 600);
	assert_true(w->runs > 100);
}

static void clips_are_read_ahead_in_each_epoch(void **state)
{
	struct world *w = folders(40, 16); /* as few as are recent */

	(void)state;
	for (int epoch = 0; epoch < 3; epoch++) {
		forget_pool(w);
		for (uint64_t e = 0; e < 16 * 40; e++)
			demand(w, e);
		assert_nothing_planned_twice(w);
		assert_true(w->hits >= 14 * 35);
	}
}

static bool kept[MOST];

static bool is_kept(void *context, uint64_t number)
{
	(void)context;
	return kept[number];
}

/* Every other one, but for some of its frames. */
static void clips_that_the_kernel_keeps_break_no_habit(void **state)
{
	enum { CLIPS = 400, FRAMES = 60 };
	struct world *w = folders(CLIPS, FRAMES);
	const uint32_t *order = shuffled(CLIPS);

	(void)state;
	for (uint64_t e = 0; e < CLIPS * FRAMES; e++)
		demand(w, e);
	for (uint64_t e = 0; e < CLIPS * FRAMES; e++)
		kept[e] = e / FRAMES % 2 == 0 && e % 16 != 3;
	w->view.kept = is_kept;
	forget_pool(w);
	for (uint64_t i = 0; i < CLIPS; i++)
		for (uint64_t e = order[i] * FRAMES; e < (order[i] + 1) * FRAMES; e++)
			if (!kept[e])
				demand(w, e);
	assert_true(w->hits >= CLIPS / 2 * FRAMES / 10 * 9);
}

/* Each begins anew before it was forgotten. */
static void two_clips_are_read_ahead_again_and_again(void **state)
{
	struct world *w = folders(2, 60);

	(void)state;
	for (int epoch = 0; epoch < 5; epoch++) {
		forget_pool(w);
		for (uint64_t e = 0; e < 2 * 60; e++)
			demand(w, e);
		assert_true(epoch < 2 || w->hits == 2 * 58);
	}
}

/* The kernel let go of it in between, and the pool does at once. */
static void what_was_asked_for_in_this_visit_is_not_planned_again(void **state)
{
	struct world *w = folders(100, 16);

	(void)state;
	memset(w->served, 1, sizeof(w->served));
	for (uint64_t e = 0; e < 16 * 100; e++) {
		demand(w, e);
		w->pooled[e] = false;
	}
	assert_true(w->hits >= 14 * 90);
	for (uint64_t e = 16 * 50; e < 16 * 100; e++)
		assert_int_equal(w->planned[e], e % 16 > 1);
}

static void steps_that_end_are_not_followed(void **state)
{
	struct world *w = folders(100, 64);

	(void)state;
	read_clips(w, &(struct cut){.length = 8, .step = 7});
	forget_pool(w);
	w->limits.room = 0;
	for (uint64_t e = 0; e < 14; e += 7)
		demand(w, e);
	assert_true(plan_near_wants(&near_plan));
	demand(w, 60);
	assert_false(plan_near_wants(&near_plan));
}

static void what_the_kernel_has_is_left_out(void **state)
{
	struct world *w = folders(100, 16);

	(void)state;
	for (uint64_t e = 10; e < 1600; e += 16)
		w->served[e] = true;
	for (uint64_t e = 0; e < 1600; e++)
		if (e % 16 != 10) /* 15 of 16 are nearly all */
			demand(w, e);
	assert_true(w->hits > 1200);
	for (uint64_t e = 10; e < 1600; e += 16)
		assert_int_equal(w->planned[e], 0);
}

/* --- no clips -------------------------------------------------------------------------------- */

static void assert_shuffled_folders_are_left_alone(uint64_t count, uint64_t files)
{
	struct world *w = folders(count, files);

	for (int epoch = 0; epoch < 3; epoch++) {
		const uint32_t *order = shuffled((uint32_t)(count * files));

		forget_pool(w);
		for (uint64_t i = 0; i < count * files; i++)
			demand(w, order[i]);
		assert_int_equal(w->runs, 0);
	}
}

static void shuffled_image_folders_are_no_clips(void **state)
{
	(void)state;
	assert_shuffled_folders_are_left_alone(50, 1300);
	assert_shuffled_folders_are_left_alone(1300, 50);
	assert_shuffled_folders_are_left_alone(200, 60);
	assert_shuffled_folders_are_left_alone(6000, 4);
	assert_shuffled_folders_are_left_alone(100, 600);
}

/* As the caption of plan_near.c has it, for both kinds in one pack. */
static void shuffled_classes_beside_clips_cost_a_few_classes(void **state)
{
	struct world *w = folders(4000, 16);
	const uint32_t *order = shuffled(2000 * 16);

	(void)state;
	for (uint64_t i = 0; i < 2000 * 16; i++) {
		demand(w, i);
		demand(w, 2000 * 16 + order[i]);
	}
	assert_true(amplification(w) < 1.01);
}

static void nothing_is_looked_at_in_a_flat_folder_of_a_million(void **state)
{
	struct world *w = folders(1, 10);
	struct plan_run run;

	(void)state;
	w->view.extents = tree.directory = tree.branch = tree.stems = 1000000;
	for (int i = 0; i < 100000; i++) {
		plan_near_demand(&near_plan, &w->view, (uint64_t)random() % 1000000 / 64 * 64);
		w->view.extents = 10; /* for the questions that the planner may ask from now on */
		assert_false(plan_near_wants(&near_plan));
		assert_false(plan_near_next(&near_plan, &w->view, &w->limits, &run));
		w->view.extents = 1000000;
	}
	assert_int_equal(tree.lookups, 0);
}

static void a_view_without_files_is_fine(void **state)
{
	struct world *w = folders(100, 16);

	(void)state;
	w->view.kin = NULL;
	w->view.namesake = NULL;
	for (uint64_t e = 0; e < 1600; e++)
		demand(w, e);
	assert_int_equal(w->runs, 0);
}

/* --- pairs ----------------------------------------------------------------------------------- */

/* Workers that each ask for image after image, and for what belongs to it in the other branches
 * as far as it is there. Returns how many of those were planned before. */
static uint64_t read_together(struct world *w, uint64_t workers, const uint32_t *images,
			      uint64_t count)
{
	struct {
		uint64_t image, branch;
	} at[64];
	uint64_t kinds = w->view.extents / tree.branch, begun = 0, left = count, before;

	for (uint64_t i = 0; i < workers; i++)
		at[i].branch = kinds;
	before = w->hits;
	while (left) {
		uint64_t i = (uint64_t)random() % workers, extent;

		if (at[i].branch == kinds) {
			if (begun == count)
				continue;
			at[i].image = images[begun++];
			at[i].branch = 0;
		}
		extent = at[i].branch++ * tree.branch + at[i].image;
		left -= at[i].branch == kinds;
		if (!tree.missing[extent])
			demand(w, extent);
	}
	return w->hits - before;
}

static void masks_come_with_their_images(void **state)
{
	const uint64_t workers[] = {1, 4, 16};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct world *w = branches(2, 20000);
		const uint32_t *order = shuffled(20000);

		read_together(w, workers[i], order, 200);
		assert_true(read_together(w, workers[i], order + 200, 19800) > 19800 * 95 / 100);
		assert_nothing_planned_twice(w);
		assert_int_equal(planned_in(w, 0, 20000), 0);
		assert_int_equal(wasted(w), 0);
	}
}

static void a_pair_is_believed_in_at_the_third_time(void **state)
{
	struct world *w = branches(2, 20000);

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		demand(w, i * 1000);
		assert_int_equal(w->runs, i == 3);
		demand(w, i * 1000 + 20000);
	}
	assert_int_equal(w->hits, 1);
}

static void an_image_may_have_several_partners(void **state)
{
	struct world *w = branches(4, 10000);
	const uint32_t *order = shuffled(10000);

	(void)state;
	read_together(w, 4, order, 500);
	assert_true(read_together(w, 4, order + 500, 9500) > 3 * 9500 * 95 / 100);
	assert_int_equal(wasted(w), 0);
	assert_nothing_planned_twice(w);
}

/* Not one after the other. */
static void all_partners_come_with_the_first_of_them(void **state)
{
	struct world *w = branches(4, 10000);
	const uint32_t *order = shuffled(10000);

	(void)state;
	read_together(w, 1, order, 100);
	demand(w, order[100]);
	for (uint64_t b = 1; b < 4; b++)
		assert_int_equal(w->planned[b * 10000 + order[100]], 1);
}

/* Then it will not be asked for again, which does not count against the pair. */
static void a_partner_that_came_first_is_not_waited_for(void **state)
{
	struct world *w = branches(2, 20000);
	const uint32_t *order = shuffled(20000);

	(void)state;
	memset(w->served, 1, sizeof(w->served)); /* in an epoch before */
	read_together(w, 1, order, 100);
	for (uint64_t i = 100; i < 300; i++) {
		demand(w, 20000 + order[i]);
		demand(w, order[i]);
	}
	assert_true(wasted(w) == 0);
	demand(w, order[300]);
	assert_int_equal(w->planned[20000 + order[300]], 1);
}

/* Nothing ever shows whether they are pairs. */
static void pairs_by_chance_do_not_keep_others_from_being_learned(void **state)
{
	struct world *w = branches(2, 20000);
	const uint32_t *order = shuffled(20000);

	(void)state;
	tree.stems = tree.directory;
	for (uint64_t d = 0; d < 4; d++)
		demand(w, d * tree.directory + 7);
	tree.stems = tree.branch;
	read_together(w, 4, order, 200);
	assert_true(read_together(w, 4, order + 200, 1000) > 950);
}

static void partners_that_do_not_exist_are_not_missed(void **state)
{
	struct world *w = branches(2, 20000);
	const uint32_t *order = shuffled(20000);
	uint64_t there = 0;

	(void)state;
	for (uint64_t i = 0; i < 20000; i++)
		tree.missing[20000 + i] = random() % 2;
	read_together(w, 4, order, 200);
	for (uint64_t i = 200; i < 20000; i++)
		there += !tree.missing[20000 + order[i]];
	assert_true(read_together(w, 4, order + 200, 19800) > there * 95 / 100);
	assert_int_equal(wasted(w), 0);
}

static void a_pair_is_forgotten_when_partners_are_not_asked_for(void **state)
{
	struct world *w = branches(2, 20000);
	const uint32_t *order = shuffled(20000);
	uint64_t lookups;

	(void)state;
	read_together(w, 4, order, 5000);
	for (uint64_t i = 5000; i < 10000; i++)
		demand(w, order[i]);
	assert_true(wasted(w) <= 32 * FRAME * 3 / 2);
	lookups = tree.lookups;
	for (uint64_t i = 10000; i < 15000; i++)
		demand(w, order[i]);
	assert_int_equal(tree.lookups, lookups);
	read_together(w, 4, order + 15000, 200);
	assert_true(read_together(w, 4, order + 15200, 4800) > 4800 * 95 / 100);
}

/* One asked for in three is not worth reading all of them. */
static void partners_asked_for_now_and_then_are_not_read(void **state)
{
	struct world *w = branches(2, 20000);
	const uint32_t *order = shuffled(20000);

	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		demand(w, order[i]);
		if (random() % 3 == 0)
			demand(w, 20000 + order[i]);
	}
	assert_true(amplification(w) < 1.05);
}

static void a_partner_that_is_there_is_not_read(void **state)
{
	struct world *w = branches(2, 20000);
	const uint32_t *order = shuffled(20000);

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		if (i % 2)
			w->pooled[20000 + order[i]] = true;
		demand(w, order[i]);
		demand(w, 20000 + order[i]);
	}
	for (uint64_t i = 10; i < 1000; i++)
		assert_int_equal(w->planned[20000 + order[i]], i % 2 == 0);
}

/* It is not asked for either; that does not count against the pair. */
static void a_partner_that_the_kernel_has_is_not_read(void **state)
{
	struct world *w = branches(2, 20000);
	const uint32_t *order = shuffled(20000);

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		w->served[20000 + order[i]] = i >= 10 && i < 800;
		demand(w, order[i]);
		if (!w->served[20000 + order[i]])
			demand(w, 20000 + order[i]);
	}
	for (uint64_t i = 3; i < 1000; i++)
		assert_int_equal(w->planned[20000 + order[i]], i < 10 || i >= 800);
}

static void partners_wait_for_room(void **state)
{
	struct world *w = branches(2, 20000);
	struct plan_run run;

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		demand(w, i * 7);
		demand(w, 20000 + i * 7);
	}
	w->limits.room = 0;
	demand(w, 777);
	assert_true(plan_near_wants(&near_plan));
	w->limits.room = MIB;
	assert_true(plan_near_next(&near_plan, &w->view, &w->limits, &run));
	assert_int_equal(run.extents[0], 20777);
	assert_false(plan_near_wants(&near_plan));
}

/* Frames are numbered so in each video: which of the files with that number is the partner? */
static void partners_are_found_where_each_folder_has_the_same_numbers(void **state)
{
	struct world *w = branches(2, 20000);
	const uint32_t *order = shuffled(20000);

	(void)state;
	tree.stems = tree.directory;
	read_together(w, 4, order, 500);
	assert_true(read_together(w, 4, order + 500, 19500) > 19500 * 95 / 100);
	assert_true(amplification(w) < 1.01);
	assert_true(tree.lookups < 20 * w->demands);
}

/* Stems meet by chance: of few classes, or when there are few numbers. */
static void the_same_numbers_in_each_class_are_no_pairs(void **state)
{
	const struct {
		uint64_t classes, files;
	} trees[] = {{2, 12500}, {50, 1300}, {1300, 50}, {10, 5000}, {200, 60}};

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct world *w = folders(trees[i].classes, trees[i].files);
		uint32_t count = (uint32_t)w->view.extents;

		tree.stems = tree.directory;
		for (int epoch = 0; epoch < 3; epoch++) {
			const uint32_t *order = shuffled(count);

			forget_pool(w);
			for (uint32_t k = 0; k < count; k++)
				demand(w, order[k]);
			assert_true(w->runs <= 3);
		}
		assert_true(tree.lookups < 20 * (uint64_t)count);
	}
}

/* --- with the other forecasts ---------------------------------------------------------------- */

static void plan_everything(struct world *w)
{
	const struct plan_params params = {.view = w->view, .readahead = 16 * MIB, .shared = true};

	plan_free(all);
	assert_int_equal(plan_new(&params, &all), 0);
}

static int plan_near_alone(void **state)
{
	(void)state;
	plan_free(all);
	all = NULL;
	return 0;
}

static void forget_everything(struct world *w)
{
	forget_pool(w);
	memset(w->served, 0, sizeof(w->served));
}

/* Until it is known the scans read far beyond it, 16 MiB each. */
static void a_scan_does_not_go_beyond_a_clip_that_is_known(void **state)
{
	struct world *w = folders(1000, 64);
	const struct cut clip = {.length = 8, .step = 1};

	(void)state;
	plan_everything(w);
	read_clips(w, &clip);
	assert_true(amplification(w) < 1.5);
	forget_everything(w);
	read_clips(w, &clip);
	assert_true(w->hits > w->demands * 7 / 10);
	assert_true(amplification(w) < 1.02);
}

static void a_scan_of_all_clips_is_not_held_up(void **state)
{
	struct world *w = folders(1000, 16);

	(void)state;
	plan_everything(w);
	for (uint64_t e = 0; e < 16000; e++)
		demand(w, e);
	assert_true(w->hits > 15990);
	assert_nothing_planned_twice(w);
}

/* What is too long for one go is left to the scan that it is, however well it is foreseen. */
static void a_scan_of_a_long_clip_is_not_held_up(void **state)
{
	struct world *w = folders(100, 600);

	(void)state;
	plan_everything(w);
	w->limits.run = 256 * KIB;
	read_clips(w, &(struct cut){.length = 60, .step = 1});
	assert_true(w->hits > w->demands * 9 / 10);
	forget_everything(w);
	for (uint64_t d = 0; d < 100; d++)
		for (uint64_t i = 0; i < 600; i++)
			demand(w, d * 37 % 100 * 600 + i);
	assert_true(w->hits > w->demands * 99 / 100);
}

static void a_plan_reads_pairs_and_clips(void **state)
{
	struct world *w = branches(2, 20000);

	(void)state;
	plan_everything(w);
	read_together(w, 4, shuffled(2000), 2000);
	assert_true(w->hits > 1800);
	assert_true(amplification(w) < 1.25);

	w = folders(1000, 16);
	plan_everything(w);
	read_clips(w, &(struct cut){.length = 16, .step = 1, .shuffled = true});
	assert_true(w->hits > 1000 * 13);
	assert_true(amplification(w) < 1.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_clips_are_read_ahead_from_their_second_frame_on),
		cmocka_unit_test(frames_may_come_in_any_order),
		cmocka_unit_test(a_rest_comes_in_one_run),
		cmocka_unit_test(eight_frames_of_a_long_clip_are_eight),
		cmocka_unit_test(steps_are_followed_whichever_way_they_go),
		cmocka_unit_test(some_frames_of_each_in_no_order_are_no_habit),
		cmocka_unit_test(a_habit_that_is_given_up_costs_a_few_directories),
		cmocka_unit_test(habits_that_hardly_hold_cost_a_quarter_at_most),
		cmocka_unit_test(large_directories_are_not_read_to_their_end),
		cmocka_unit_test(clips_are_read_ahead_in_each_epoch),
		cmocka_unit_test(clips_that_the_kernel_keeps_break_no_habit),
		cmocka_unit_test(two_clips_are_read_ahead_again_and_again),
		cmocka_unit_test(what_was_asked_for_in_this_visit_is_not_planned_again),
		cmocka_unit_test(steps_that_end_are_not_followed),
		cmocka_unit_test(what_the_kernel_has_is_left_out),
		cmocka_unit_test(shuffled_image_folders_are_no_clips),
		cmocka_unit_test(shuffled_classes_beside_clips_cost_a_few_classes),
		cmocka_unit_test(nothing_is_looked_at_in_a_flat_folder_of_a_million),
		cmocka_unit_test(a_view_without_files_is_fine),
		cmocka_unit_test(masks_come_with_their_images),
		cmocka_unit_test(a_pair_is_believed_in_at_the_third_time),
		cmocka_unit_test(an_image_may_have_several_partners),
		cmocka_unit_test(all_partners_come_with_the_first_of_them),
		cmocka_unit_test(a_partner_that_came_first_is_not_waited_for),
		cmocka_unit_test(pairs_by_chance_do_not_keep_others_from_being_learned),
		cmocka_unit_test(partners_that_do_not_exist_are_not_missed),
		cmocka_unit_test(a_pair_is_forgotten_when_partners_are_not_asked_for),
		cmocka_unit_test(partners_asked_for_now_and_then_are_not_read),
		cmocka_unit_test(a_partner_that_is_there_is_not_read),
		cmocka_unit_test(a_partner_that_the_kernel_has_is_not_read),
		cmocka_unit_test(partners_wait_for_room),
		cmocka_unit_test(partners_are_found_where_each_folder_has_the_same_numbers),
		cmocka_unit_test(the_same_numbers_in_each_class_are_no_pairs),
		cmocka_unit_test_teardown(a_scan_does_not_go_beyond_a_clip_that_is_known,
					  plan_near_alone),
		cmocka_unit_test_teardown(a_scan_of_all_clips_is_not_held_up, plan_near_alone),
		cmocka_unit_test_teardown(a_scan_of_a_long_clip_is_not_held_up, plan_near_alone),
		cmocka_unit_test_teardown(a_plan_reads_pairs_and_clips, plan_near_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
