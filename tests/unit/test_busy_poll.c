/* Who is worth staying awake for: fs/busy_poll.h. */
#include "fs/busy_poll.h"
#include "tests/unit/test.h"

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

TEST(nobody_is_looked_for_at_first)
{
	assert_false(look(poll_after(0, 0), true));
	assert_false(look(poll_after(500, 7), true));
}

TEST(a_reader_that_is_alone_is_looked_for)
{
	struct busy_poll *poll = poll_after(1000, 7);

	for (unsigned i = 0; i < 1000; i++)
		assert_true(look(poll, true));
}

TEST(two_readers_are_not)
{
	struct busy_poll *poll = poll_after(1000, 7);

	for (unsigned i = 0; i < 100; i++) {
		busy_poll_request(poll, 8 - i % 2);
		assert_false(look(poll, true));
	}
}

TEST(nor_are_readers_of_whom_nothing_is_known)
{
	assert_false(look(poll_after(1000, 0), true));
}

TEST(one_thread_looks_at_a_time)
{
	struct busy_poll *poll = poll_after(1000, 7);

	assert_true(busy_poll_begin(poll));
	assert_false(busy_poll_begin(poll));
	busy_poll_end(poll, true);
	assert_true(busy_poll_begin(poll));
}

/* A name, a read, and some milliseconds of decoding. */
TEST(a_reader_that_decodes_is_looked_for_all_the_same)
{
	struct busy_poll *poll = poll_after(1000, 7);

	for (unsigned i = 0; i < 1000; i++) {
		assert_true(look(poll, true));
		assert_true(look(poll, true));
		assert_true(look(poll, false));
	}
}

TEST(a_reader_that_seldom_asks_is_looked_for_now_and_then)
{
	struct busy_poll *poll = poll_after(1000, 7);
	unsigned looks = 0;

	for (unsigned i = 0; i < 1600; i++)
		looks += look(poll, false);
	assert_in_range(looks, 90, 110);
}

TEST(a_reader_that_asks_more_often_again_is_found_out)
{
	struct busy_poll *poll = poll_after(1000, 7);

	for (unsigned i = 0; i < 1000; i++)
		look(poll, false);
	for (unsigned i = 0; i < 16; i++)
		look(poll, true);
	assert_true(look(poll, true));
	assert_true(look(poll, true));
}
