/* The way of what is seen to the oracle: cache/seen.h. */
#include "cache/seen.h"
#include "tests/unit/test.h"

TEST(what_finds_the_ring_full_is_dropped_and_counted)
{
	static struct seen seen;
	struct seen_event events[10];

	for (uint32_t i = 0; i < SEEN_EVENTS + 3; i++)
		seen_add(&seen, (struct seen_event){.file = i});
	assert_int_equal(seen.dropped, 3);
	assert_int_equal(seen_read(&seen, SEEN_EVENTS - 4, events, 10), 4);
	assert_int_equal(events[3].file, SEEN_EVENTS - 1);
	seen_release(&seen, 5);
	for (uint32_t i = 0; i < 5; i++)
		seen_add(&seen, (struct seen_event){.file = 100000 + i});
	assert_int_equal(seen.dropped, 3);
	assert_int_equal(seen_read(&seen, 5, events, 2), 2);
	assert_int_equal(events[0].file, 5);
	assert_int_equal(seen_read(&seen, SEEN_EVENTS, events, 10), 5);
	assert_int_equal(events[4].file, 100004);
	assert_int_equal(seen_read(&seen, seen.end, events, 10), 0);
}
