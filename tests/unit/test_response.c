/* Texts out of JSON and XML: remote/response.h. */
#include "remote/response.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdlib.h>

static void json_has(const char *text, const char *expected)
{
	char *value = NULL;

	print_message("%s\n", text);
	assert_int_equal(response_json(text, "Key", &value), 0);
	assert_string_equal(value, expected);
	free(value);
}

TEST(members_of_an_object_are_found)
{
	json_has("{\"Key\":\"a\"}", "a");
	json_has(" {\n \"Other\" : \"Key\" ,\t\"Key\" : \"\" } \n", "");
	json_has("{\"Version\": 1, \"None\": null, \"Yes\": true, \"Key\": \"a b\"}", "a b");
	json_has("{\"Key\": null, \"Key\": \"a\"}", "a");
	json_has("{\"a\": {\"Key\": \"b\"}, \"c\": [1], \"Key\": \"a\"}", "a");
}

TEST(escapes_in_strings_are_understood)
{
	json_has("{\"Key\":\"a\\/b\\u002Bc\\u003d\\\"\\\\\\n\"}", "a/b+c=\"\\\n");
	json_has("{\"\\u004bey\":\"a\"}", "a");
	json_has("{\"Key\":\"\\u00e4\\u20AC\\ud83D\\uDCf7\"}",
		 "\xc3\xa4\xe2\x82\xac\xf0\x9f\x93\xb7");
}

TEST(a_member_that_is_not_there_or_no_text_is_none)
{
	static const char *const texts[] = {
		"{}",		"{\"Other\":\"a\"}", "{\"Key\":null}", "{\"Key\":1.5e-3}",
		"{\"Key\":-1}", "{\"Key\":[\"a\"]}"};
	char *value = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(response_json(texts[i], "Key", &value), 1);
	assert_null(value);
	json_has("{\"a\":\"b\",\"Key\": 3599}", "3599");
}

TEST(what_is_no_such_object_is_refused)
{
	static const char *const texts[] = {"",
					    "{",
					    "x",
					    "[]",
					    "\"Key\"",
					    "{\"Key\"}",
					    "{\"Key\":}",
					    "{\"Key\":\"a",
					    "{\"Key\":\"a\\",
					    "{\"Key\":\"a\\x\"}",
					    "{\"Key\":\"a\\u00\"}",
					    "{\"Key\":\"a\\u0000\"}",
					    "{\"a\":1 \"Key\":\"a\"}",
					    "{\"Key\":12",
					    "{\"Key\":12{}}",
					    "{\"a\":12",
					    "{Key:\"a\"}",
					    "<html>"};
	char *value = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		print_message("%s\n", texts[i]);
		assert_int_equal(response_json(texts[i], "Key", &value), -EINVAL);
	}
	assert_null(value);
}

static int next_path(const char **at, char **ret)
{
	static const char *const names[] = {"path"};

	*ret = NULL;
	return response_json_next(at, names, ret, 1);
}

TEST(objects_of_an_array_are_read_one_after_the_other)
{
	const char *at =
		" [ {\"a\":{\"path\":\"x]\\\"\",\"b\":[1,{}]},\"path\":\"\xc3\xa4\"} ,{},"
		"{\"path\":-7}]";
	const char *none = "[]";
	char *path;

	assert_int_equal(next_path(&at, &path), 0);
	assert_string_equal(path, "\xc3\xa4");
	free(path);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(next_path(&at, &path), 0);
		assert_null(path);
	}
	assert_int_equal(next_path(&at, &path), 1);
	assert_int_equal(next_path(&none, &path), 1);
}

TEST(what_is_no_array_of_objects_is_refused)
{
	static const char *const texts[] = {"",
					    "{}",
					    "x",
					    "[1]",
					    "[{",
					    "[{\"a\":[}",
					    "[{\"a\":{\"b",
					    "[{\"a\":[\"\\",
					    "[\"a\"]",
					    "[{\"a\"}]",
					    "[{\"a\":}]"};
	char *path;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *at = texts[i];

		print_message("%s\n", texts[i]);
		assert_int_equal(next_path(&at, &path), -EINVAL);
		assert_null(path);
	}
}

static void xml_has(const char *text, const char *expected)
{
	char *value = NULL;

	assert_int_equal(response_xml(text, "Code", &value), 0);
	assert_string_equal(value, expected);
	free(value);
}

TEST(the_text_of_an_element_is_found)
{
	char *value = NULL;

	xml_has("<?xml version=\"1.0\"?><Error>\n<Coder>x</Coder><Code>NoSuchKey</Code></Error>",
		"NoSuchKey");
	xml_has("<Code>&lt;a&gt; &amp;amp; &quot;b&apos; &c;</Code>", "<a> &amp; \"b' &c;");
	xml_has("<Code>a&#39;b&#x2B;&#xe4;&#8364;&#;&#x;&#0;&#12</Code>",
		"a'b+\xc3\xa4\xe2\x82\xac&#;&#x;&#0;&#12");
	xml_has("<Code>&#x110000;&#99999999999;</Code>", "&#x110000;&#99999999999;");
	xml_has("<Code></Code>", "");
	xml_has("<Code>cut o", "cut o");
	assert_int_equal(response_xml("", "Code", &value), 1);
	assert_int_equal(response_xml("Code>x<", "Code", &value), 1);
	assert_int_equal(response_xml("<<Cod", "Code", &value), 1);
	assert_null(value);
}

static void date_is(const char *text, int64_t expected, int zone)
{
	int64_t date = 0;

	print_message("%s\n", text);
	assert_int_equal(response_time(text, &date), zone);
	assert_true(date == expected);
}

TEST(a_date_is_of_a_zone_and_has_sense)
{
	const int64_t seconds = INT64_C(1893553445), ns = 1000000000;

	date_is("2030-01-02T03:04:05Z", seconds * ns, 0);
	date_is("2030-01-02T03:04:05.25Z", seconds * ns + ns / 4, 0);
	date_is("2030-01-02T04:04:05.5+01:00", seconds * ns + ns / 2, 0);
	date_is("2030-01-01T19:34:05-07:30", seconds * ns, 0);
	date_is("2030-01-02T03:04:05", seconds * ns, 1);
	date_is("9999-01-01T00:00:00Z", INT64_MAX, 0);
	date_is("2030-01-02", 0, -EINVAL);
	date_is("tomorrow", 0, -EINVAL);
	date_is("", 0, -EINVAL);
}
