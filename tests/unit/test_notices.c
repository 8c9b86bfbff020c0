/* What is said of many files, once: base/notices.h. */
#include "base/notices.h"
#include "base/scope.h"
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

TEST_OF(notices, the_same_of_many_is_one_line_with_the_sums)
{
	static const struct notice part = {"{} of {} samples", 2, {3, 20}, "'x 9'"};

	notices_add(notices, "b.tar", NOTICE("left out: {} members", 12));
	notices_add(notices, "a.tar", NOTICE("left out: {} members", 1130));
	notices_add(notices, "c.tar", NOTICE("left out: {} members", 12));
	notices_add(notices, "a.tar", &part);
	notices_add(notices, "b.tar", &part);
	expect(notices,
	       "a.tar and 2 more: left out: 1,154 members\n"
	       "a.tar and 1 more: 6 of 40 samples, such as 'x 9'\n");
	expect(notices, "");
}

TEST_OF(notices, a_noun_is_in_the_plural_of_the_sum)
{
	static const struct notice listed = {"{} file(s) by {} request(s)", 2, {1, 1}, NULL};

	notices_add(notices, "a", &listed);
	expect(notices, "a: 1 file by 1 request\n");
	notices_add(notices, "a", &listed);
	notices_add(notices, "b", &listed);
	expect(notices, "a and 1 more: 2 files by 2 requests\n");
}

TEST_OF(notices, the_first_example_stays)
{
	notices_add(notices, "a", &(struct notice){"{} devices", 1, {1}, "'x'"});
	notices_add(notices, "b", &(struct notice){"{} devices", 1, {2}, "'y'"});
	expect(notices, "a and 1 more: 3 devices, such as 'x'\n");
}

TEST_OF(notices, what_stands_in_a_text_is_no_count)
{
	notices_add(notices, "a", &(struct notice){.text = "list: line 3 is label 1"});
	notices_add(notices, "b", &(struct notice){.text = "list: line 3 is label 1"});
	notices_add(notices, "b", &(struct notice){.text = "list: line 4 is label 1"});
	notices_add(notices, "b", NOTICE("{} images, class '{}'", 5));
	notices_add(notices, "b", NOTICE("no place", 5));
	expect(notices,
	       "a and 1 more: list: line 3 is label 1\n"
	       "b: list: line 4 is label 1\n"
	       "b: no place\n"
	       "b: 5 images, class '{}'\n");
}

TEST_OF(notices, those_of_one_file_are_added_to_others)
{
	SCOPE(notices_release) struct notices one = NOTICES_INIT;

	notices_add(notices, "b", NOTICE("{} odd", 2));
	notices_add(&one, "a", NOTICE("{} odd", 3));
	notices_add(&one, "a", &(struct notice){.text = "alone"});
	notices_move(&one, notices);
	expect(&one, "");
	expect(notices, "a: alone\na and 1 more: 5 odd\n");
}

TEST_OF(notices, thousands_that_differ_are_counted)
{
	for (int i = 0; i < 1000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "the file x%d", i);
		notices_add(notices, "a", &(struct notice){.text = text});
	}
	said[0] = '\0';
	notices_say(notices, hear);
	assert_non_null(strstr(said, "984 more notices\n"));
}
