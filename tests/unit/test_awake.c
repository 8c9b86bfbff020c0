/* Who is worth staying awake for: fs/awake.h. */
#include "fs/awake.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct awake *awake_after(unsigned requests, uint32_t reader)
{
	static struct awake awake;

	awake_init(&awake);
	while (requests--)
		awake_request(&awake, reader);
	return &awake;
}

static bool look(struct awake *awake, bool found)
{
	if (!awake_begin(awake))
		return false;
	awake_end(awake, found);
	return true;
}

static void nobody_is_looked_for_at_first(void **state)
{
	(void)state;
	assert_false(look(awake_after(0, 0), true));
	assert_false(look(awake_after(500, 7), true));
}

static void a_reader_that_is_alone_is_looked_for(void **state)
{
	struct awake *awake = awake_after(1000, 7);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_true(look(awake, true));
}

static void two_readers_are_not(void **state)
{
	struct awake *awake = awake_after(1000, 7);

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		awake_request(awake, 8 - i % 2);
		assert_false(look(awake, true));
	}
}

static void nor_are_readers_of_whom_nothing_is_known(void **state)
{
	(void)state;
	assert_false(look(awake_after(1000, 0), true));
}

static void one_thread_looks_at_a_time(void **state)
{
	struct awake *awake = awake_after(1000, 7);

	(void)state;
	assert_true(awake_begin(awake));
	assert_false(awake_begin(awake));
	awake_end(awake, true);
	assert_true(awake_begin(awake));
}

/* A name, a read, and some milliseconds of decoding. */
static void a_reader_that_decodes_is_looked_for_all_the_same(void **state)
{
	struct awake *awake = awake_after(1000, 7);

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		assert_true(look(awake, true));
		assert_true(look(awake, true));
		assert_true(look(awake, false));
	}
}

static void a_reader_that_seldom_asks_is_looked_for_now_and_then(void **state)
{
	struct awake *awake = awake_after(1000, 7);
	unsigned looks = 0;

	(void)state;
	for (unsigned i = 0; i < 1600; i++)
		looks += look(awake, false);
	assert_in_range(looks, 90, 110);
}

static void a_reader_that_asks_more_often_again_is_found_out(void **state)
{
	struct awake *awake = awake_after(1000, 7);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		look(awake, false);
	for (unsigned i = 0; i < 16; i++)
		look(awake, true);
	assert_true(look(awake, true));
	assert_true(look(awake, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_looked_for_at_first),
		cmocka_unit_test(a_reader_that_is_alone_is_looked_for),
		cmocka_unit_test(two_readers_are_not),
		cmocka_unit_test(nor_are_readers_of_whom_nothing_is_known),
		cmocka_unit_test(one_thread_looks_at_a_time),
		cmocka_unit_test(a_reader_that_decodes_is_looked_for_all_the_same),
		cmocka_unit_test(a_reader_that_seldom_asks_is_looked_for_now_and_then),
		cmocka_unit_test(a_reader_that_asks_more_often_again_is_found_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
