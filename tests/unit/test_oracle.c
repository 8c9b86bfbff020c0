/* From who asks for what to the order of what comes: cache/order/oracle.h, with simulated loaders
 * over the permutations of torch. */
#include "cache/order/permutation.h"
#include "tests/unit/oracle_world.h"
#include "tests/unit/story.h"

/* --- what it finds --------------------------------------------------------------------------- */

#define LARGE (GUESS_SMALL + 100000) /* a seed that only a search of all finds */

static uint32_t order[N], other[N];

/* A reader asks for these places of the order. Returns `to`. */
static uint32_t saw(struct world *world, uint32_t reader, uint32_t from, uint32_t to)
{
	for (uint32_t at = from; at < to; at++)
		oracle_saw(world->oracle, reader, BASE + order[at]);
	return to;
}

static struct query *ask(struct world *world, bool models, bool hard)
{
	const struct effort effort = {.guess = true, .models = models, .hard = hard};

	return oracle_ask(world->oracle, &effort);
}

static bool answer(struct world *world, struct query *query)
{
	return oracle_answer(world->oracle, query, world->sentence);
}

static uint32_t output(uint32_t root, uint64_t word)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	mt19937_skip(&mt, word);
	return mt19937_next(&mt);
}

/* --- words of stories ------------------------------------------------------------------------ */

static struct world *here;
static struct epoch last;   /* that was read */
static uint32_t order_seed; /* of the order */
static struct query *asked;
static bool is_found;

NUMBER(large, LARGE)
NUMBER(small, GUESS_SMALL)
NUMBER(idle, ORACLE_IDLE)
NUMBER(too_few, ORACLE_TOO_FEW)
NUMBER(path_order, ORACLE_PATH_ORDER)
NUMBER(no_need, ORACLE_NO_NEED)
NUMBER(too_short, ORACLE_TOO_SHORT)
NUMBER(unknown, ORACLE_UNKNOWN)

static void set_order(uint32_t seed)
{
	order_seed = seed;
	permutation_of(seed, order, N);
}

/* A reader asks for these places; four do, 32 each in turn; two do, side by side. */
DOES(saw, saw(here, (uint32_t)n[0], (uint32_t)n[1], (uint32_t)n[2]))

DO(team)
{
	for (uint32_t place = (uint32_t)n[1]; place < n[2]; place++)
		saw(here, (uint32_t)n[0] + place / 32 % 4, place, place + 1);
}

DO(pair)
{
	for (uint32_t i = 0; i < 64; i++)
		saw(here, 100 + i % 2, i % 2 * 32 + i / 2, i % 2 * 32 + i / 2 + 1);
}

/* Workers, a batch, the first reader, and how many files. */
DO(epoch)
{
	last.workers = (uint32_t)n[0];
	last.batch = (uint32_t)n[1];
	last.first_reader = n[2] ? (uint32_t)n[2] : 100;
	read_epoch(here, order, n[3] ? (uint32_t)n[3] : N, &last);
}

DO(run)
{
	const struct oracle_hooks hooks = hooks_of(here);

	oracle_run(asked, &hooks);
}

DOES(order, set_order((uint32_t)n[0]))
DOES(drawn, set_order(output((uint32_t)n[0], n[1])))
DOES(most, here->most = n[0])
DOES(least, here->least = (double)n[0])
DOES(soon, here->soon = (double)n[0])
DOES(usual, here->usual = true)
DOES(models, here->models = true)
DOES(wider, here->wider = true)
DOES(classes, here->classes = (uint32_t)n[0])
DOES(gives_up, here->gives_up = n[0])
DOES(in_memory, last.in_memory = n[0])
DOES(recount, here->searched = 0)
DOES(renew, renew(here))
GET(think, think(here, true))
GET(easy, think(here, false))
GET(once, think_once(here, true, &is_found))
GET(query, (asked = ask(here, n[0], n[1])) != NULL)
GET(answer, answer(here, asked))
GET(over, oracle_is_over(here->oracle, n[0]))
GET(right, state_of(here).seed == order_seed)
GET(seed, state_of(here).seed)
GET(why, state_of(here).why)
GET(tracks, state_of(here).tracks)
GET(unusual, state_of(here).unusual)
GET(position, state_of(here).position)
GET(under_way, state_of(here).under_way)
GET(looks, here->looks)
GET(searched, here->searched)
GET(long_searches, here->long_searches)
GET(locked, last.locked)

static void begin_story(struct world *world)
{
	here = world;
	last = (struct epoch){0};
	begin(world);
}

FIXTURE(story, struct world, begin_story, end);

/* --- scripts --------------------------------------------------------------------------------- */

/* What a script reads, and what is found of it. Its seeds are seed + epoch, or where there is a
 * step, outputs number seed, seed + step, ... under torch.manual_seed(42). */
struct script {
	const char *name;
	uint32_t epochs, workers, batch, seed, step;
	bool lone, persistent; /* readers have no numbers; they live on from epoch to epoch */
	bool masks, slowly;
	uint32_t mosaic, missed; /* as in struct epoch; a bit for each epoch */
	uint32_t near, hides;	 /* as in struct world; hidden after each epoch, in percent */
	bool alike;
	uint32_t locked;       /* files, after which the first epoch is known at last; 0: any */
	uint32_t first, later; /* files not foreseen of each of the first two epochs; of each other
				* one; 0: any */
};

static const struct script scripts[] = {
	{"readers of another namespace", 1, 8, 32, 77, .lone = true, .locked = 64},
	/* From the second epoch on it is known that seeds rise by one: the third is foreseen from
	 * its first file on. */
	{"seeds that rise", 4, 4, 32, 5, .later = 400},
	/* The kernel keeps a share of what the first epoch read, and nobody is seen asking for it.
	 */
	{"a fifth is hidden", 4, 2, 32, 5, .hides = 20, .first = 65, .later = 1},
	{"two fifths are hidden", 4, 2, 32, 5, .hides = 40, .first = 65, .later = 1},
	{"three fifths are hidden", 4, 2, 32, 5, .hides = 60, .first = 65, .later = 1},
	{"four fifths are hidden", 4, 2, 32, 5, .hides = 80, .first = 65, .later = 1},
	{"seeds that are drawn, and files hidden", 3, 2, 32, 1, 2, .hides = 40},
	{"persistent workers", 3, 3, 16, 900, .persistent = true},
	{"masks beside images", 1, 2, 32, 12, .masks = true},
	/* Lists of a few files each are told first; or one that is nearly right. */
	{"masks of many lists", 1, 2, 32, 12, .masks = true, .near = GUESS_LISTS - 2},
	{"masks of like lists", 1, 2, 32, 12, .masks = true, .slowly = true, .alike = true,
	 .first = 200},
	{"mosaics", 1, 2, 32, 12, .mosaic = 3},
	{"mosaics for six epochs", 6, 2, 32, 3, 4, .mosaic = 3},
};

/* While an epoch is read whose order is not known, nothing is said of the one before. */
static void read_script(struct world *world, const struct script *script)
{
	print_message("%s\n", script->name);
	world->near = script->near;
	world->alike = script->alike;
	for (uint32_t at = 0; at < script->epochs; at++) {
		uint32_t most = at < 2 ? script->first : script->later, missed;
		uint32_t seed = script->step ? output(42, script->seed + script->step * at)
					     : script->seed + at;
		struct epoch epoch = {.workers = script->workers,
				      .batch = script->batch,
				      .first_reader = 100 + (script->persistent ? 0 : 10 * at),
				      .mosaic = script->mosaic,
				      .masks = script->masks,
				      .slowly = script->slowly,
				      .missed = script->missed >> at & 1};

		epoch.first_reader *= !script->lone;
		permutation_of(seed, order, N);
		missed = read_epoch(world, order, N, &epoch);
		if (epoch.missed && state_of(world).tracks == 0)
			continue; /* else it was made before */
		assert_true(at || script->missed || epoch.locked > 0);
		assert_true(at || !script->locked || epoch.locked <= script->locked);
		assert_true(!most || missed < most);
		assert_int_equal(state_of(world).seed, seed);
		assert_int_equal(state_of(world).epoch, at);
		assert_int_equal(state_of(world).files, N);
		if (script->epochs == 1)
			assert_int_equal(state_of(world).tracks, script->masks ? 2 : 1);
		if (script->hides)
			hide(world, script->hides);
	}
	if (!script->missed && !script->step && !script->persistent)
		assert_int_equal(state_of(world).unlocks, 0);
	renew(world);
}

TEST_OF(world, orders_of_scripts_are_found_and_followed)
{
	for (unsigned i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		read_script(world, &scripts[i]);
}

TEST_OF(world, whatever_the_workers_and_batches_the_order_is_found)
{
	const uint32_t workers[] = {0, 1, 2, 4, 8}, batches[] = {1, 32, 256};

	for (uint32_t i = 0; i < 15; i++) {
		struct script script = {"workers and batches", 1,	 workers[i / 3],
					batches[i % 3],	       1000 + i, .locked = 0};

		script.locked = 64 * (script.workers + 1);
		read_script(world, &script);
	}
}

TEST_OF(world, the_epoch_is_right_after_others_whose_order_was_missed)
{
	const uint32_t missed[] = {1 << 1, 1 << 1 | 1 << 2, 1 << 2,	    1 << 1 | 1 << 4,
				   1 << 0, 1 << 0 | 1 << 1, 1 << 0 | 1 << 2};

	for (unsigned i = 0; i < 2 * sizeof(missed) / sizeof(*missed); i++) {
		struct script script = {"missed", 6, 2, 32, 5, .missed = missed[i / 2]};

		script.seed = i % 2 ? 3 : 5;
		script.step = i % 2 ? 4 : 0;
		read_script(world, &script);
	}
}

/* Persistent workers, and a loader for validation that persists too: each draws once, before the
 * second epoch. So what that one's step foretells of the third does not come. */
static void read_shorter_steps(struct world *world, bool third_missed)
{
	static const uint64_t words[] = {3, 9, 11, 13};
	uint32_t before = 0;

	for (uint32_t at = 0; at < 4; at++) {
		struct epoch epoch = {.workers = 4, .batch = 64, .first_reader = 100};
		uint32_t seed = output(42, words[at]);

		permutation_of(seed, order, N);
		epoch.seed = seed;
		epoch.before = before;
		epoch.missed = third_missed && at == 2;
		read_epoch(world, order, N, &epoch);
		before = seed;
		assert_int_equal(epoch.others, 0);
		if (epoch.missed)
			continue;
		assert_int_equal(state_of(world).seed, seed);
		assert_int_equal(state_of(world).epoch, at);
	}
}

TEST_OF(world, a_step_that_becomes_shorter_is_found)
{
	read_shorter_steps(world, false);
}

#define FEW 260 /* files of each folder */

/* An epoch over the second folder. Returns at how many of its files an order was shown. */
static uint32_t read_few(struct world *world, uint32_t seed, uint32_t first_reader)
{
	uint32_t reader, index, shown = 0;
	struct loader loader;

	permutation_of(seed, order, FEW);
	loader_init(&loader, order, FEW, 2, 32);
	loader.first_reader = first_reader;
	while (loader_next(&loader, &reader, &index)) {
		oracle_saw(world->oracle, reader, FEW + index);
		think(world, true);
		shown += state_of(world).tracks > 0;
	}
	return shown;
}

/* Another reads the same files in orders that nobody finds, with workers of its own for each epoch,
 * or with those of the first. */
static void read_few_after(struct world *world, uint32_t step)
{
	world->folders = FEW;
	for (uint32_t at = 0; at < 3; at++)
		assert_in_range(read_few(world, 5 + at, 100 + step * at), FEW / 2, FEW);
	assert_int_equal(state_of(world).seed, 7);
	world->most = 0;
	read_few(world, 77777777, 100 + step * 3);
	for (uint32_t at = 4; at < 8; at++)
		assert_int_equal(read_few(world, 77777777 + at * 13331, 100 + step * at), 0);
	assert_int_equal(state_of(world).tracks, 0);
	assert_int_equal(state_of(world).under_way, 0);
}

TEST_OF(world, after_the_end_of_its_job_an_order_is_not_told_any_more)
{
	read_few_after(world, 10);
	renew(world);
	read_few_after(world, 0);
}

TEST_OF(world, an_epoch_that_was_foretold_is_not_shown_while_another_is_read)
{
	read_shorter_steps(world, true);
}

/* Whoever reads everything ahead once no order is followed waits no longer than for the first files
 * of an epoch: after one whose order was known, and after one that was foretold and did not come.
 */
TEST_OF(world, an_order_that_has_ended_is_left_soon_in_epochs_that_are_not_known)
{
	uint32_t random = 1;

	for (uint32_t at = 0; at < 6; at++) {
		struct epoch epoch = {.workers = 4, .batch = 16, .first_reader = 100 + 10 * at};
		bool is_known = at < 2 || at == 4;

		permutation_of(5 + at, order, N);
		if (!is_known)
			shuffle_from(0, order, N, &random);
		read_epoch(world, order, is_known ? N : 400, &epoch);
		assert_int_equal(world->followed > 0, is_known);
		if (!is_known)
			read_epoch(world, order + 400, N - 400, &epoch);
	}
}

STORY_OF(story, a_large_seed_is_found_where_it_pays_to_search,
	 "order large; most large+1; in_memory 1; epoch 2 32; locked = 0; searched = 0; renew; "
	 "most large+1; in_memory 0; epoch 2 32; locked > 0; right = 1")

/* resnet18(num_classes=37): lists are made long before models are tried. Nobody waits for files. */
STORY_OF(story, a_seed_after_a_model_for_these_classes_is_found,
	 "usual; classes 37; drawn 3407 22333824+18981+3; in_memory 1; epoch 2 32 100 200; "
	 "locked > 0; right = 1")

/* In the first epoch, but not for a list that may have been read once. */
STORY_OF(story, what_is_usual_is_not_tried_where_the_epoch_is_over_soon,
	 "usual; soon 5001; order large; saw 5 0-64; easy = 0; looks < 20; saw 5 64-5000; "
	 "drawn 42 400003; saw 6 0-64; easy = 1; right = 1")

/* After 16 files of each reader: of more it says the same. Others are tried anew. */
TEST_OF(world, what_is_usual_is_tried_once_for_the_same_readers)
{
	unsigned looks;

	permutation_of(LARGE, order, N);
	world->usual = true;
	saw(world, 5, 0, 15);
	assert_false(think(world, false));
	looks = world->looks;
	saw(world, 5, 15, 16);
	assert_false(think(world, false));
	assert_true(world->looks > 2 * looks);
	looks = world->looks - looks;
	saw(world, 5, 16, 64);
	assert_false(think(world, false));
	assert_true(world->looks < 2 * looks);
	permutation_of(LARGE + 1, order, N);
	saw(world, 6, 0, 16);
	assert_false(think(world, false));
	assert_true(world->looks > 2 * looks);
}

/* Its seed takes a search of all, and then it is looked for among the outputs of usual generators,
 * but for most of these, to save the time. */
TEST_OF(world, a_job_with_a_model_of_its_own_is_known_from_its_second_epoch_on)
{
	struct epoch epoch = {.workers = 2, .batch = 32, .first_reader = 100};
	unsigned long_searches;
	struct mt19937 root;
	uint32_t seed;

	world->most = 2 << 20;
	mt19937_init(&root, 42);
	mt19937_skip(&root, 600000);
	do
		seed = mt19937_next(&root);
	while (seed < GUESS_SMALL || seed >= world->most);
	permutation_of(seed, order, N);
	world->gives_up = true;
	world->patience = 30;
	read_epoch(world, order, N, &epoch);
	assert_int_equal(state_of(world).seed, seed);
	world->gives_up = false;
	long_searches = world->long_searches;
	mt19937_skip(&root, 3);
	seed = mt19937_next(&root);
	permutation_of(seed, order, N);
	epoch.first_reader = 200;
	read_epoch(world, order, N, &epoch);
	assert_int_equal(state_of(world).seed, seed);
	assert_int_equal(world->long_searches, long_searches);
}

/* drop_last: what an epoch leaves out may be among the first files of the next one. */
TEST_OF(world, what_an_epoch_left_out_is_where_it_should_be_in_the_next)
{
	const uint32_t count = N - N / 100;
	struct epoch epoch = {.workers = 0, .batch = 99, .first_reader = 100}, second = epoch;
	uint32_t seed = 1100000, place = 0;

	permutation_of(1, order, N);
	while (place == 0) {
		permutation_of(++seed, other, N);
		for (uint32_t i = 3; i < 12; i++)
			for (uint32_t left = count; left < N; left++)
				place = other[i] == order[left] ? i : place;
	}
	world->most = 2 << 20;
	read_epoch(world, order, count, &epoch);
	read_epoch(world, other, count, &second);
	assert_int_equal(second.locked, 16);
	assert_int_equal(state_of(world).seed, seed);
}

/* With the 16th file and with the 64th: whole, and ranks. */
STORY_OF(story, of_the_same_readers_it_thinks_hard_twice,
	 "order large; epoch 0 32; locked = 0; long_searches = 4")

/* They read fast when they begin, and then at the pace of a training. */
STORY_OF(story, a_search_that_would_take_too_long_is_made_when_readers_are_slower,
	 "order large; most large+1; pair; least 20000; think = 0; least 15000; think = 0; "
	 "least 4999; think = 1; right = 1")

/* One reader, under a seed that takes a search. */
#define SEARCHED "order large; most large+1; saw 100 0-64; "

/* Not only, at once, one that is longer. */
STORY_OF(story, the_likeliest_list_is_searched_when_readers_are_slower,
	 "wider; least 5250; " SEARCHED "think = 0; least 4999; think = 1; right = 1")

/* Readers paused for so long that nobody wanted to know any more. */
STORY_OF(story, a_search_that_was_given_up_is_made_again,
	 "gives_up 1; " SEARCHED "once = 1; long_searches > 0; gives_up 0; think = 1; right = 1")

/* A search that is always given up is not made for ever, */
STORY_OF(story, a_search_is_given_up_twice_for_the_same_readers,
	 "gives_up 1; " SEARCHED "think = 0; gives_up 0; think = 0")

/* but one that ended as more was seen does not count. */
STORY_OF(story, a_search_that_ended_as_more_was_seen_is_made_again,
	 "order large; most large+1; saw 100 0-16; gives_up 1; query 0 1 = 1; run; saw 100 16-64; "
	 "answer = 0; once = 1; gives_up 0; think = 1; right = 1")

/* --- why there is no order ------------------------------------------------------------------- */

/* Nothing is forgotten while these readers are the last that began. */
STORY_OF(story, it_says_why_while_a_search_would_not_pay_or_finds_nothing,
	 "order large; why = idle; saw 100 0-15; easy = 0; why = too_few; saw 100 15-64; easy = 0; "
	 "why = no_need; least 5001; think = 0; why = too_short; least 4999; think = 0; "
	 "why = unknown; easy = 0; why = unknown")

/* Readers began to wait, and then paused. */
STORY_OF(story, a_search_that_pays_by_now_is_not_said_not_to_when_it_ends_early,
	 "order large; saw 100 0-64; easy = 0; why = no_need; gives_up 1; query 0 1 = 1; run; "
	 "answer = 0; why = too_few")

/* Until others begin: those may follow something usual. */
STORY_OF(story, it_says_that_readers_follow_nothing_usual,
	 "order large; saw 100 0-8; unusual = 0; easy = 0; unusual = 1; drawn 42 3; saw 101 0-1; "
	 "easy = 0; unusual = 1; saw 101 1-16; easy = 1; unusual = 0")

TEST_OF(world, it_says_that_files_are_read_as_they_lie)
{
	for (uint32_t i = 0; i < 64; i++) {
		oracle_saw(world->oracle, 100, BASE + i);
		assert_false(think(world, true));
	}
	assert_int_equal(state_of(world).why, ORACLE_PATH_ORDER);
}

/* A script reads some texts, or all of them, and then the images that they name. */
TEST_OF(world, an_index_that_is_read_first_does_not_stand_for_the_images)
{
	for (uint32_t texts = 1; texts < 10; texts += 4) {
		struct epoch epoch = {.workers = 0, .batch = 32, .first_reader = 100};

		world->loose = true;
		for (uint32_t text = 0; text < texts; text++) {
			oracle_saw(world->oracle, 100, text);
			think(world, true);
		}
		permutation_of(11, order, N);
		read_epoch(world, order, N, &epoch);
		assert_in_range(epoch.locked, 1, 16);
		assert_int_equal(state_of(world).seed, 11);
		assert_string_equal(state_of(world).list, "images");
		assert_in_range(world->asked, 1, 3);
		renew(world);
	}
}

/* One image of ten has none, so that their list is not shuffled as that of the images is. */
TEST_OF(world, labels_before_images_do_not_stand_for_them)
{
	bool found = false;

	world->loose = true;
	permutation_of(11, order, N);
	for (uint32_t i = 0; i < 64 && !found; i++) {
		if (order[i] < N / 10 * 9)
			oracle_saw(world->oracle, 100, BASE + N + order[i]);
		found = think(world, true);
		oracle_saw(world->oracle, 100, BASE + order[i]);
		found |= think(world, true);
	}
	assert_true(found);
	assert_int_equal(state_of(world).seed, 11);
	assert_string_equal(state_of(world).list, "images");
}

/* Other kinds of files, and as many as images: each is asked about once. */
TEST_OF(world, of_the_same_readers_lists_are_asked_for_once_a_kind)
{
	uint32_t random = 3;

	world->loose = true;
	for (uint32_t i = 0; i < 1000; i++) {
		oracle_saw(world->oracle, 100, BASE + i % 2 * N + draw_below(&random, N));
		think(world, true);
	}
	assert_int_equal(world->asked, 2);
}

/* A search that takes longer than readers need for 2,000 files. Then the first reader goes on. */
STORY_OF(story, readers_of_an_order_that_is_found_late_follow_it,
	 "order 12; team 5 0-256; query 1 0 = 1; team 5 256-2256; run; answer = 1; seed = 12; "
	 "recount; most small; saw 5 2304-2336; think = 0; searched = 0")

/* The search of the second epoch takes until its last file was asked for. Perhaps nobody is seen
 * asking for any of the third: the kernel may have them all. */
STORY_OF(story, an_order_that_is_found_after_its_last_file_has_ended,
	 "order 5; epoch 4 32; order 6; team 200 0-256; query 0 0 = 1; team 200 256-5000; run; "
	 "answer = 1; seed = 6; position = 5000; under_way = 0")

/* A worker of the same loader may open its first file while the search for the order still runs. */
STORY_OF(story, a_reader_that_begins_during_a_query_follows_the_order_too,
	 "order 12; saw 5 0-48; query 1 0 = 1; run; saw 6 64-112; answer = 1; query 1 0 = 0")

/* Its files alone say nothing. */
STORY_OF(story, the_first_reader_is_waited_for_though_another_has_read_more,
	 "models; order 12; saw 5 0-8; saw 6 90-154; think = 0; saw 5 8-15; query 1 1 = 0; "
	 "saw 5 15-16; think = 1; seed = 12")

/* find -exec cat {} +, faster than the scans are recognized. */
TEST_OF(world, files_that_several_programs_read_in_a_row_are_no_epoch)
{
	struct epoch epoch = {.workers = 2, .batch = 32, .first_reader = 100};

	for (uint32_t file = 0; file < N; file++)
		oracle_saw(world->oracle, 20 + file / 500, BASE + file);
	permutation_of(12, order, N);
	read_epoch(world, order, N, &epoch);
	assert_int_equal(state_of(world).seed, 12);
	assert_int_equal(state_of(world).epoch, 0);
}

/* A search after few files takes as long as one after many, and says less. */
STORY_OF(story, a_hard_search_of_few_files_is_given_up_when_there_are_more,
	 "order 12; saw 5 0-8; query 0 1 = 1; over 0 = 0; saw 5 8-16; over 0 = 1; over 1 = 0; "
	 "answer = 0; query 0 1 = 1; over 0 = 0; saw 5 16-64; over 0 = 1; over 1 = 0; answer = 0; "
	 "query 0 1 = 1; over 0 = 0; saw 5 64-500; over 0 = 0; answer = 0")

/* Models are searched when all readers have shown enough, and then to the end. */
STORY_OF(story, only_other_readers_end_a_search_of_models,
	 "order 12; saw 6 128-129; saw 5 0-48; saw 6 129-140; query 1 1 = 1; over 0 = 0; "
	 "saw 6 140-144; over 0 = 1; answer = 0; query 1 1 = 1; saw 5 48-128; saw 6 144-200; "
	 "over 0 = 0; saw 7 200-232; over 0 = 1; answer = 0")

TEST_OF(world, a_known_order_goes_on_beside_a_search_for_other_readers)
{
	struct query *search, *next;
	uint32_t at = 0;

	for (uint32_t seed = 12; seed < 14; seed++) {
		struct epoch epoch = {.workers = 1, .batch = 32, .first_reader = seed};

		permutation_of(seed, order, N);
		read_epoch(world, order, N, &epoch);
	}
	permutation_of(14, order, N);
	at = saw(world, 5, at, 64);
	assert_int_equal(state_of(world).seed, 14);
	for (uint32_t i = 0; i < 64; i++)
		oracle_saw(world->oracle, 6, BASE + N + i * i % N);
	search = ask(world, false, true);
	assert_non_null(search);
	assert_null(oracle_ask_next(world->oracle));
	at = saw(world, 5, at, N * 3 / 4);
	next = oracle_ask_next(world->oracle);
	assert_non_null(next);
	assert_null(oracle_ask_next(world->oracle));
	assert_false(oracle_is_over(world->oracle, true));
	answer(world, next);
	assert_null(ask(world, false, true));
	answer(world, search);
}

STORY_OF(story, a_job_that_begins_anew_is_followed_anew,
	 "order 12; epoch 2 32 100 1666; seed = 12; order 31; epoch 2 32 200; locked > 0; "
	 "seed = 31; tracks = 1")

/* Each takes turns of its own. */
TEST_OF(world, two_jobs_are_followed_side_by_side)
{
	struct loader one, two;
	uint32_t reader = 0, index = 0;

	permutation_of(12, order, N);
	permutation_of(13000, other, N);
	loader_init(&one, order, N, 2, 32);
	loader_init(&two, other, N, 2, 32);
	two.first_reader = 200;
	for (uint32_t i = 0; i < N - 300; i++) {
		loader_next(&one, &reader, &index);
		oracle_saw(world->oracle, reader, BASE + index);
		loader_next(&two, &reader, &index);
		oracle_saw(world->oracle, reader, BASE + index);
		think(world, true);
		if (i > 300)
			assert_int_equal(state_of(world).tracks, 2);
	}
	assert_int_equal(state_of(world).unlocks, 0);
}

/* Each reads a folder of its own, one after the other, for weeks. */
TEST_OF(world, however_many_jobs_came_before_the_next_order_is_found)
{
	enum { EACH = 150, JOBS = FILES / EACH };

	world->folders = EACH;
	for (uint32_t job = 0; job < JOBS; job++) {
		bool found = false;

		permutation_of(7, order, EACH);
		for (uint32_t i = 0; i < EACH; i++) {
			oracle_saw(world->oracle, 1000 + job, job * EACH + order[i]);
			found |= think(world, true);
		}
		assert_true(found);
	}
}

static bool push(void *arg, uint32_t file)
{
	struct world *world = arg;

	if (file % 8 == 0)
		return true;
	world->pushed[file] = true;
	world->pushes++;
	oracle_pushed(world->oracle, file);
	return false;
}

static void push_one(struct world *world)
{
	for (unsigned i = 0; i < world->followed; i++)
		if (forecast_may_push(world->forecasts[i]))
			forecast_coming(world->forecasts[i], push, world);
}

/* Another one, four times as fast, in an order that nobody knows. */
static void ask_at_random(struct world *world, uint32_t *random)
{
	for (uint32_t i = 0; i < 4; i++)
		oracle_saw(world->oracle, 200 + i % 2, BASE + draw_below(random, N));
}

/* Seven of eight files are pushed to it, so that others ask for far more. */
TEST_OF(world, a_job_is_followed_whatever_others_read_until_it_ends)
{
	struct loader loader;
	uint32_t reader = 0, index = 0, random = 1;

	permutation_of(12, order, N);
	loader_init(&loader, order, N, 2, 32);
	for (uint32_t i = 0; i < N / 2; i++) {
		loader_next(&loader, &reader, &index);
		if (!world->pushed[BASE + index])
			oracle_saw(world->oracle, reader, BASE + index);
		if (i < 128) {
			think(world, true);
			continue;
		}
		push_one(world);
		ask_at_random(world, &random);
	}
	assert_true(world->pushes > 0);
	assert_int_equal(state_of(world).tracks, 1);
	assert_int_equal(state_of(world).unlocks, 0);
	for (uint32_t i = 0; i < N / 2; i++)
		ask_at_random(world, &random);
	assert_int_equal(state_of(world).tracks, 0);
	assert_int_equal(state_of(world).unlocks, 1);
	assert_int_equal(world->followed, 0);
}

/* --- what it must not find ------------------------------------------------------------------- */

/* As numpy shuffles, with replacement, a random half, the files of a scan: none are torch's, and
 * nothing is found that would be taken for it. */
TEST_OF(world, orders_that_are_not_torchs_are_not_found)
{
	enum { FROM_EACH = 300 };
	const char *many = getenv("ORACLE_EPOCHS");
	uint32_t epochs = many ? (uint32_t)strtoul(many, NULL, 10) : 2;
	uint32_t random = 99;

	for (uint32_t at = 0; at < epochs; at++) {
		struct epoch epoch = {.workers = at % 5,
				      .batch = at % 3 ? 32 : 1,
				      .first_reader = 100 + at * 10,
				      .random = at % 2};
		uint32_t count = FROM_EACH;

		shuffle_from(0, order, N, &random);
		if (at % 4 == 1)
			for (uint32_t i = 0; i < count; i++)
				order[i] = draw_below(&random, N);
		if (at % 4 == 2)
			for (uint32_t i = 0; i < count; i++)
				order[i] = order[i] / 2;
		if (at % 4 == 3)
			for (uint32_t i = 0; i < count; i++)
				order[i] = i;
		read_epoch(world, order, count, &epoch);
		assert_int_equal(epoch.locked, 0);
	}
	assert_int_equal(state_of(world).tracks, 0);
}

/* --- given orders ---------------------------------------------------------------------------- */

TEST_OF(world, a_given_order_is_followed_epoch_by_epoch)
{
	uint32_t given[2 * N];

	permutation_of(4000000000u, order, N);
	permutation_of(4000000001u, other, N);
	for (uint32_t i = 0; i < N; i++) {
		given[i] = BASE + order[i];
		given[N + i] = BASE + other[i];
	}
	assert_int_equal(oracle_order(world->oracle, given, 2 * N), 0);
	for (uint32_t i = 0; i < 2 * N; i++) {
		assert_true(foreseen(world, given[i]));
		oracle_saw(world->oracle, 5, given[i]);
		think(world, true);
	}
	assert_string_equal(state_of(world).sampler, "given");
	assert_int_equal(state_of(world).epoch, 1);
	assert_int_equal(oracle_order(world->oracle, NULL, 0), 0);
	assert_int_equal(state_of(world).tracks, 0);
}

/* Returns how many files were not foreseen, and had not come shortly before. */
static uint32_t read_given(struct world *world, const uint32_t *files, uint32_t count,
			   uint32_t workers, uint32_t batch)
{
	const struct oracle_hooks hooks = hooks_of(world);
	uint32_t reader, file, missed = 0, at = 0;
	struct loader loader;

	assert_int_equal(oracle_order(world->oracle, files, count), 0);
	loader_init(&loader, files, count, workers, batch);
	while (loader_next(&loader, &reader, &file)) {
		struct query *query = at++ % 64 ? NULL : oracle_ask_next(world->oracle);
		bool came = false;

		if (query) {
			oracle_run(query, &hooks);
			answer(world, query);
		}
		for (unsigned i = 0; i < world->followed; i++)
			came |= forecast_came(world->forecasts[i], file, 0);
		missed += !came && !foreseen(world, file);
		oracle_saw(world->oracle, reader, file);
	}
	return missed;
}

TEST_OF(world, files_of_a_given_order_may_come_again)
{
	const uint32_t workers[] = {1, 4, 8}, batches[] = {1, 32};
	uint32_t drawn[4 * N], repeated[3 * N];

	permutation_of(4000000000u, order, N);
	srandom(3);
	for (uint32_t i = 0; i < 4 * N; i++) /* as WeightedRandomSampler */
		drawn[i] = BASE + (uint32_t)random() % N;
	for (uint32_t i = 0; i < 3 * N; i++) /* as RASampler */
		repeated[i] = BASE + order[i / 3];
	for (unsigned i = 0; i < 6; i++) {
		uint32_t w = workers[i / 2], batch = batches[i % 2];

		assert_true(read_given(world, drawn, 4 * N, w, batch) < N / 10);
		assert_true(read_given(world, repeated, 3 * N, w, batch) < N / 100);
		renew(world);
	}
}

/* There was no memory, or no thread. */
TEST_OF(world, an_epoch_that_could_not_be_prepared_is_not_left_out)
{
	struct query *failed = NULL;
	uint32_t given[3 * N];

	for (uint32_t epoch = 0; epoch < 3; epoch++) {
		permutation_of(4000000000u + epoch, order, N);
		for (uint32_t i = 0; i < N; i++)
			given[epoch * N + i] = BASE + order[i];
	}
	assert_int_equal(oracle_order(world->oracle, given, 3 * N), 0);
	for (uint32_t i = 0; i < 3 * N; i++) {
		assert_true(foreseen(world, given[i]));
		oracle_saw(world->oracle, 5, given[i]);
		if (!failed && i > N / 4 && (failed = ask(world, false, true)))
			answer(world, failed);
		think(world, true);
	}
	assert_non_null(failed);
	assert_int_equal(state_of(world).epoch, 2);
}
