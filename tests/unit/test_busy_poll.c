/* Who is worth staying awake for: fs/busy_poll.h. */
#include "fs/busy_poll.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct busy_poll *poll_after(unsigned requests, uint32_t reader)
{
	static struct busy_poll poll;

	busy_poll_init(&poll);
	while (requests--)
		busy_poll_request(&poll, reader);
	return &poll;
}

static bool look(struct busy_poll *poll, bool found)
{
	if (!busy_poll_begin(poll))
		return false;
	busy_poll_end(poll, found);
	return true;
}

static void nobody_is_looked_for_at_first(void **state)
{
	(void)state;
	assert_false(look(poll_after(0, 0), true));
	assert_false(look(poll_after(500, 7), true));
}

static void a_reader_that_is_alone_is_looked_for(void **state)
{
	struct busy_poll *poll = poll_after(1000, 7);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_true(look(poll, true));
}

static void two_readers_are_not(void **state)
{
	struct busy_poll *poll = poll_after(1000, 7);

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		busy_poll_request(poll, 8 - i % 2);
		assert_false(look(poll, true));
	}
}

static void nor_are_readers_of_whom_nothing_is_known(void **state)
{
	(void)state;
	assert_false(look(poll_after(1000, 0), true));
}

static void one_thread_looks_at_a_time(void **state)
{
	struct busy_poll *poll = poll_after(1000, 7);

	(void)state;
	assert_true(busy_poll_begin(poll));
	assert_false(busy_poll_begin(poll));
	busy_poll_end(poll, true);
	assert_true(busy_poll_begin(poll));
}

/* A name, a read, and some milliseconds of decoding. */
static void a_reader_that_decodes_is_looked_for_all_the_same(void **state)
{
	struct busy_poll *poll = poll_after(1000, 7);

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		assert_true(look(poll, true));
		assert_true(look(poll, true));
		assert_true(look(poll, false));
	}
}

static void a_reader_that_seldom_asks_is_looked_for_now_and_then(void **state)
{
	struct busy_poll *poll = poll_after(1000, 7);
	unsigned looks = 0;

	(void)state;
	for (unsigned i = 0; i < 1600; i++)
		looks += look(poll, false);
	assert_in_range(looks, 90, 110);
}

static void a_reader_that_asks_more_often_again_is_found_out(void **state)
{
	struct busy_poll *poll = poll_after(1000, 7);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		look(poll, false);
	for (unsigned i = 0; i < 16; i++)
		look(poll, true);
	assert_true(look(poll, true));
	assert_true(look(poll, true));
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
