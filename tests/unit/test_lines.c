/* Lists that users give: base/lines.h. */
#include "base/lines.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

TEST(an_item_is_a_line)
{
	expect("", "");
	expect("a", "1:a|");
	expect("a b\nc\n", "1:a b|2:c|");
}

TEST(a_byte_order_mark_is_no_part_of_the_first_item)
{
	expect("\xef\xbb\xbf"
	       "a\nb\n",
	       "1:a|2:b|");
	expect("\xef\xbb\xbf# a\n\xef\xbb\xbfx\n", "2:\xef\xbb\xbfx|");
	expect("\xef\xbb\xbf", "");
}

TEST(lines_may_end_as_on_windows)
{
	expect("a\r\nb\r\n\r\nc\r", "1:a|2:b|4:c|");
	expect("a\rb\n", "1:a\rb|");
}

TEST(blank_lines_and_comments_are_no_items)
{
	expect("\n  \n\ta\n \t# b\n#c\nd#e\n", "3:a|6:d#e|");
}

TEST(an_item_that_begins_with_a_number_sign_or_a_blank_is_written_as_a_path)
{
	expect("./#1.jpg\n./ a.jpg\n./b.jpg\n./\n", "1:#1.jpg|2: a.jpg|3:./b.jpg|4:./|");
}

TEST(what_is_no_text_in_utf_8_is_refused)
{
	struct err err = {0};
	struct lines lines;

	assert_int_equal(lines_begin("\xff\xfe"
				     "a\0",
				     4, &lines, &err),
			 -EINVAL);
	assert_string_equal(err.text, "is a list in UTF-16; save it as UTF-8");
	assert_int_equal(lines_begin("a\0b", 3, &lines, &err), -EINVAL);
	assert_string_equal(err.text, "not a list: it has zero bytes in it");
}
