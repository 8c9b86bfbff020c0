/* Following an order: cache/order/forecast.h. */
#define TEST_MAIN
#include "cache/order/forecast.h"
#include "tests/unit/loader.h"
#include "tests/unit/test.h"
#include <string.h>

#define N 5000

static uint32_t order[N], other[N];

static struct forecast *forecast_of(const uint32_t *files, uint32_t count)
{
	uint32_t *copy = malloc(count * sizeof(*files));
	struct forecast *forecast;

	memcpy(copy, files, count * sizeof(*files));
	assert_int_equal(forecast_new(copy, count, NULL, &forecast), 0);
	return forecast;
}

struct taken {
	uint32_t files[N];
	unsigned count, most;
};

static bool take(void *arg, uint32_t file)
{
	struct taken *taken = arg;

	taken->files[taken->count++] = file;
	return taken->count < taken->most;
}

static const struct taken *coming(const struct forecast *forecast, unsigned most)
{
	static struct taken taken;

	taken.count = 0;
	taken.most = most;
	forecast_coming(forecast, take, &taken);
	return &taken;
}

/* Readers have asked for `count` files when the forecast is taken up. */
static void take_up(struct forecast *forecast, struct loader *loader, unsigned count)
{
	uint32_t seen[512], reader;

	for (unsigned i = 0; i < count; i++)
		assert_true(loader_next(loader, &reader, &seen[i]));
	forecast_start(forecast, seen, count);
}

static int setup(void **state)
{
	uint32_t random = 1;

	(void)state;

	shuffle_from(10, order, N, &random);
	shuffle_from(10, other, N, &random);
	return 0;
}

static int begin_forecast(void **state)
{
	*state = forecast_of(order, N);
	return 0;
}

static int end_forecast(void **state)
{
	forecast_free(*state);
	return 0;
}

FIXTURE_BY(forecast, struct forecast, begin_forecast, end_forecast);

TEST_OF(forecast, one_reader_is_followed_file_by_file)
{
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(coming(forecast, 1)->files[0], order[i]);
		assert_true(forecast_saw(forecast, order[i]));
		assert_int_equal(forecast_position(forecast), i + 1);
	}
	assert_int_equal(coming(forecast, 1)->count, 0);
	assert_true(forecast_ended(forecast));
	assert_false(forecast_lost(forecast));
}

/* What is not foreseen are beginnings of batches, until it is known how long these are. */
TEST(workers_with_batches_are_followed)
{
	const uint32_t workers[] = {1, 2, 3, 4, 8, 16}, batches[] = {1, 2, 8, 16, 32, 100, 256};

	for (unsigned w = 0; w < 6; w++)
		for (unsigned b = 0; b < 7; b++)
			for (uint32_t mixed = 0; mixed < 3; mixed++) {
				struct forecast *forecast = forecast_of(order, N);
				uint32_t reader, file, missed = 0, given_up = 0;
				struct loader loader;

				loader_init(&loader, order, N, workers[w], batches[b]);
				loader.random = mixed;
				take_up(forecast, &loader, 256);
				while (loader_next(&loader, &reader, &file)) {
					given_up += !forecast_foresees(forecast, file);
					missed += !forecast_saw(forecast, file);
					assert_false(forecast_lost(forecast));
				}
				assert_true(missed <= 4 * workers[w]);
				assert_true(given_up <= N / 50);
				assert_true(forecast_ended(forecast));
				forecast_free(forecast);
			}
}

/* Four workers in their first batches: the next of each comes before the one after it. */
TEST_OF(forecast, what_comes_is_told_for_all_workers_side_by_side)
{
	const struct taken *next;
	struct loader loader;

	loader_init(&loader, order, N, 4, 32);
	take_up(forecast, &loader, 40);
	next = coming(forecast, 20);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(next->files[i], order[i % 4 * 32 + 10 + i / 4]);
}

/* Whoever reads ahead what is told has each file before it is asked for. */
TEST_OF(forecast, each_file_is_told_before_it_is_asked_for)
{
	static bool told[N + 10];
	uint32_t reader, file, missed = 0;
	struct loader loader;

	loader_init(&loader, order, N, 8, 32);
	loader.random = 7;
	take_up(forecast, &loader, 256);
	while (loader_next(&loader, &reader, &file)) {
		const struct taken *next = coming(forecast, 256);

		for (unsigned i = 0; i < next->count; i++)
			told[next->files[i]] = true;
		missed += !told[file];
		forecast_saw(forecast, file);
	}
	assert_true(missed < N / 200);
}

static bool is_told(const struct taken *next, uint32_t file)
{
	for (unsigned i = 0; i < next->count; i++)
		if (next->files[i] == file)
			return true;
	return false;
}

#define PACE_FILES 640 /* of 100 KB in the least pace that readers are ahead by */

/* Ranks take each so manieth place, and nothing holds them together: the first one goes on at twice
 * the pace of the others. */
TEST(ranks_that_drift_apart_are_followed)
{
	for (uint32_t world = 2; world <= 8; world *= 2) {
		struct forecast *forecast = forecast_of(order, N);
		uint32_t at[8], missed = 0;

		for (uint32_t rank = 0; rank < world; rank++)
			at[rank] = rank;
		for (uint32_t turn = 0; at[0] < N; turn++)
			for (uint32_t rank = 0; rank < world && at[rank] < N; rank++) {
				if (rank && turn % 2)
					continue;
				missed += !is_told(coming(forecast, PACE_FILES), order[at[rank]]);
				assert_true(forecast_saw(forecast, order[at[rank]]));
				at[rank] += world;
			}
		print_message("%u ranks: %u apart, %u not told\n", world, at[0] - at[1], missed);
		assert_true(missed < N / 100);
		assert_false(forecast_lost(forecast));
		forecast_free(forecast);
	}
}

/* One of three began earlier. */
TEST_OF(forecast, ranks_that_are_apart_have_come_as_far_as_each_is)
{
	uint32_t seen[100];

	for (uint32_t i = 0; i < 60; i++)
		seen[i] = order[3 * i];
	for (uint32_t i = 0; i < 40; i++)
		seen[60 + i] = order[3 * (i / 2) + 1 + i % 2];
	forecast_start(forecast, seen, 100);
	assert_int_equal(forecast_position(forecast), 100);
	assert_false(forecast_foresees(forecast, order[3 * 59]));
	assert_true(forecast_foresees(forecast, order[3 * 59 - 1]));
}

TEST_OF(forecast, a_stray_at_the_beginning_is_no_reader_there)
{
	uint32_t seen[101] = {order[5]};

	memcpy(seen + 1, order + 3000, 100 * sizeof(*seen));
	forecast_start(forecast, seen, 101);
	assert_true(forecast_foresees(forecast, order[3100]));
	assert_false(forecast_foresees(forecast, order[1000]));
}

TEST_OF(forecast, another_order_is_lost)
{
	for (uint32_t i = 0; i < 200; i++)
		assert_true(forecast_saw(forecast, order[i]));
	for (uint32_t i = 0; i < 64; i++)
		forecast_saw(forecast, other[i]);
	assert_true(forecast_lost(forecast));
}

TEST_OF(forecast, files_of_others_say_nothing)
{
	for (uint32_t i = 0; i < N; i++) {
		assert_true(forecast_saw(forecast, order[i]));
		for (uint32_t mask = 0; mask < 5; mask++)
			assert_false(forecast_saw(forecast, 10 + N + i * 5 + mask));
		assert_false(forecast_lost(forecast));
	}
}

/* Each sample reads three others of the same files. */
TEST_OF(forecast, mosaics_do_not_end_it)
{
	uint32_t random = 3;

	for (uint32_t i = 0; i < N * 4 / 5; i++) {
		forecast_saw(forecast, order[i]);
		for (unsigned extra = 0; extra < 3; extra++)
			forecast_saw(forecast, 10 + draw_below(&random, N));
		assert_false(forecast_lost(forecast));
		assert_true(forecast_position(forecast) > i);
	}
}

/* One in ten is in the kernel's cache, and is not asked for. */
TEST(what_is_never_asked_for_is_passed_over)
{
	const uint32_t workers[] = {1, 2, 8};

	for (unsigned w = 0; w < 3; w++) {
		struct forecast *forecast = forecast_of(order, N);
		uint32_t reader, file, random = 9;
		struct loader loader;

		loader_init(&loader, order, N, workers[w], 32);
		take_up(forecast, &loader, 256);
		while (loader_next(&loader, &reader, &file)) {
			if (draw_below(&random, 10) == 0)
				continue;
			forecast_saw(forecast, file);
			assert_false(forecast_lost(forecast));
		}
		assert_true(forecast_ended(forecast));
		forecast_free(forecast);
	}
}

/* It is taken up late: what the other workers read of their batches before is not told of. */
TEST(what_came_before_it_was_taken_up_is_passed_over)
{
	enum { MANY = 40009 };
	static uint32_t many[MANY], seen[2000];
	uint32_t reader, file = 0, at = 0, pushed = 0;
	struct forecast *forecast;
	struct loader loader;

	for (uint32_t i = 0; i < MANY; i++)
		many[i] = 10 + i * 7919 % MANY;
	forecast = forecast_of(many, MANY);
	loader_init(&loader, many, MANY, 4, 64);
	loader.in_turn = true;
	while (at < 2000)
		loader_next(&loader, &reader, &seen[at++]);
	forecast_start(forecast, seen + 976, 1024);
	for (; at < MANY / 2; at++) {
		loader_next(&loader, &reader, &file);
		forecast_saw(forecast, file);
		if (at % 8 || !forecast_may_push(forecast))
			continue;
		forecast_push(forecast, coming(forecast, 1)->files[0]);
		pushed += at > MANY / 4;
	}
	assert_true(pushed > MANY / 40);
	assert_true(forecast_chance(forecast) < 0.2);
	forecast_free(forecast);
}

TEST_OF(forecast, a_run_that_goes_on_in_the_middle_is_followed_from_there)
{
	uint32_t reader, file;
	struct loader loader;

	loader_init(&loader, order + 2000, N - 2000, 2, 16);
	take_up(forecast, &loader, 100);
	assert_in_range(forecast_position(forecast), 2100 - 2 * 3, 2100); /* batches just begun */
	while (loader_next(&loader, &reader, &file))
		assert_true(forecast_saw(forecast, file));
	assert_true(forecast_ended(forecast));
}

/* A reader farther on than any batch is believed by four places, each of which is opened and read.
 */
TEST_OF(forecast, three_places_far_ahead_are_no_reader_there_and_four_are)
{
	for (unsigned i = 0; i < 3; i++)
		for (unsigned times = 0; times < 3; times++)
			forecast_saw(forecast, order[3000 + i]);
	assert_false(forecast_foresees(forecast, order[3003]));
	assert_int_equal(forecast_edge(forecast), 0);
	forecast_saw(forecast, order[3003]);
	assert_true(forecast_foresees(forecast, order[3004]));
	assert_int_equal(forecast_edge(forecast), 3004);
}

/* The last readers' beginning is in the middle of others' files. */
TEST_OF(forecast, noise_among_what_was_seen_does_not_count)
{
	uint32_t seen[192], random = 5;

	for (unsigned i = 0; i < 192; i++)
		seen[i] = i % 3 ? 10 + draw_below(&random, N) : order[i / 3];
	seen[1] = order[3000]; /* some are neighbours by chance */
	seen[4] = order[3002];
	seen[8] = order[3001];
	forecast_start(forecast, seen, 192);
	assert_true(forecast_position(forecast) < 100);
	assert_true(forecast_saw(forecast, order[64]));
}

TEST_OF(forecast, an_epoch_that_drops_its_last_batch_ends)
{
	uint32_t reader, file;
	struct loader loader;

	loader_init(&loader, order, N / 256 * 256, 4, 256);
	take_up(forecast, &loader, 512);
	while (loader_next(&loader, &reader, &file))
		forecast_saw(forecast, file);
	assert_true(forecast_ended(forecast));
}

/* One in eight is asked for, the others are pushed, as far as that is allowed. */
TEST_OF(forecast, what_is_pushed_keeps_near_the_readers)
{
	uint32_t pushed = 0;

	for (uint32_t i = 0; i < N; i++) {
		for (; pushed < N && forecast_may_push(forecast); pushed++)
			if (pushed % 8)
				forecast_push(forecast, order[pushed]);
		assert_true(pushed <= i + 2 * FORECAST_PUSH);
		assert_true(pushed > i);
		if (i % 8 == 0)
			assert_true(forecast_saw(forecast, order[i]));
		assert_false(forecast_lost(forecast));
	}
	assert_true(forecast_ended(forecast));
}

TEST_OF(forecast, a_file_that_is_pushed_unforeseen_says_nothing)
{
	forecast_push(forecast, order[3000]);
	assert_int_equal(forecast_position(forecast), 0);
	assert_int_equal(forecast_edge(forecast), 0);
}

TEST_OF(forecast, pushing_ends_where_nobody_comes)
{
	uint32_t pushed = 0;

	while (forecast_may_push(forecast))
		forecast_push(forecast, order[pushed++]);
	assert_int_equal(pushed, FORECAST_PUSH);
	assert_true(forecast_saw(forecast, order[5]));
	assert_int_equal(forecast_position(forecast), FORECAST_PUSH);
}

TEST(a_forecast_of_one_file_works)
{
	const uint32_t file = 7;
	struct forecast *forecast = forecast_of(&file, 1);

	assert_false(forecast_has(forecast, 6));
	assert_true(forecast_saw(forecast, 7));
	assert_int_equal(coming(forecast, 1)->count, 0);
	forecast_free(forecast);
}

TEST(the_next_place_is_one_that_has_not_come)
{
	struct forecast *forecast = forecast_of(order, 100);
	uint32_t file = 0;

	forecast_saw(forecast, order[0]);
	forecast_saw(forecast, order[1]);
	forecast_saw(forecast, order[5]);
	assert_int_equal(forecast_next(forecast, 0, &file), 2);
	assert_int_equal(file, order[2]);
	assert_int_equal(forecast_next(forecast, 5, &file), 6);
	assert_int_equal(file, order[6]);
	assert_int_equal(forecast_next(forecast, 100, &file), 100);
	assert_int_equal(file, order[6]);
	forecast_free(forecast);
}

/* How far from its first place a forecast foresees. */
static uint32_t reach_of(const struct forecast *forecast)
{
	uint32_t place = 0;

	while (place < N && forecast_foresees(forecast, order[place]))
		place++;
	return place;
}

/* Ranks that were two orders and are one now have as many more places between their batches. */
TEST(an_epoch_of_more_ranks_reaches_as_much_further)
{
	struct forecast *rank = forecast_of(order, N / 5), *same = forecast_of(order, N / 5);
	struct forecast *all = forecast_of(order, N);
	struct loader loader;
	uint32_t reader, file;

	loader_init(&loader, order, N / 5, 2, 100);
	for (uint32_t i = 0; i < N / 10 && loader_next(&loader, &reader, &file); i++)
		forecast_saw(rank, file);
	forecast_continue(same, rank);
	forecast_continue(all, rank);
	assert_in_range(reach_of(same), 100, N / 5 - 1);
	assert_int_equal(reach_of(all), 5 * reach_of(same));
	forecast_free(rank);
	forecast_free(same);
	forecast_free(all);
}

TEST(a_copy_is_where_its_origin_was_and_goes_its_own_way)
{
	struct forecast *origin = forecast_of(order, N), *copy;

	for (uint32_t i = 0; i < 100; i++)
		forecast_saw(origin, order[i]);
	assert_int_equal(forecast_copy(origin, &copy), 0);
	assert_int_equal(forecast_position(copy), 100);
	for (uint32_t i = 100; i < 200; i++)
		forecast_saw(copy, order[i]);
	assert_int_equal(forecast_position(copy), 200);
	assert_int_equal(forecast_position(origin), 100);
	forecast_free(origin); /* the order is the copy's, too */
	assert_int_equal(coming(copy, 1)->files[0], order[200]);
	forecast_free(copy);
}

int main(void)
{
	return test_run(setup, NULL);
}
