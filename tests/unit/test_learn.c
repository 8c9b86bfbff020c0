/* What an epoch teaches: cache/order/learn.h and cache/order/history.h, with simulated loaders over
 * lists that nobody knows. */
#include "cache/order/learn.h"
#include "cache/order/permutation.h"
#include "tests/unit/loader.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define FILES 20000
#define N     3000 /* of the subset */
#define BEGUN 64   /* files of each worker, by which an epoch is looked at */

struct world {
	struct watch *watch;
	struct history *history;
	uint32_t subset[N], rest[FILES - N];
	uint64_t random;
	struct watch_access begun[WATCH_LOG];
	struct order_list *list;
	struct course course;
};

static uint32_t below(uint64_t *random, uint32_t n)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((*random >> 32) * n >> 32);
}

static void shuffle(uint64_t *random, uint32_t *order, uint32_t count)
{
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t z = below(random, i + 1), was = order[i];

		order[i] = order[z];
		order[z] = was;
	}
}

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	uint32_t files[FILES];

	assert_int_equal(watch_new(FILES, &world->watch), 0);
	assert_int_equal(history_new(FILES, &world->history), 0);
	world->random = 7;
	for (uint32_t i = 0; i < FILES; i++)
		files[i] = i;
	shuffle(&world->random, files, FILES);
	memcpy(world->subset, files, sizeof(world->subset));
	memcpy(world->rest, files + N, sizeof(world->rest));
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	order_list_free(world->list);
	history_free(world->history);
	watch_free(world->watch);
	free(world);
	return 0;
}

static bool stopped(void *context)
{
	(void)context;
	return false;
}

static void saw(struct world *world, uint32_t reader, uint32_t file)
{
	if (!watch_turn(world->watch, reader, file))
		return;
	watch_note(world->watch, 0, 0);
	history_saw(world->history, reader, file);
}

/* So many of order's files are read. */
struct epoch {
	uint32_t workers, batch, first_reader, random;
};

static void read_files(struct world *world, const uint32_t *files, const uint32_t *order,
		       uint32_t count, uint32_t most, const struct epoch *epoch)
{
	uint32_t reader, index;
	struct loader loader;

	loader_init(&loader, order, count, epoch->workers, epoch->batch);
	loader.random = epoch->random;
	loader.in_turn = true;
	loader.first_reader = epoch->first_reader;
	for (uint32_t at = 0; at < most && loader_next(&loader, &reader, &index); at++)
		saw(world, epoch->workers ? reader : epoch->first_reader, files[index]);
}

static void read_pass(struct world *world, uint32_t seed, uint32_t n, uint32_t count, uint32_t most,
		      const struct epoch *epoch)
{
	uint32_t order[N];

	permutation_of(seed, order, n);
	read_files(world, world->subset, order, count, most, epoch);
}

static bool is_learned(struct world *world)
{
	const struct guess_hooks hooks = {.stopped = stopped};
	unsigned count;

	order_list_free(world->list);
	world->list = NULL;
	count = watch_beginnings(world->watch, world->begun);
	return learn(world->history, world->begun, count, &hooks, &world->list, &world->course);
}

/* Reads an epoch, and the beginning of the next by workers of their own, or the same. */
static bool is_learned_from(struct world *world, uint32_t seed, uint32_t next, uint32_t n,
			    struct epoch epoch)
{
	uint32_t workers = epoch.workers ? epoch.workers : 1;

	read_pass(world, seed, n, n, n, &epoch);
	epoch.first_reader += epoch.workers;
	read_pass(world, next, n, n, BEGUN * workers, &epoch);
	return is_learned(world);
}

static void assert_list(const struct world *world, uint32_t seed, uint32_t n)
{
	assert_int_equal(world->course.pass.seed, seed);
	assert_ptr_equal(world->course.list, world->list);
	assert_int_equal(world->list->count, n);
	assert_memory_equal(world->list->files, world->subset, n * sizeof(uint32_t));
}

static uint32_t word(uint32_t root, unsigned at)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	mt19937_skip(&mt, at);
	return mt19937_next(&mt);
}

/* --- what it learns -------------------------------------------------------------------------- */

static void a_subset_under_manual_seed_is_known_after_an_epoch(void **state)
{
	const uint32_t workers[] = {0, 1, 2, 3, 4, 8}, batches[] = {1, 2, 32, 50, 256};

	for (unsigned w = 0; w < 6; w++)
		for (unsigned b = 0; b < 5; b++)
			for (uint32_t random = 0; random < 2; random++) {
				struct epoch epoch = {workers[w], batches[b], 100, random};
				struct world *world = *state;
				uint32_t next = word(42, 7);

				assert_true(
					is_learned_from(world, word(42, 3), next, N - b, epoch));
				assert_list(world, next, N - b);
				assert_int_equal(world->course.pass.rule, PASS_WORDS);
				assert_int_equal(world->course.pass.step, 4);
				assert_int_equal(world->course.epoch, 1);
				teardown(state);
				setup(state);
			}
}

static void seeds_that_rise_by_one_are_learned_from(void **state)
{
	const uint32_t seeds[] = {0, 3, 42, 900, 1234};

	for (unsigned i = 0; i < 5; i++) {
		struct epoch epoch = {.workers = 2, .batch = 32, .first_reader = 100};
		struct world *world = *state;

		assert_true(is_learned_from(world, seeds[i], seeds[i] + 1, N, epoch));
		assert_list(world, seeds[i] + 1, N);
		assert_int_equal(world->course.pass.rule, PASS_RESEED);
		teardown(state);
		setup(state);
	}
}

/* Ultralytics' generator, of which DataLoader draws 2 outputs once and an epoch 2 (n - 1). */
static void one_generator_for_all_epochs_is_learned_from(void **state)
{
	struct epoch epoch = {.workers = 4, .batch = 16, .first_reader = 100};
	struct world *world = *state;
	uint32_t order[N];
	struct mt19937 mt;

	mt19937_init(&mt, 0x55555554);
	mt19937_skip(&mt, 2);
	permutation_next(&mt, order, N, PERMUTATION_LARGE);
	read_files(world, world->subset, order, N, N, &epoch);
	mt19937_skip(&mt, N - 1);
	permutation_next(&mt, order, N, PERMUTATION_LARGE);
	read_files(world, world->subset, order, N, 4 * BEGUN, &epoch);
	assert_true(is_learned(world));
	assert_list(world, 0x55555554, N);
	assert_int_equal(world->course.pass.rule, PASS_STREAM);
}

/* torchdata's, whose loader has its sampler make each permutation twice and reads the second. */
static void what_nobody_read_of_a_generator_is_no_hindrance(void **state)
{
	struct epoch epoch = {.workers = 2, .batch = 16, .first_reader = 100};
	struct world *world = *state;
	uint32_t order[N], seed = word(42, 1);
	struct mt19937 mt;

	mt19937_init(&mt, seed);
	mt19937_skip(&mt, N - 1);
	permutation_next(&mt, order, N, PERMUTATION_LARGE);
	read_files(world, world->subset, order, N, N, &epoch);
	mt19937_skip(&mt, N - 1);
	permutation_next(&mt, order, N, PERMUTATION_LARGE);
	epoch.first_reader = 200;
	read_files(world, world->subset, order, N, 2 * BEGUN, &epoch);
	assert_true(is_learned(world));
	assert_list(world, seed, N);
	assert_int_equal(world->course.pass.skip, 3 * (N - 1));
}

/* The order of a validation, say, whose seed nobody needs to know. */
static void an_order_that_comes_again_is_learned(void **state)
{
	struct epoch epoch = {.workers = 1, .batch = 20, .first_reader = 100};
	struct world *world = *state;
	uint32_t order[N], theirs[N];

	permutation_of(4000000000u, order, N);
	memcpy(theirs, order, sizeof(order));
	read_files(world, world->subset, order, N, N, &epoch);
	epoch.first_reader = 200;
	read_files(world, world->subset, order, N, BEGUN, &epoch);
	assert_true(is_learned(world));
	assert_int_equal(world->course.pass.rule, PASS_SAME);
	permutation_of(world->course.pass.seed, order, N);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(world->list->files[order[i]], world->subset[theirs[i]]);
}

/* The last 24 of the permutation are not read, in either epoch: not the same ones. */
static void what_drop_last_leaves_out_is_unknown(void **state)
{
	const uint32_t workers[] = {0, 2};

	for (unsigned w = 0; w < 2; w++) {
		struct epoch epoch = {.workers = workers[w], .batch = 32, .first_reader = 100};
		struct world *world = *state;
		uint32_t known = 0, order[N];

		permutation_of(0, order, N);
		read_pass(world, 0, N, N / 32 * 32, N, &epoch);
		epoch.first_reader += epoch.workers;
		read_pass(world, 1, N, N / 32 * 32, BEGUN * (workers[w] + 1), &epoch);
		assert_true(is_learned(world));
		assert_int_equal(world->course.pass.seed, 1);
		assert_int_equal(world->list->count, N);
		for (uint32_t i = 0; i < N; i++)
			if (world->list->files[i] != ORDER_NONE) {
				assert_int_equal(world->list->files[i], world->subset[i]);
				known++;
			}
		assert_int_equal(known, N / 32 * 32);
		teardown(state);
		setup(state);
	}
}

/* --- whoever reads meanwhile ----------------------------------------------------------------- */

static void validation_in_turn_does_not_disturb(void **state)
{
	struct epoch train = {.workers = 4, .batch = 32, .first_reader = 100};
	struct epoch val = {.workers = 2, .batch = 32, .first_reader = 500};
	struct world *world = *state;
	uint32_t order[1000];

	for (uint32_t i = 0; i < 1000; i++)
		order[i] = i;
	for (uint32_t at = 0; at < 2; at++) {
		train.first_reader = 100 + 10 * at;
		val.first_reader = 500 + 10 * at;
		read_pass(world, word(42, 3 + 6 * at), N, N, N, &train);
		read_files(world, world->rest, order, 1000, 1000, &val);
	}
	train.first_reader = 120;
	read_pass(world, word(42, 15), N, N, BEGUN * 4, &train);
	assert_true(is_learned(world));
	assert_list(world, word(42, 15), N);
	assert_int_equal(world->course.pass.step, 6);
}

static void workers_that_live_on_are_told_from_their_epochs(void **state)
{
	struct epoch epoch = {.workers = 4, .batch = 32, .first_reader = 100};
	struct world *world = *state;

	for (uint32_t at = 0; at < 3; at++)
		read_pass(world, word(0, 3 + 2 * at), N, N, N, &epoch);
	read_pass(world, word(0, 9), N, N, BEGUN * 4, &epoch);
	assert_true(is_learned(world));
	assert_list(world, word(0, 9), N);
}

/* A look at the first file before, by the main process, which reads some others now and then. */
static void a_guest_does_not_disturb(void **state)
{
	struct epoch epoch = {.workers = 2, .batch = 32, .first_reader = 100};
	struct world *world = *state;
	uint32_t order[N], reader, index;
	struct loader loader;

	saw(world, 50, world->subset[0]);
	permutation_of(0, order, N);
	loader_init(&loader, order, N, 2, 32);
	loader.in_turn = true;
	for (uint32_t at = 0; loader_next(&loader, &reader, &index); at++) {
		saw(world, reader, world->subset[index]);
		if (at % 100 == 0)
			saw(world, 50, world->subset[at]);
	}
	epoch.first_reader = 200;
	read_pass(world, 1, N, N, 2 * BEGUN, &epoch);
	assert_true(is_learned(world));
	assert_list(world, 1, N);
}

/* The same process has a look at a file, and then reads all. */
static void a_look_at_a_file_does_not_disturb(void **state)
{
	struct epoch epoch = {.workers = 0, .batch = 1, .first_reader = 100};
	struct world *world = *state;

	saw(world, 100, world->subset[7]);
	assert_true(is_learned_from(world, 0, 1, N, epoch));
	assert_list(world, 1, N);
}

/* Ids have begun anew from 300 on, or a later worker was the first to read. */
static void workers_are_in_the_order_of_their_ids_or_their_beginnings(void **state)
{
	for (unsigned turned = 0; turned < 2; turned++) {
		struct epoch epoch = {.workers = 3, .batch = 10, .first_reader = 900};
		struct world *world = *state;
		uint32_t order[N], reader, index;
		struct loader loader;

		permutation_of(0, order, N);
		loader_init(&loader, order, N, 3, 10);
		loader.in_turn = true;
		if (turned)
			loader.turn = 2;
		while (loader_next(&loader, &reader, &index))
			saw(world, !turned && reader == 102 ? 5 : reader, world->subset[index]);
		read_pass(world, 1, N, N, 3 * BEGUN, &epoch);
		assert_true(is_learned(world));
		assert_list(world, 1, N);
		teardown(state);
		setup(state);
	}
}

/* --- what it must not learn ------------------------------------------------------------------ */

static void orders_that_are_not_torchs_teach_nothing(void **state)
{
	struct world *world = *state;
	const char *many = getenv("ORACLE_EPOCHS"); /* `make soak` */
	uint32_t order[N], epochs = many ? (uint32_t)atoi(many) : 4;

	for (uint32_t i = 0; i < N; i++)
		order[i] = i;
	for (uint32_t at = 0; at < epochs; at++) {
		struct epoch epoch = {.workers = at % 5,
				      .batch = at % 3 ? 32 : 1,
				      .first_reader = 100 + at * 10,
				      .random = at % 2};

		shuffle(&world->random, order, N);
		if (at % 4 == 1)
			for (uint32_t i = 0; i < N; i++)
				order[i] = below(&world->random, N);
		read_files(world, world->subset, order, N, BEGUN * 4, &epoch);
		assert_false(is_learned(world));
		epoch.first_reader += 5;
		read_files(world, world->subset, order, N, N, &epoch);
		for (uint32_t i = 0; i < N; i++)
			order[i] = i;
	}
}

static void a_scan_teaches_nothing(void **state)
{
	struct epoch epoch = {.workers = 0, .batch = 1, .first_reader = 100};
	struct world *world = *state;
	uint32_t order[N];

	for (uint32_t i = 0; i < N; i++)
		world->subset[i] = order[i] = i;
	read_files(world, world->subset, order, N, N, &epoch);
	epoch.first_reader++;
	read_files(world, world->subset, order, N, BEGUN, &epoch);
	assert_false(is_learned(world));
}

/* As one reader, four workers mix what they read. */
static void workers_of_another_namespace_teach_nothing(void **state)
{
	struct world *world = *state;
	uint32_t order[N], reader, index;

	for (uint32_t seed = 0; seed < 2; seed++) {
		struct loader loader;

		permutation_of(seed, order, N);
		loader_init(&loader, order, N, 4, 32);
		for (uint32_t at = 0; at < N - seed * 2000; at++)
			if (loader_next(&loader, &reader, &index))
				saw(world, 0, world->subset[index]);
	}
	assert_false(is_learned(world));
}

static void half_an_epoch_teaches_nothing(void **state)
{
	struct epoch epoch = {.workers = 2, .batch = 32, .first_reader = 100};
	struct world *world = *state;

	read_pass(world, 0, N, N, N / 2, &epoch);
	epoch.first_reader = 200;
	read_pass(world, 1, N, N, 2 * BEGUN, &epoch);
	assert_false(is_learned(world));
}

/* --- history --------------------------------------------------------------------------------- */

static void what_is_too_old_is_forgotten(void **state)
{
	struct epoch epoch = {.workers = 2, .batch = 32, .first_reader = 100};
	struct world *world = *state;

	for (uint32_t i = 0; i < 300000; i++)
		saw(world, 90 + i % 7, below(&world->random, FILES));
	assert_true(is_learned_from(world, 0, 1, N, epoch));
	assert_list(world, 1, N);
}

static void what_came_later_is_put_behind(void **state)
{
	struct epoch epoch = {.workers = 2, .batch = 32, .first_reader = 100};
	struct world *world = *state;
	struct history *earlier = world->history;

	read_pass(world, 0, N, N, N, &epoch);
	assert_int_equal(history_new(FILES, &world->history), 0);
	epoch.first_reader = 200;
	read_pass(world, 1, N, N, 2 * BEGUN, &epoch);
	assert_false(is_learned(world));
	history_append(earlier, world->history);
	history_free(world->history);
	world->history = earlier;
	assert_true(is_learned(world));
	assert_list(world, 1, N);
}

#define learn_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		learn_test(a_subset_under_manual_seed_is_known_after_an_epoch),
		learn_test(seeds_that_rise_by_one_are_learned_from),
		learn_test(one_generator_for_all_epochs_is_learned_from),
		learn_test(what_nobody_read_of_a_generator_is_no_hindrance),
		learn_test(an_order_that_comes_again_is_learned),
		learn_test(what_drop_last_leaves_out_is_unknown),
		learn_test(validation_in_turn_does_not_disturb),
		learn_test(workers_that_live_on_are_told_from_their_epochs),
		learn_test(a_guest_does_not_disturb),
		learn_test(a_look_at_a_file_does_not_disturb),
		learn_test(workers_are_in_the_order_of_their_ids_or_their_beginnings),
		learn_test(orders_that_are_not_torchs_teach_nothing),
		learn_test(a_scan_teaches_nothing),
		learn_test(workers_of_another_namespace_teach_nothing),
		learn_test(half_an_epoch_teaches_nothing),
		learn_test(what_is_too_old_is_forgotten),
		learn_test(what_came_later_is_put_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
