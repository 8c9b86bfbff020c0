/* Sizes as people write and read them: base/size.h. */
#include "base/size.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdint.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TIB	     (GIB << 10)

#define DIGITS_64 "1111111111111111111111111111111111111111111111111111111111111111"

TEST(sizes_are_read_in_powers_of_1024)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} table[] = {
		{"0", 0},
		{"1048576", MIB},
		{"712B", 712},
		{"64K", 64 * KIB},
		{"64k", 64 * KIB},
		{"64KB", 64 * KIB},
		{"64KiB", 64 * KIB},
		{"3M", 3 * MIB},
		{"24G", 24 * GIB},
		{"24GiB", 24 * GIB},
		{"1.5T", TIB + TIB / 2},
		{"1.5t", TIB + TIB / 2},
		{"0.5K", 512},
		{"007M", 7 * MIB},
		{"1.0", 1},
		{"1.9", 1},    /* no half bytes */
		{"0.1K", 102}, /* 102.4 */
		{"0.0009765625K", 1},
		{"0.999999999999999999999999K", 1023},
		{"0." DIGITS_64 DIGITS_64 "K", 113},
		{"9223372036854775807", INT64_MAX},
		{"8388607.999999T", 9223372036853676296u},
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		uint64_t bytes = 42;

		print_message("%s\n", table[i].text);
		assert_int_equal(size_parse(table[i].text, &bytes), 0);
		assert_true(bytes == table[i].bytes);
	}
}

static void expect_refused(const char *text, int error)
{
	uint64_t bytes = 42;

	print_message("'%s'\n", text);
	assert_int_equal(size_parse(text, &bytes), error);
	assert_true(bytes == 42);
}

TEST(what_is_not_a_size_is_refused_and_nothing_written)
{
	static const char *const none[] = {
		"",	  "x",	  "K",	  "B",	 "-1",	"+1",
		" 1",	  "1 ",	  "1 K",  ".5G", "1.",	"1.K",
		"1.5.5K", "1,5G", "0x10", "1e3", "1iB", "1Ki",
		"1KiBs",  "1Kb",  "1P",	  "1KK", "inf", "99999999999999999999999999x"};
	static const char *const too_large[] = {
		"9223372036854775808",
		"18446744073709551616",
		"340282366920938463463374607431768211457", /* 2^128 + 1 */
		"340282366920938463463374607431768211457T",
		"8388608T",
		"16777216T", /* 2^64: must not wrap to 0 */
	};

	for (size_t i = 0; i < COUNT(none); i++)
		expect_refused(none[i], -EINVAL);
	for (size_t i = 0; i < COUNT(too_large); i++)
		expect_refused(too_large[i], -ERANGE);
}

TEST(sizes_are_shown_with_three_digits)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} table[] = {
		{0, "0 bytes"},
		{1, "1 byte"},
		{2, "2 bytes"},
		{712, "712 bytes"},
		{1023, "1023 bytes"},
		{KIB, "1 KiB"},
		{1030, "1.01 KiB"},
		{1536, "1.5 KiB"},
		{10 * KIB + 26, "10 KiB"},
		{10 * KIB + 103, "10.1 KiB"},
		{99 * KIB + 1020, "100 KiB"},
		{999 * KIB + 600, "1000 KiB"},
		{1023 * KIB, "1023 KiB"},
		{1023 * KIB + 511, "1023 KiB"},
		{1023 * KIB + 512, "1 MiB"},
		{MIB - 1, "1 MiB"},
		{1478493, "1.41 MiB"},
		{24 * GIB, "24 GiB"},
		{149250000000, "139 GiB"},
		{TIB + TIB / 2, "1.5 TiB"},
		{TIB << 10, "1 PiB"},
		{INT64_MAX, "8 EiB"},
		{UINT64_MAX, "16 EiB"},
	};
	char text[SIZE_TEXT];

	for (size_t i = 0; i < COUNT(table); i++) {
		assert_string_equal(size_format(table[i].bytes, text), table[i].text);
		assert_ptr_equal(size_format(table[i].bytes, text), text);
	}
}

TEST(counts_get_a_comma_every_three_digits)
{
	static const struct {
		uint64_t count;
		const char *text;
	} table[] = {
		{0, "0"},
		{7, "7"},
		{42, "42"},
		{999, "999"},
		{1000, "1,000"},
		{99999, "99,999"},
		{100000, "100,000"},
		{1281167, "1,281,167"},
		{UINT64_MAX, "18,446,744,073,709,551,615"},
	};
	char text[SIZE_TEXT];

	for (size_t i = 0; i < COUNT(table); i++)
		assert_string_equal(count_format(table[i].count, text), table[i].text);
}

TEST(a_noun_is_in_the_singular_behind_one_alone)
{
	char text[SIZE_TEXT];

	assert_string_equal(count_noun(0, "file", text), "0 files");
	assert_string_equal(count_noun(1, "file", text), "1 file");
	assert_string_equal(count_noun(1281167, "image", text), "1,281,167 images");
	assert_string_equal(count_noun(UINT64_MAX, "letters of a noun", text),
			    "18,446,744,073,709,551,615 letters of a nouns");
}
