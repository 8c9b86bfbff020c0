/* JSON values, as Python reads them: base/json.h. */
#include "base/json.h"
#include "tests/unit/test.h"
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct buf out;

static void begin(struct json *json)
{
	*json = json_begin(&out);
}

static void end(struct json *json)
{
	(void)json;
	buf_release(&out);
}

FIXTURE(json, struct json, begin, end);

static void assert_text(const struct json *json, const char *text)
{
	assert_int_equal(buf_error(json->buf), 0);
	assert_int_equal(json->buf->len, strlen(text));
	assert_memory_equal(json->buf->data, text, strlen(text));
	buf_release(json->buf);
}

/* A string of len bytes at the top must come out as text. */
static void assert_bytes(const char *data, size_t len, const char *text)
{
	struct buf buf = BUF_INIT;
	struct json json = json_begin(&buf);

	json_bytes(&json, NULL, data, len);
	assert_text(&json, text);
}

/* --- structure ------------------------------------------------------------------------ */

TEST_OF(json, members_are_separated_by_comma_and_blank)
{
	json_object(json, NULL);
	json_u64(json, "files", 260);
	json_bool(json, "ok", true);
	json_bool(json, "bad", false);
	json_string(json, "id", "ab");
	json_end(json);
	assert_text(json, "{\"files\": 260, \"ok\": true, \"bad\": false, \"id\": \"ab\"}");
}

TEST_OF(json, levels_nest_and_empty_ones_are_empty)
{
	json_array(json, NULL);
	json_object(json, NULL);
	json_end(json);
	json_array(json, NULL);
	json_u64(json, NULL, 1);
	json_u64(json, NULL, 2);
	json_end(json);
	json_object(json, NULL);
	json_array(json, "list");
	json_end(json);
	json_object(json, "pack");
	json_i64(json, "delta", -5);
	json_end(json);
	json_end(json);
	json_u64(json, NULL, 3);
	json_end(json);
	assert_text(json, "[{}, [1, 2], {\"list\": [], \"pack\": {\"delta\": -5}}, 3]");
}

TEST_OF(json, the_value_goes_behind_what_the_buf_holds)
{
	assert_int_equal(buf_adds(&out, "x = "), 0);
	json_u64(json, NULL, 7);
	assert_text(json, "x = 7");
}

/* --- numbers -------------------------------------------------------------------------- */

TEST_OF(json, integers_keep_all_their_digits)
{
	json_array(json, NULL);
	json_u64(json, NULL, 0);
	json_u64(json, NULL, UINT64_MAX);
	json_i64(json, NULL, INT64_MIN);
	json_i64(json, NULL, INT64_MAX);
	json_end(json);
	assert_text(json,
		    "[0, 18446744073709551615, -9223372036854775808, "
		    "9223372036854775807]");
}

TEST(doubles_have_six_digits_and_what_is_no_number_is_null)
{
	static const struct {
		double value;
		const char *text;
	} table[] = {
		{0, "0"},
		{0.5, "0.5"},
		{1.0 / 3, "0.333333"},
		{123456.7, "123457"},
		{1234567, "1.23457e+06"},
		{-2.5e-10, "-2.5e-10"},
		{(double)NAN, "null"},
		{(double)INFINITY, "null"},
		{-(double)INFINITY, "null"},
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		struct buf buf = BUF_INIT;
		struct json json = json_begin(&buf);

		json_double(&json, NULL, table[i].value);
		assert_text(&json, table[i].text);
	}
}

/* --- strings -------------------------------------------------------------------------- */

TEST(quotes_backslashes_and_controls_are_escaped)
{
	assert_bytes("", 0, "\"\"");
	assert_bytes(NULL, 0, "\"\"");
	assert_bytes("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
	assert_bytes("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
	assert_bytes("\0\1\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
	assert_bytes("\n\n", 2, "\"\\n\\n\"");
}

TEST_OF(json, keys_are_escaped_like_strings)
{
	json_object(json, NULL);
	json_u64(json, "a\"\n\xff", 1);
	json_end(json);
	assert_text(json, "{\"a\\\"\\n\\udcff\": 1}");
}

TEST(what_a_terminal_obeys_is_escaped_and_means_the_same)
{
	assert_bytes("a\x7f\xc2\x9b[m", 6, "\"a\\u007f\\u009b[m\"");
	assert_bytes(
		"\xe2\x80\xae"
		"b\xe2\x81\xa9",
		7, "\"\\u202eb\\u2069\"");
}

/* Which bytes are UTF-8: test_utf8.c. */
TEST(utf8_passes_as_it_is_and_other_bytes_become_lone_surrogates)
{
	static const struct {
		const char *bytes, *text;
	} table[] = {
		{"caf\xc3\xa9 \xe2\x82\xac \xf4\x8f\xbf\xbf",
		 "caf\xc3\xa9 \xe2\x82\xac \xf4\x8f\xbf\xbf"},
		{"\x80\xff", "\\udc80\\udcff"},
		{"\xed\xa0\x80", "\\udced\\udca0\\udc80"},
		{"\xf0\x9f\x98", "\\udcf0\\udc9f\\udc98"}, /* cut short */
		{"\xe2\x82x", "\\udce2\\udc82x"},
		{"\xe2\xc3\xa9", "\\udce2\xc3\xa9"}, /* then a good one */
		{"\xc3\"", "\\udcc3\\\""},
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		char text[64] = "\"";

		strcat(strcat(text, table[i].text), "\"");
		assert_bytes(table[i].bytes, strlen(table[i].bytes), text);
	}
	assert_bytes("\xe2\x82\xac", 2, "\"\\udce2\\udc82\"");
}
