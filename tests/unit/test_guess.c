/* From what was seen to an order: cache/order/guess.h, where chance must be out of what was seen.
 * The search is told where to look: it tries seeds around the right one only, and counts what it
 * would have had to try. */
#include "cache/order/guess.h"
#include "cache/order/mt19937.h"
#include "cache/order/permutation.h"
#include "tests/unit/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST  50000
#define SEEN  30    /* files of a reader: enough, but for one that begins in the middle */
#define BASE  100   /* the first file */
#define SMALL 50021 /* a seed that is no convention, and below GUESS_SMALL */
#define LARGE 3000000019u

struct world {
	struct observations observations;
	struct order_list *lists[3];
	unsigned list_count;
	unsigned small, all; /* searches */
	uint32_t near;	     /* the seed around which is searched */
	bool all_seeds, over;
	unsigned patience; /* so often it goes on; 0: as long as it is not over */
	struct hypothesis found;
};

static uint32_t order[MOST];

static void setup(struct world *world)
{
	*world = (struct world){0};
}

static void teardown(struct world *world)
{
	for (unsigned i = 0; i < world->list_count; i++)
		order_list_free(world->lists[i]);
}

/* --- its surroundings ------------------------------------------------------------------------ */

static unsigned search(void *context, const struct seeds *seeds, uint64_t from, uint64_t to,
		       struct seeds_found *ret, unsigned most)
{
	struct world *world = context;
	uint32_t near = world->near / SEEDS_STEP * SEEDS_STEP;

	assert_int_equal(from, 0);
	world->small += to == GUESS_SMALL;
	world->all += to == SEEDS_ALL;
	return near < to ? seeds_search(seeds, near, ret, most) : 0;
}

static bool is_over(void *context)
{
	struct world *world = context;

	if (world->patience && --world->patience == 0)
		world->over = true;
	return world->over;
}

/* With more and more effort, as the oracle does. */
static bool find(struct world *world)
{
	const struct search_hooks hooks = {.context = world, .search = search, .over = is_over};
	unsigned all = world->all_seeds ? GUESS_ALL : 0;

	return guess(&world->observations, GUESS_LIKELY | GUESS_RANKS | GUESS_MORE | all, &hooks,
		     &world->found);
}

/* A list of n files from `base` on. */
static const struct order_list *add_list(struct world *world, uint32_t base, uint32_t n)
{
	uint32_t *files = malloc(n * sizeof(*files));
	struct order_list *list;

	assert_non_null(files);
	for (uint32_t i = 0; i < n; i++)
		files[i] = base + i;
	assert_int_equal(order_list_copy("files", files, n, &list), 0);
	free(files);
	world->lists[world->list_count++] = list;
	world->observations.lists[world->observations.list_count++] = list;
	return list;
}

/* A reader took the first `count` of the order, from `base` on. */
static void see(struct world *world, uint32_t reader, uint32_t base, const uint32_t *indices,
		uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		world->observations.seen[world->observations.count++] = (struct watch_access){
			.reader = reader, .file = base + indices[i], .nth = i};
	if (count < world->observations.shortest)
		world->observations.shortest = count;
}

static void see_anew(struct world *world, uint32_t count)
{
	world->observations.count = 0;
	world->observations.shortest = WATCH_BEGINNING;
	see(world, 7, BASE, order, count);
}

/* Files, and a reader that has begun with them under a seed. */
static const struct order_list *begin(struct world *world, uint32_t seed)
{
	const struct order_list *list = add_list(world, BASE, 5000);

	permutation_of(seed, order, 5000);
	see_anew(world, SEEN);
	return list;
}

static void know(struct world *world, const struct order_list *list, uint32_t seed, uint64_t epoch)
{
	world->observations.known[world->observations.known_count++] =
		(struct hypothesis){.list = list, .sampler = {.seed = seed}, .epoch = epoch};
}

static void know_pass(struct world *world, const struct sampler *sampler)
{
	world->observations.known[world->observations.known_count++] =
		(struct hypothesis){.list = world->observations.lists[0], .sampler = *sampler};
}

static uint32_t word_of(uint32_t root, uint64_t word)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	mt19937_skip(&mt, word);
	return mt19937_next(&mt);
}

/* --- how much must have been seen ------------------------------------------------------------ */

/* With which depth chance has one of `tried` orders fit, once in a million times, where one
 * reader was seen: all that it read, the first sixteen of which may have been the first. */
static uint32_t enough(double tried, double n)
{
	double d = 2;

	while (tried * fmin(d, SEEDS_FIRSTS) / n * pow(d / n, d - 1) >= GUESS_ODDS)
		d++;
	return (uint32_t)d;
}

FIXTURE(world, struct world, setup, teardown);

/* Of few files more must be seen than of many. */
TEST_OF(world, it_is_sure_as_soon_as_chance_is_out_of_the_question)
{
	const uint32_t counts[] = {100, 1000, 50000};
	uint32_t before = WATCH_BEGINNING;

	for (unsigned i = 0; i < 3; i++) {
		uint32_t n = counts[i], sure = enough((double)GUESS_FEW * 2, n);

		world->near = SMALL;
		add_list(world, BASE, n);
		permutation_of(SMALL, order, n);
		see_anew(world, sure - 1);
		assert_false(find(world));
		see_anew(world, sure);
		assert_true(find(world));
		assert_int_equal(world->found.sampler.seed, SMALL);
		assert_ptr_equal(world->found.list, world->lists[0]);
		assert_true(sure < before);
		before = sure;
		teardown(world);
		setup(world);
	}
}

/* Eight workers with four files each have 32, but it is not known that four of one were not all of
 * them at the beginning of batches; eight of each are more than enough. */
TEST_OF(world, the_longest_beginning_must_be_deep_enough)
{
	world->near = SMALL;
	add_list(world, BASE, 5000);
	permutation_of(SMALL, order, 5000);
	for (uint32_t count = 4; count <= 8; count += 4) {
		world->observations.count = 0;
		for (uint32_t worker = 0; worker < 8; worker++)
			see(world, 10 + worker, BASE, order + worker * 32, count);
		assert_int_equal(find(world), count == 8);
	}
	assert_int_equal(world->found.sampler.seed, SMALL);
}

/* The first files of a program may have been a look at the data. */
TEST_OF(world, a_look_at_the_data_first_is_no_hindrance)
{
	world->near = SMALL;
	add_list(world, BASE, 5000);
	permutation_of(SMALL, order, 5000);
	memmove(order + 3, order, 30 * sizeof(*order));
	for (uint32_t i = 0; i < 3; i++)
		order[i] = i;
	see_anew(world, SEEN);
	assert_true(find(world));
	assert_int_equal(world->found.sampler.seed, SMALL);
}

TEST_OF(world, a_scan_is_not_searched_for)
{
	world->near = SMALL;
	world->all_seeds = true;
	add_list(world, BASE, 5000);
	for (uint32_t i = 0; i < SEEN; i++)
		order[i] = 1000 + i;
	see_anew(world, SEEN);
	assert_false(find(world));
	assert_int_equal(world->small + world->all, 0);
	permutation_of(LARGE, order, 5000);
	see_anew(world, SEEN);
	assert_false(find(world));
	assert_true(world->small > 0 && world->all > 0);
}

/* Of a class of 100 files, more than half were seen. */
TEST_OF(world, a_scan_of_a_small_list_is_one_too)
{
	world->near = SMALL;
	add_list(world, BASE, 100);
	for (uint32_t i = 0; i < SEEN; i++)
		order[i] = i;
	see_anew(world, SEEN);
	assert_true(guess_is_scan(&world->observations));
	permutation_of(LARGE, order, 100);
	see_anew(world, SEEN);
	assert_false(guess_is_scan(&world->observations));
}

/* --- which way ------------------------------------------------------------------------------- */

/* A generator that DataLoader took its base_seed from first. */
TEST_OF(world, an_order_after_two_outputs_is_found)
{
	struct mt19937 mt;

	world->near = SMALL;
	add_list(world, BASE, 5000);
	mt19937_init(&mt, SMALL);
	mt19937_skip(&mt, 2);
	permutation_next(&mt, order, 5000);
	see_anew(world, SEEN);
	assert_true(find(world));
	assert_int_equal(world->found.sampler.seed, SMALL);
	assert_int_equal(world->found.sampler.skip, 2);
}

/* Those from `first` on, of so many. */
static void assert_ranks(const struct sampler_part *part, uint32_t world, uint32_t first,
			 uint32_t ranks)
{
	assert_int_equal(part->world, world);
	for (uint32_t i = 0; i < world && i < 64; i++)
		assert_true(!(part->ranks >> i & 1) ||
			    (part->first + i + world - first) % world < ranks);
	assert_int_equal(__builtin_popcountll(part->ranks), ranks);
}

/* Of a rank, what each of its workers reads, which take batches in turn, or what it reads itself.
 */
static void see_rank(struct world *world, struct sampler sampler, uint32_t workers, uint32_t batch,
		     uint32_t seen)
{
	uint32_t each = workers ? workers : 1, own[SEEN];

	sampler.part.ranks = 1;
	assert_true(sampler_order(&sampler, MOST, order) > (SEEN + batch) * each);
	for (uint32_t worker = 0; worker < each; worker++) {
		for (uint32_t i = 0; i < SEEN; i++)
			own[i] = order[workers ? (i / batch * workers + worker) * batch + i % batch
					       : i];
		see(world, 20 + 64 * sampler.part.first + worker, BASE, own, seen);
	}
}

/* Which ranks of a job are here, how they read, and of which world they are found to be; 0: not
 * yet. */
static const struct job {
	uint32_t seed, world, first, ranks, found;
	uint32_t workers, batch; /* of each rank */
	uint32_t seen[8];	 /* of each; 0: SEEN */
} jobs[] = {
	/* The ranks of this node. */
	{SMALL, 8, 4, 2, 8, 0, 0, {0}},
	{SMALL, 8, 0, 4, 8, 0, 0, {0}},
	{SMALL, 8, 4, 4, 8, 0, 0, {0}},
	{SMALL, 16, 0, 8, 16, 0, 0, {0}},
	{SMALL, 16, 8, 8, 16, 0, 0, {0}},
	{SMALL, 16, 15, 2, 16, 0, 0, {0}},
	{SMALL, 64, 0, 8, 64, 0, 0, {0}},
	{SMALL, 64, 24, 8, 64, 0, 0, {0}},
	/* One of many, more than the search knows: of a seed that epochs count from. */
	{90, 17, 16, 1, 17, 0, 0, {0}},
	{90, 32, 31, 1, 32, 0, 0, {0}},
	{90, 64, 40, 1, 64, 0, 0, {0}},
	{90, 128, 127, 1, 128, 0, 0, {0}},
	{90, 250, 3, 1, 250, 0, 0, {0}},
	/* All are here: a permutation as any other, the simplest explanation. */
	{SMALL, 2, 0, 2, 1, 0, 0, {0}},
	/* Those that have hardly begun are not left out; of the last ones, one may begin yet. */
	{SMALL, 2, 0, 2, 1, 0, 0, {SEEN, 1}},
	{SMALL, 4, 0, 3, 4, 0, 0, {0}},
	{SMALL, 8, 0, 8, 1, 0, 0, {9, 8, 9, 9, 2, 9, 8, 1}},
	{SMALL, 8, 0, 7, 0, 0, 0, {6, 6, 6, 6, 6, 6, 6}},
	/* Workers are not taken for ranks. */
	{SMALL, 1, 0, 1, 1, 8, 1, {0}},
	{SMALL, 1, 0, 1, 1, 8, 2, {0}},
	{SMALL, 1, 0, 1, 1, 8, 32, {0}},
	{SMALL, 4, 1, 1, 4, 3, 1, {0}},
	{SMALL, 4, 3, 1, 4, 4, 2, {0}},
};

TEST_OF(world, the_ranks_of_this_node_are_found_and_told_from_workers)
{
	for (const struct job *job = jobs; job < jobs + sizeof(jobs) / sizeof(*jobs); job++) {
		print_message("job %d\n", (int)(job - jobs));
		world->near = SMALL;
		add_list(world, BASE, MOST);
		for (uint32_t i = 0; i < job->ranks; i++) {
			struct sampler sampler = {.seed = job->seed,
						  .part = {.world = job->world, .unit = 1}};

			sampler.part.first = (job->first + i) % job->world;
			see_rank(world, sampler, job->workers, job->batch,
				 i < 8 && job->seen[i] ? job->seen[i] : SEEN);
		}
		assert_int_equal(find(world), job->found > 0);
		if (job->found) {
			assert_int_equal(world->found.sampler.seed, job->seed);
			assert_int_equal(sampler_world(&world->found.sampler), job->found);
		}
		if (job->found > 1)
			assert_ranks(&world->found.sampler.part, job->world, job->first,
				     job->ranks);
		teardown(world);
		setup(world);
	}
}

TEST_OF(world, a_rank_that_begins_later_is_found_by_the_others)
{
	struct sampler sampler = {.seed = LARGE, .part = {.world = 8, .unit = 1, .first = 6}};

	know(world, add_list(world, BASE, MOST), LARGE, 0);
	world->observations.known[0].sampler.part =
		(struct sampler_part){.world = 8, .unit = 1, .first = 0, .ranks = 0x3f};
	see_rank(world, sampler, 0, 0, SEEN);
	sampler.part.first = 7;
	see_rank(world, sampler, 0, 0, SEEN);
	assert_true(find(world));
	assert_int_equal(world->found.sampler.seed, LARGE);
	assert_ranks(&world->found.sampler.part, 8, 6, 2);
	assert_int_equal(world->small, 0);
}

/* torch.manual_seed(42), of which DataLoader draws the seed of its sampler. */
TEST_OF(world, a_convention_is_found_without_a_search)
{
	begin(world, word_of(42, 3));
	assert_true(find(world));
	assert_int_equal(world->found.sampler.rule, SAMPLER_WORDS);
	assert_int_equal(world->found.sampler.root, 42);
	assert_int_equal(world->small, 0);
}

/* --- what is known --------------------------------------------------------------------------- */

/* No search would have found it. */
TEST_OF(world, what_follows_a_known_pass_is_tried_first)
{
	const struct order_list *list = begin(world, LARGE + 1);

	assert_false(find(world));
	know(world, list, LARGE, 4);
	world->small = 0;
	assert_true(find(world));
	assert_int_equal(world->small, 0);
	assert_int_equal(world->found.sampler.seed, LARGE + 1);
	assert_int_equal(world->found.sampler.rule, SAMPLER_RESEED);
	assert_int_equal(world->found.epoch, 5);
}

/* What is found, without a search, where one epoch is known and readers begin with another. */
static struct sampler find_behind(struct world *world, const struct sampler *known,
				  const struct sampler *next)
{
	add_list(world, BASE, 5000);
	know_pass(world, known);
	sampler_order(next, 5000, order);
	see_anew(world, SEEN);
	assert_true(find(world));
	assert_int_equal(world->small, 0);
	return world->found.sampler;
}

/* A close_mosaic of Ultralytics, after many epochs that are alike. */
TEST_OF(world, a_stream_that_goes_on_otherwise_for_once_is_followed)
{
	const struct sampler known = {
		.rule = SAMPLER_STREAM, .seed = LARGE, .skip = 2, .step = 2 * 4999};
	const struct sampler next = {.seed = LARGE, .skip = 2 + 3 * 4999 + 2};

	assert_int_equal(find_behind(world, &known, &next).skip, next.skip);
}

/* A search that costs much, in a list that is not the loader's, would be in vain, and may never end
 * where others want the processors. */
TEST_OF(world, what_costs_little_is_tried_with_all_lists_first)
{
	add_list(world, BASE - 1, 5000);
	begin(world, word_of(42, 3));
	world->patience = 3;
	assert_true(find(world));
	assert_ptr_equal(world->found.list, world->lists[1]);
}

/* A loader for validation drew a seed of its own before, and now does not. */
TEST_OF(world, a_seed_that_is_drawn_earlier_than_before_is_found)
{
	const struct sampler known = {
		.rule = SAMPLER_WORDS, .seed = word_of(42, 7), .root = 42, .word = 7, .step = 4};
	const struct sampler next = {.seed = word_of(42, 9)};
	struct sampler found = find_behind(world, &known, &next);

	assert_int_equal(found.word, 9);
	assert_int_equal(found.step, 2);
}

TEST_OF(world, a_sampler_that_is_set_to_its_epoch_late_is_followed)
{
	const struct sampler known = {.rule = SAMPLER_SAME, .seed = LARGE};
	const struct sampler next = {.seed = LARGE + 1};

	assert_int_equal(find_behind(world, &known, &next).rule, SAMPLER_RESEED);
}

/* A run that is resumed from before the epoch that was last begun. */
TEST_OF(world, an_epoch_that_is_repeated_is_no_sampler_that_stays_the_same)
{
	struct sampler later = {.rule = SAMPLER_RESEED, .seed = LARGE + 1};
	struct sampler known = {.rule = SAMPLER_RESEED, .seed = LARGE};

	begin(world, LARGE);
	know_pass(world, &later);
	know_pass(world, &known);
	assert_true(find(world));
	assert_int_equal(world->found.sampler.rule, SAMPLER_RESEED);
	assert_int_equal(world->found.sampler.seed, LARGE);
}

/* Each takes up to seconds. */
TEST_OF(world, trying_what_is_known_ends_when_told)
{
	const struct order_list *list = begin(world, LARGE + 70);

	for (uint32_t i = 0; i < 8; i++)
		know(world, list, LARGE + 10 * i, 0);
	assert_true(find(world));
	world->patience = 4;
	assert_false(find(world));
}

/* After many outputs, each takes long. */
TEST_OF(world, only_the_latest_epoch_of_a_generator_is_followed)
{
	struct sampler sampler = {.rule = SAMPLER_STREAM, .seed = LARGE, .step = 2 * 4999 + 2};

	add_list(world, BASE, 5000);
	for (uint64_t epoch = 16; epoch-- > 0;) {
		sampler.skip = 2 + epoch * sampler.step;
		know_pass(world, &sampler);
	}
	sampler_order(&sampler, 5000, order); /* the run begins anew */
	see_anew(world, SEEN);
	world->patience = 24;
	assert_true(find(world));
	assert_int_equal(world->found.sampler.skip, 2);
}

TEST_OF(world, a_run_that_begins_anew_is_recognised)
{
	const struct order_list *list = begin(world, LARGE);

	know(world, list, 1, 0);
	know(world, list, LARGE, 4);
	assert_true(find(world));
	assert_int_equal(world->found.sampler.seed, LARGE);
	assert_int_equal(world->small, 0);
}

/* One pass needs less observations than millions of seeds, but some. */
TEST_OF(world, a_known_pass_is_not_believed_without_evidence)
{
	const struct order_list *list = add_list(world, BASE, 5000);

	know(world, list, LARGE, 0);
	permutation_of(LARGE + 1, order, 5000);
	see_anew(world, 2);
	assert_false(find(world));
	see_anew(world, 8);
	assert_true(find(world));
	permutation_of(LARGE + 1000, order, 5000);
	see_anew(world, SEEN);
	assert_false(find(world));
}

TEST_OF(world, masks_are_read_as_the_images_are)
{
	const struct order_list *images = add_list(world, BASE, 5000);
	const struct order_list *masks = add_list(world, BASE + 5000, 5000);
	const struct hypothesis hypothesis = {.list = images, .sampler = {.seed = LARGE}};

	permutation_of(LARGE, order, 5000);
	see(world, 1, BASE, order, SEEN);
	assert_false(guess_goes_along(&world->observations, &hypothesis, masks));
	see(world, 1, BASE + 5000, order, SEEN);
	assert_true(guess_goes_along(&world->observations, &hypothesis, masks));
	assert_false(guess_goes_along(&world->observations, &hypothesis, images));
}

/* --- what is worth it ------------------------------------------------------------------------ */

TEST_OF(world, all_seeds_are_tried_only_where_it_pays)
{
	world->near = LARGE;
	begin(world, LARGE);
	assert_false(find(world));
	assert_int_equal(world->all, 0);
	world->all_seeds = true;
	world->observations.least = 5001;
	assert_false(find(world));
	assert_int_equal(world->all, 0);
	world->observations.least = 5000;
	assert_true(find(world));
	assert_int_equal(world->all, 1);
	assert_int_equal(world->found.sampler.seed, LARGE);
}

/* Who has the first files of the order may be the one that has come less far. */
TEST_OF(world, all_seeds_are_tried_when_all_readers_have_begun)
{
	world->near = LARGE;
	world->all_seeds = true;
	add_list(world, BASE, 5000);
	permutation_of(LARGE, order, 5000);
	see_anew(world, 4);
	see(world, 8, BASE, order + 100, SEEN);
	assert_false(find(world));
	assert_int_equal(world->all, 0);
	see_anew(world, SEEN);
	see(world, 8, BASE, order + 100, SEEN);
	assert_true(find(world));
	assert_int_equal(world->all, 1);
}

/* The second list is the right one. */
TEST_OF(world, of_several_lists_the_right_one_is_found)
{
	const struct order_list *right;

	world->near = SMALL;
	add_list(world, BASE - 1, 5001);
	right = add_list(world, BASE, 5000);
	permutation_of(SMALL, order, 5000);
	see_anew(world, SEEN);
	assert_true(find(world));
	assert_ptr_equal(world->found.list, right);
	assert_int_equal(world->all, 0);
}

TEST_OF(world, nothing_is_tried_when_nobody_wants_to_know)
{
	world->near = SMALL;
	begin(world, SMALL);
	world->over = true;
	assert_false(find(world));
	assert_int_equal(world->small, 0);
}

/* --- files ----------------------------------------------------------------------------------- */

TEST_OF(world, empty_files_are_left_out_of_a_course)
{
	const uint32_t files[] = {9, ORDER_NONE, 7, 5, ORDER_NONE, 3};
	struct hypothesis hypothesis = {.sampler = {.seed = 11}};
	struct order_list *list;
	uint32_t *got, count, at = 0;

	assert_int_equal(order_list_copy("files", files, 6, &list), 0);
	hypothesis.list = list;
	permutation_of(11, order, 6);
	got = hypothesis_files(&hypothesis, &count);
	assert_non_null(got);
	assert_int_equal(count, 4);
	for (uint32_t i = 0; i < 6; i++)
		if (files[order[i]] != ORDER_NONE)
			assert_int_equal(got[at++], files[order[i]]);
	free(got);
	order_list_free(list);
}

TEST_OF(world, of_an_unlikely_list_small_seeds_are_tried_after_all_of_a_likely_one)
{
	const struct order_list *list;

	world->near = SMALL;
	add_list(world, BASE + 1000, 5000);
	list = add_list(world, BASE, 5000);
	world->observations.unlikely = 1;
	permutation_of(SMALL, order, 5000);
	see_anew(world, SEEN);
	assert_false(find(world));
	assert_int_equal(world->all, 0);
	world->all_seeds = true;
	assert_true(find(world));
	assert_ptr_equal(world->found.list, list);
	assert_int_equal(world->all, 2); /* in all of any world, and of ranks */
}
