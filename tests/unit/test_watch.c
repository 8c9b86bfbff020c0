/* How readers begin: cache/order/watch.h. */
#include "cache/order/watch.h"
#include "tests/unit/loader.h"
#include "tests/unit/test.h"
#include <stdlib.h>

#define FILES	 100000
#define FORECAST 7
#define CHANCE	 0.01 /* with which anybody's file is foreseen */

static uint64_t stage_of(const struct watch *watch)
{
	const struct watch_group group = watch_group(watch);

	return watch_stage(&group, group.longest);
}

static uint64_t stage_of_all(const struct watch *watch)
{
	const struct watch_group group = watch_group(watch);

	return watch_stage(&group, group.shortest);
}

static struct watch_access seen[WATCH_LOG];

static int setup(void **state)
{
	struct watch *watch;

	assert_int_equal(watch_new(FILES, &watch), 0);
	*state = watch;
	return 0;
}

static int teardown(void **state)
{
	watch_free(*state);
	return 0;
}

static void ask(struct watch *watch, uint32_t reader, uint32_t file, bool foreseen)
{
	if (watch_turn(watch, reader, file))
		watch_note(watch, foreseen ? FORECAST : 0, CHANCE);
}

/* Files that nobody else asks for: any order but a rising one. */
static uint32_t file_of(uint32_t i)
{
	return (uint32_t)((uint64_t)i * 7919 % FILES);
}

FIXTURE_BY(watch, struct watch, setup, teardown);

TEST_OF(watch, a_file_that_is_opened_and_read_is_one_turn)
{
	assert_true(watch_turn(watch, 5, 1));
	watch_note(watch, 0, 0);
	assert_false(watch_turn(watch, 5, 1));
	assert_true(watch_turn(watch, 6, 1));
	assert_true(watch_turn(watch, 5, 2));
	assert_int_equal(watch_turns(watch), 3);
}

TEST_OF(watch, many_under_one_id_are_told_apart_by_what_they_hold)
{
	for (uint32_t file = 0; file < 8; file++)
		assert_true(watch_turn(watch, 0, file));
	for (uint32_t file = 0; file < 8; file++)
		assert_false(watch_turn(watch, 0, file));
}

TEST_OF(watch, workers_begin_side_by_side)
{
	unsigned count;

	for (uint32_t i = 0; i < 80; i++)
		ask(watch, 10 + i % 4, file_of(i), false);
	count = watch_beginnings(watch, seen);
	assert_int_equal(count, 80);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(seen[i].reader, 10 + i % 4);
		assert_int_equal(seen[i].file, file_of(i));
		assert_int_equal(seen[i].nth, i / 4);
	}
}

TEST_OF(watch, no_more_than_a_beginning_is_kept)
{
	for (uint32_t i = 0; i < 1000; i++)
		ask(watch, 10, file_of(i), false);
	assert_int_equal(watch_beginnings(watch, seen), WATCH_BEGINNING);
	assert_int_equal(seen[0].file, file_of(0));
}

TEST_OF(watch, the_stage_changes_as_the_beginning_grows)
{
	uint64_t last = stage_of(watch);
	unsigned changes = 0;

	assert_int_equal(last, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		ask(watch, 10, file_of(i), false);
		changes += stage_of(watch) != last;
		last = stage_of(watch);
	}
	assert_int_equal(changes, 6); /* 4, 6, 8, 16, 32, 64 */
}

TEST_OF(watch, the_shortest_beginning_says_when_all_have_come_so_far)
{
	for (uint32_t i = 0; i < 40; i++) {
		ask(watch, 10, file_of(2 * i), false);
		if (i % 2)
			ask(watch, 11, file_of(2 * i + 1), false);
	}
	assert_int_equal(watch_group(watch).shortest, 20);
	assert_true(stage_of_all(watch) < stage_of(watch));
	for (uint32_t i = 0; i < 20; i++)
		ask(watch, 11, file_of(1000 + i), false);
	assert_int_equal(watch_group(watch).shortest, 40);
	assert_int_equal(stage_of_all(watch), stage_of(watch));
}

TEST_OF(watch, many_under_one_id_have_a_part_of_its_beginning_each)
{
	for (uint32_t i = 0; i < 8 * 20; i++)
		ask(watch, 0, file_of(i), false);
	assert_int_equal(watch_group(watch).shortest, 20);
}

TEST_OF(watch, what_is_foreseen_is_no_beginning)
{
	for (uint32_t i = 0; i < 100; i++)
		ask(watch, 10, file_of(i), i % 3 == 0);
	assert_int_equal(watch_beginnings(watch, seen), 0);
	for (uint32_t i = 100; i < 120; i++)
		ask(watch, 10, file_of(i), false);
	assert_int_equal(watch_beginnings(watch, seen), 20);
	assert_int_equal(seen[0].file, file_of(100));
}

/* Half of those that reader 10 asks for, none of reader 11. */
static bool is_fourth(const void *context, uint32_t file)
{
	const uint32_t *files = context;

	for (unsigned i = 0; i < FILES; i += 4)
		if (files[i] == file)
			return true;
	return false;
}

TEST_OF(watch, who_is_known_to_go_by_a_forecast_has_no_beginning)
{
	uint32_t files[FILES];

	for (uint32_t i = 0; i < FILES; i++)
		files[i] = file_of(i);
	for (uint32_t i = 0; i < 40; i++)
		ask(watch, 10 + i % 2, file_of(i), false);
	watch_explain(watch, 3, FORECAST, CHANCE, is_fourth, files);
	watch_explain(watch, 1, FORECAST, 0.1, is_fourth, files);
	assert_int_equal(watch_beginnings(watch, seen), 40);
	watch_explain(watch, 1, FORECAST, CHANCE, is_fourth, files);
	assert_int_equal(watch_beginnings(watch, seen), 20);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(seen[i].reader, 11);
	assert_true(watch_turn(watch, 10, file_of(40)));
	assert_int_equal(watch_goes_by(watch), FORECAST);
	assert_true(watch_note(watch, FORECAST, CHANCE));
	assert_true(watch_turn(watch, 11, file_of(41)));
	assert_int_equal(watch_goes_by(watch), 0);
}

/* Of another job, which is somewhere near. */
TEST_OF(watch, what_a_forecast_foresees_by_chance_does_not_end_a_beginning)
{
	const double chances[] = {0.2, 0.1, 0.05, 0.01};

	srandom(1);
	for (uint32_t i = 0; i < FILES; i++) {
		uint32_t reader = 10 + i / 500;
		double chance = chances[reader % 4];

		assert_true(watch_turn(watch, reader, i));
		assert_false(watch_note(watch, (double)random() < chance * RAND_MAX, chance));
	}
}

TEST_OF(watch, mosaics_go_by_a_forecast_that_foresees_one_of_four)
{
	const double chances[] = {0.05, 0.01, 0.001};

	for (uint32_t i = 0; i < 3000; i++) {
		bool own = i % 4 == 0, goes;

		assert_true(watch_turn(watch, 10 + i / 1000, i));
		goes = watch_note(watch, own, chances[i / 1000]);
		assert_true(goes == own || i % 1000 < 128);
	}
}

/* And then asks for one of the files that its last epoch left out. */
TEST_OF(watch, who_has_always_gone_by_a_forecast_and_does_not_begins_anew)
{
	for (uint32_t i = 0; i < 1000; i++)
		ask(watch, 10, file_of(i), true);
	for (uint32_t i = 0; i < 3; i++)
		ask(watch, 10, file_of(i), false);
	assert_true(watch_turn(watch, 10, file_of(1000)));
	assert_false(watch_note(watch, FORECAST, CHANCE));
	assert_int_equal(watch_beginnings(watch, seen), 4);
	assert_int_equal(seen[0].file, file_of(0));
}

/* As where the next epoch was foretold wrongly: its order foresees this file by chance. */
TEST_OF(watch, one_file_of_another_forecast_does_not_end_a_beginning)
{
	for (uint32_t i = 0; i < 256; i++)
		ask(watch, 1, file_of(i), true);
	assert_true(watch_turn(watch, 1, file_of(256)));
	assert_false(watch_note(watch, FORECAST + 1, CHANCE));
	for (uint32_t i = 257; i < 272; i++)
		ask(watch, 1, file_of(i), false);
	assert_int_equal(watch_beginnings(watch, seen), 16);
	assert_int_equal(seen[0].file, file_of(256));
}

TEST_OF(watch, who_goes_on_with_the_next_forecast_is_known_by_two_files)
{
	for (uint32_t i = 0; i < 256; i++)
		ask(watch, 1, file_of(i), true);
	assert_true(watch_turn(watch, 1, file_of(256)));
	assert_false(watch_note(watch, FORECAST + 1, CHANCE));
	assert_true(watch_turn(watch, 1, file_of(257)));
	assert_true(watch_note(watch, FORECAST + 1, CHANCE));
	assert_int_equal(watch_goes_by(watch), FORECAST + 1);
	assert_int_equal(watch_group(watch).longest, 0);
}

TEST_OF(watch, workers_of_the_epoch_before_do_not_count)
{
	for (uint32_t i = 0; i < 100; i++)
		ask(watch, 10 + i % 2, file_of(i), false);
	for (uint32_t i = 0; i < 40; i++)
		ask(watch, 20 + i % 2, file_of(1000 + i), false);
	assert_int_equal(watch_beginnings(watch, seen), 40);
	for (unsigned i = 0; i < 40; i++)
		assert_true(seen[i].reader >= 20);
}

/* persistent_workers, or none: the same reader goes on from epoch to epoch. */
TEST_OF(watch, who_asks_for_all_anew_begins_anew)
{
	for (uint32_t epoch = 0; epoch < 3; epoch++)
		for (uint32_t i = 0; i < 500; i++)
			ask(watch, 10, file_of((i * 7 + epoch * 31) % 500), false);
	assert_int_equal(watch_beginnings(watch, seen), WATCH_BEGINNING);
	assert_int_equal(seen[0].file, file_of(62));
}

/* One whom a forecast followed until it ended has nothing fresh; another one shows that all begin
 * anew. */
TEST_OF(watch, who_has_begun_anew_does_not_do_so_again)
{
	unsigned count, of_first = 0;

	for (uint32_t i = 0; i < 200; i++) {
		ask(watch, 10, file_of(2 * i), i > 100);
		ask(watch, 20, file_of(2 * i + 1), false);
	}
	for (uint32_t i = 0; i < 50; i++) {
		ask(watch, 10, file_of(399 - 3 * i), false);
		ask(watch, 20, file_of(3 * i), false);
	}
	count = watch_beginnings(watch, seen);
	assert_int_equal(count, 100);
	for (uint32_t i = 0; i < count; i++)
		if (seen[i].reader == 10)
			assert_int_equal(seen[i].file, file_of(399 - 3 * of_first++));
	assert_int_equal(of_first, 50);
}

/* With each sample three of all the others, of which ever more were asked for before. */
TEST_OF(watch, mosaics_do_not_begin_anew)
{
	uint32_t random = 1;

	for (uint32_t i = 0; i < 4000; i++) {
		for (unsigned other = 0; other < 3; other++)
			ask(watch, 10 + i % 2, file_of(draw_below(&random, 4000)), false);
		ask(watch, 10 + i % 2, file_of(i), false);
	}
	assert_int_equal(watch_beginnings(watch, seen), 2 * WATCH_BEGINNING);
	for (uint32_t i = 0; i < 2 * WATCH_BEGINNING / 4; i++)
		assert_int_equal(seen[4 * i + 3].file, file_of(i));
}

/* One that comes late finds half of its files asked for by the first. */
TEST_OF(watch, a_job_over_the_same_files_does_not_begin_anew)
{
	for (uint32_t i = 0; i < 4000; i++) {
		ask(watch, 10, file_of(i * 7 % 4000), false);
		if (i >= 1500)
			ask(watch, 20, file_of(i * 11 % 4000), false);
	}
	assert_int_equal(watch_beginnings(watch, seen), 2 * WATCH_BEGINNING);
	assert_int_equal(seen[0].file, file_of(0));
	assert_int_equal(seen[WATCH_BEGINNING].file, file_of(1500 * 11 % 4000));
}

TEST_OF(watch, short_lived_readers_in_between_do_not_count)
{
	unsigned count;

	for (uint32_t i = 0; i < 200; i++) {
		ask(watch, 10 + i % 2, file_of(i), false);
		ask(watch, 1000 + i, file_of(5000 + i), false);
	}
	count = watch_beginnings(watch, seen);
	assert_true(count >= 2 * WATCH_BEGINNING);
	for (unsigned i = 0; i < count; i++)
		assert_true(seen[i].reader < 100);
}

TEST_OF(watch, any_number_of_readers_is_survived)
{
	for (uint32_t i = 0; i < 3 * WATCH_LOG; i++)
		for (uint32_t file = 0; file < 5; file++)
			ask(watch, i + 1, file_of(i * 5 + file), false);
	assert_true(watch_beginnings(watch, seen) <= WATCH_LOG);
	assert_true(watch_beginnings(watch, seen) > 0);
}

/* Eight ranks with 64 workers each, and what reads beside them. */
TEST_OF(watch, many_that_live_are_all_known_beside_others_that_end)
{
	enum { LIVING = 520 };

	for (uint32_t i = 0; i < 20; i++)
		for (uint32_t reader = 1; reader <= LIVING; reader++) {
			ask(watch, reader, file_of(i * LIVING + reader), false);
			if (reader % 2)
				ask(watch, 100000 + i * LIVING + reader, file_of(50000 + i), false);
		}
	assert_int_equal(watch_group(watch).longest, 20);
	assert_int_equal(watch_group(watch).shortest, 20);
	assert_true(watch_beginnings(watch, seen) >= LIVING * 20);
}

TEST_OF(watch, what_came_last_is_told_in_order)
{
	uint32_t recent[WATCH_RECENT];

	for (uint32_t i = 0; i < 3000; i++)
		ask(watch, 10 + i % 3, file_of(i), i % 2);
	assert_int_equal(watch_recent(watch, 0, recent), WATCH_RECENT);
	for (uint32_t i = 0; i < WATCH_RECENT; i++)
		assert_int_equal(recent[i], file_of(3000 - WATCH_RECENT + i));
}
