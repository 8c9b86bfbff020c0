/* What the log hears of storage that does not answer: fs/stall.h. */
#include "fs/stall.h"
#include "tests/unit/test.h"

TEST(a_stall_is_said_once_and_so_is_its_end)
{
	struct stall stall = {0};

	assert_int_equal(stall_look(&stall, STALL_MS - 1, false), STALL_NO_NEWS);
	assert_int_equal(stall_look(&stall, STALL_MS, false), STALL_BEGAN);
	assert_int_equal(stall_look(&stall, STALL_MS + 1000, false), STALL_NO_NEWS);
	for (unsigned i = 1; i < STALL_CALM; i++)
		assert_int_equal(stall_look(&stall, 0, false), STALL_NO_NEWS);
	assert_int_equal(stall_look(&stall, 0, false), STALL_ENDED);
	assert_int_equal(stall_look(&stall, 0, false), STALL_NO_NEWS);
}

TEST(storage_that_answers_in_part_is_said_once)
{
	struct stall stall = {0};

	assert_int_equal(stall_look(&stall, 0, true), STALL_BEGAN);
	for (unsigned i = 1; i < 100 * STALL_CALM; i++)
		assert_int_equal(stall_look(&stall, 0, i % STALL_CALM == 0), STALL_NO_NEWS);
}

TEST(it_rests_while_there_cannot_be_news)
{
	struct stall calm = {0}, lasts = {.lasts = true};

	assert_int_equal(stall_wait(&calm, false, 0), STALL_REST);
	assert_true(STALL_REST * 1000 < STALL_MS);
	assert_int_equal(stall_wait(&calm, false, 100), STALL_REST);
	assert_int_equal(stall_wait(&calm, false, 2), 2); /* reads are given up in time */
	assert_int_equal(stall_wait(&calm, true, 0), 1);
	assert_int_equal(stall_wait(&lasts, false, 0), 1);
}
