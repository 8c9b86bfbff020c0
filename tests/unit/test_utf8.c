/* UTF-8, character by character: base/utf8.h. */
#include "base/scope.h"
#include "base/utf8.h"
#include "tests/unit/test.h"
#include <stdint.h>
#include <string.h>

static void expect(const char *text, size_t length, uint32_t code)
{
	uint32_t got = 0xffffffff;

	assert_int_equal(utf8_decode(text, strlen(text), &got), length);
	assert_int_equal(got, length ? code : 0xffffffff);
	if (length) {
		char again[4];

		assert_int_equal(utf8_encode(code, again), length);
		assert_memory_equal(again, text, length);
	}
}

TEST(each_length_has_its_first_and_last_character)
{
	expect("\x01", 1, 1);
	expect("\x7f", 1, 0x7f);
	expect("\xc2\x80", 2, 0x80);
	expect("\xdf\xbf", 2, 0x7ff);
	expect("\xe0\xa0\x80", 3, 0x800);
	expect("\xed\x9f\xbf", 3, 0xd7ff); /* around the surrogates */
	expect("\xee\x80\x80", 3, 0xe000);
	expect("\xef\xbf\xbf", 3, 0xffff);
	expect("\xf0\x90\x80\x80", 4, 0x10000);
	expect("\xf4\x8f\xbf\xbf", 4, 0x10ffff);
}

TEST(only_the_first_character_is_looked_at)
{
	uint32_t code;

	assert_int_equal(utf8_decode("\xe2\x82\xac\xff", 4, &code), 3);
	assert_int_equal(code, 0x20ac);
	assert_int_equal(utf8_decode("\0x", 2, &code), 1);
	assert_int_equal(code, 0);
}

TEST(what_is_cut_off_is_no_character)
{
	uint32_t code;

	assert_int_equal(utf8_decode("\xc3\xa4", 1, &code), 0);
	assert_int_equal(utf8_decode("\xe2\x82\xac", 2, &code), 0);
	assert_int_equal(utf8_decode("\xf0\x9f\x98\x80", 3, &code), 0);
}

TEST(other_ways_to_write_a_character_are_none)
{
	expect("\x80", 0, 0);	  /* goes on with nothing */
	expect("\xc0\xaf", 0, 0); /* a slash, overlong */
	expect("\xc1\xbf", 0, 0);
	expect("\xe0\x9f\xbf", 0, 0);
	expect("\xf0\x8f\xbf\xbf", 0, 0);
	expect("\xed\xa0\x80", 0, 0); /* a surrogate */
	expect("\xed\xbf\xbf", 0, 0);
	expect("\xf4\x90\x80\x80", 0, 0); /* behind the last one */
	expect("\xf5\x80\x80\x80", 0, 0);
	expect("\xff", 0, 0);
	expect("\xe2\x28\xa1", 0, 0);
	expect("\xe2\x82\x28", 0, 0);
}

TEST(behind_the_last_character_nothing_is_written)
{
	char none[4];

	assert_int_equal(utf8_encode(0x110000, none), 0);
	assert_int_equal(utf8_encode(UINT32_MAX, none), 0);
}

TEST(what_no_terminal_may_get_is_known_byte_by_byte)
{
	const char text[] = "a\x1b\xc2\x9b\x9b\xc2\xa0\x7f\xe2\x80\xae\xe2\x82\xac\xc2";
	const bool want[] = {false, true, true, true,  true,  false, false, true,
			     true,  true, true, false, false, false, true};

	for (size_t i = 0; i < sizeof(want); i++)
		assert_int_equal(utf8_is_control(text, sizeof(want), i), want[i]);
	assert_true(utf8_is_control("\x80\x80\x80\x80", 4, 3));
	assert_true(utf8_is_control("a\xbf", 2, 1));
}

TEST(names_are_shown_in_octal_where_they_would_command)
{
	SCOPE(buf_release) struct buf shown = BUF_INIT;
	static const char text[] = "a\0\x1b[m\xff\xe2\x80\xaex\xe2\x81\xa6\xe2\x82\xac";

	assert_int_equal(utf8_add_shown(&shown, text, sizeof(text) - 1), 0);
	assert_int_equal(buf_add(&shown, "", 1), 0);
	assert_string_equal(shown.data,
			    "a\\000\\033[m\\377\\342\\200\\256x\\342\\201\\246\xe2\x82\xac");
}

TEST(names_have_the_order_of_python)
{
	/* [os.fsencode(name) for name in sorted(map(os.fsdecode, NAMES))] */
	static const char *const sorted[] = {"",
					     "a",
					     "ab",
					     "\xc3\xa9",
					     "\xe7\x8b\x97",
					     "\xb9",
					     "\xb9\xb7",
					     "\xc3",
					     "\xc3z",
					     "\xed\xb2\x80",
					     "\xff",
					     "\xef\xbc\xa1",
					     "\xf0\x9f\x98\x80"};
	int count = sizeof(sorted) / sizeof(*sorted);

	for (int i = 0; i < count; i++)
		for (int j = 0; j < count; j++) {
			int order = utf8_compare(sorted[i], strlen(sorted[i]), sorted[j],
						 strlen(sorted[j]));

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}
