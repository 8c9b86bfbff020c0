/* Lists that users give: base/lines.h. */
#include "base/lines.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The items of a list, "LINE:ITEM|" each. */
static void expect(const char *text, const char *expected)
{
	struct lines lines;
	const char *item;
	char got[256] = "";
	size_t len;

	assert_int_equal(lines_begin(text, strlen(text), &lines, NULL), 0);
	while (lines_next(&lines, &item, &len))
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%d:%.*s|", (int)lines.line,
			 (int)len, item);
	assert_string_equal(got, expected);
}

static void an_item_is_a_line(void **state)
{
	(void)state;
	expect("", "");
	expect("a", "1:a|");
	expect("a b\nc\n", "1:a b|2:c|");
}

static void a_byte_order_mark_is_no_part_of_the_first_item(void **state)
{
	(void)state;
	expect("\xef\xbb\xbf"
	       "a\nb\n",
	       "1:a|2:b|");
	expect("\xef\xbb\xbf# a\n\xef\xbb\xbfx\n", "2:\xef\xbb\xbfx|");
	expect("\xef\xbb\xbf", "");
}

static void lines_may_end_as_on_windows(void **state)
{
	(void)state;
	expect("a\r\nb\r\n\r\nc\r", "1:a|2:b|4:c|");
	expect("a\rb\n", "1:a\rb|");
}

static void blank_lines_and_comments_are_no_items(void **state)
{
	(void)state;
	expect("\n  \n\ta\n \t# b\n#c\nd#e\n", "3:a|6:d#e|");
}

static void an_item_that_begins_with_a_number_sign_or_a_blank_is_written_as_a_path(void **state)
{
	(void)state;
	expect("./#1.jpg\n./ a.jpg\n./b.jpg\n./\n", "1:#1.jpg|2: a.jpg|3:./b.jpg|4:./|");
}

static void what_is_no_text_in_utf_8_is_refused(void **state)
{
	struct err err = {0};
	struct lines lines;

	(void)state;
	assert_int_equal(lines_begin("\xff\xfe"
				     "a\0",
				     4, &lines, &err),
			 -EINVAL);
	assert_string_equal(err.text, "is a list in UTF-16; save it as UTF-8");
	assert_int_equal(lines_begin("a\0b", 3, &lines, &err), -EINVAL);
	assert_string_equal(err.text, "is no list: it has zero bytes in it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_item_is_a_line),
		cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_first_item),
		cmocka_unit_test(lines_may_end_as_on_windows),
		cmocka_unit_test(blank_lines_and_comments_are_no_items),
		cmocka_unit_test(
			an_item_that_begins_with_a_number_sign_or_a_blank_is_written_as_a_path),
		cmocka_unit_test(what_is_no_text_in_utf_8_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
