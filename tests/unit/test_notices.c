/* What is said of many files, once: base/notices.h. */
#include "base/notices.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <string.h>

static char said[4096];

static void hear(const char *line)
{
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

static void expect(struct notices *notices, const char *expected)
{
	said[0] = '\0';
	notices_say(notices, hear);
	assert_string_equal(said, expected);
}

static void begin(struct notices *notices)
{
	*notices = NOTICES_INIT;
}

FIXTURE(notices, struct notices, begin, notices_release);

TEST_OF(notices, the_same_of_many_is_one_line_with_the_sum)
{
	notices_add(notices, "b.tar", "left out: 12 members");
	notices_add(notices, "a.tar", "left out: 30 members");
	notices_add(notices, "c.tar", "left out: 1 members");
	notices_add(notices, "a.tar", "7 images have no text");
	expect(notices, "a.tar: 7 images have no text\na.tar and 2 more: left out: 43 members\n");
	expect(notices, "");
}

TEST_OF(notices, one_alone_is_as_it_was)
{
	notices_add(notices, "a.tar", "5 devices are left out, such as 'dev/1 2'");
	expect(notices, "a.tar: 5 devices are left out, such as 'dev/1 2'\n");
	notices_add(notices, "a.tar", "the column 'label2' has texts");
	expect(notices, "a.tar: the column 'label2' has texts\n");
}

TEST_OF(notices, what_differs_by_more_than_a_count_and_an_example_is_said_apart)
{
	notices_add(notices, "a", "the column 'label2' has texts");
	notices_add(notices, "b", "the column 'label4' has texts");
	notices_add(notices, "a", "1 device, such as 'x 9'");
	notices_add(notices, "b", "2 device, such as 'y'");
	notices_add(notices, "c", "2 devices, such as 'y'");
	expect(notices,
	       "a and 1 more: 3 device, such as 'x 9'\n"
	       "a: the column 'label2' has texts\n"
	       "b: the column 'label4' has texts\n"
	       "c: 2 devices, such as 'y'\n");
}

TEST_OF(notices, thousands_that_differ_are_counted)
{
	for (int i = 0; i < 1000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "the file x%d", i);
		notices_add(notices, "a", text);
	}
	said[0] = '\0';
	notices_say(notices, hear);
	assert_non_null(strstr(said, "984 more notices\n"));
}
