/* Any bytes as text of a page: pack/tool/report/html.h. */
#include "pack/tool/report/html.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(struct html *html, const char *text)
{
	assert_int_equal(html_finish(html), 0);
	assert_int_equal(html->buf->len, strlen(text));
	assert_memory_equal(html->buf->data, text, strlen(text));
	buf_release(html->buf);
}

static void expect_text(const char *bytes, size_t len, const char *shown)
{
	struct buf buf = BUF_INIT;
	struct html html = html_begin(&buf);

	html_put(&html, "<b>");
	html_text(&html, bytes, len);
	html_put(&html, "</b>");
	assert_int_equal(html_finish(&html), 0);
	assert_int_equal(buf.len, strlen(shown) + 7);
	assert_memory_equal(buf.data + 3, shown, strlen(shown));
	buf_release(&buf);
}

#define EXPECT_TEXT(bytes, shown) expect_text(bytes, sizeof(bytes) - 1, shown)

static void markup_in_a_name_is_text(void **state)
{
	(void)state;
	EXPECT_TEXT("<script>alert('&')</script>",
		    "&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;");
	EXPECT_TEXT("\" onload=\"x", "&quot; onload=&quot;x");
}

static void other_writing_is_shown_as_it_is(void **state)
{
	(void)state;
	EXPECT_TEXT("", "");
	EXPECT_TEXT("n01440764/x.JPEG", "n01440764/x.JPEG");
	EXPECT_TEXT("K\xc3\xa4tzchen \xe7\x8c\xab \xf0\x9f\x90\x88",
		    "K\xc3\xa4tzchen \xe7\x8c\xab \xf0\x9f\x90\x88");
}

static void what_is_no_utf8_is_shown_byte_by_byte(void **state)
{
	(void)state;
	EXPECT_TEXT("a\xff\xfe", "a\\377\\376");
	EXPECT_TEXT("\xc3(", "\\303(");
	EXPECT_TEXT("\xe2\x82", "\\342\\202");
}

static void what_cannot_be_seen_is_shown(void **state)
{
	(void)state;
	EXPECT_TEXT("a\nb\0\x1b[31m\x7f", "a\\012b\\000\\033[31m\\177");
	EXPECT_TEXT(
		"\xe2\x80\xae"
		"gpj.exe",
		"\\342\\200\\256gpj.exe");
	EXPECT_TEXT("\xc2\x85", "\\302\\205");
	EXPECT_TEXT("\xef\xbf\xbf", "\\357\\277\\277");
}

static void numbers_are_for_people(void **state)
{
	struct buf buf = BUF_INIT;
	struct html html = html_begin(&buf);

	(void)state;
	html_count(&html, 1281167);
	html_put(&html, " ");
	html_size(&html, (uint64_t)139 << 30);
	html_put(&html, " ");
	html_number_of(&html, 1, "file");
	html_put(&html, " ");
	html_number_of(&html, 2000, "file");
	html_putf(&html, " %.1f", 0.5);
	expect(&html, "1,281,167 139 GiB 1 file 2,000 files 0.5");
}

static void base64_is_that_of_rfc_4648(void **state)
{
	static const char *const vectors[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xff\xfb\xf0", "//vw"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct buf buf = BUF_INIT;
		struct html html = html_begin(&buf);

		html_put(&html, ">");
		html_base64(&html, vectors[i][0], strlen(vectors[i][0]));
		assert_int_equal(html_finish(&html), 0);
		assert_int_equal(buf.len, strlen(vectors[i][1]) + 1);
		assert_memory_equal(buf.data + 1, vectors[i][1], buf.len - 1);
		buf_release(&buf);
	}
}

static void an_error_stays(void **state)
{
	struct buf buf = BUF_INIT;
	struct html html = html_begin(&buf);

	(void)state;
	html_putf(&html, "%600d", 1);
	html_put(&html, "more");
	assert_int_equal(html_finish(&html), -E2BIG);
	buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markup_in_a_name_is_text),
		cmocka_unit_test(other_writing_is_shown_as_it_is),
		cmocka_unit_test(what_is_no_utf8_is_shown_byte_by_byte),
		cmocka_unit_test(what_cannot_be_seen_is_shown),
		cmocka_unit_test(numbers_are_for_people),
		cmocka_unit_test(base64_is_that_of_rfc_4648),
		cmocka_unit_test(an_error_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
