/* Charts as SVG: pack/tool/report/chart.h. */
#include "pack/tool/report/chart.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *finished(struct html *html)
{
	html_putf(html, "%c", '\0');
	assert_int_equal(html_finish(html), 0);
	return html->buf->data;
}

static void a_chart_tells_its_title_and_story_and_labels_its_axes(void **state)
{
	const struct chart chart = {.id = "c",
				    .title = "A & B",
				    .about = "from 1 to 3",
				    .x = axis_log(10, 1000),
				    .y = axis_linear(3),
				    .x_name = "width",
				    .y_name = "images"};
	struct buf buf = BUF_INIT;
	struct html html = html_begin(&buf);
	const char *text;

	(void)state;
	chart_begin(&html, &chart);
	chart_end(&html);
	text = finished(&html);
	assert_non_null(strstr(text, "aria-labelledby=\"c-title c-about\""));
	assert_non_null(strstr(text, "<title id=\"c-title\">A &amp; B</title>"));
	assert_non_null(strstr(text, "<desc id=\"c-about\">from 1 to 3</desc>"));
	assert_non_null(strstr(text, ">100</text>"));
	assert_non_null(strstr(text, ">3</text>"));
	assert_non_null(strstr(text, ">width</text>"));
	assert_non_null(strstr(text, "</svg>"));
	buf_release(&buf);
}

static void a_mark_lies_where_its_box_says_and_can_be_pointed_at(void **state)
{
	struct chart_box box = {.left = 0, .right = 0.5, .bottom = 0, .top = 1};
	struct buf buf = BUF_INIT;
	struct html html = html_begin(&buf);
	const char *text;

	(void)state;
	chart_mark(&html, &box, "bar");
	html_string(&html, "<cat>");
	chart_mark_end(&html);
	text = finished(&html);
	assert_non_null(strstr(text, "width=\"213.0\" height=\"252.0\""));
	assert_non_null(strstr(text, "<title>&lt;cat&gt;</title></rect>"));
	buf_release(&buf);
}

static void what_is_there_is_never_invisible(void **state)
{
	struct chart_box box = {.left = 0.5, .right = 0.5, .top = 1e-9};
	struct buf buf = BUF_INIT;
	struct html html = html_begin(&buf);

	(void)state;
	chart_mark(&html, &box, "bar");
	assert_non_null(strstr(finished(&html), "width=\"0.4\" height=\"0.4\""));
	buf_release(&buf);
}

static void density_goes_by_factors(void **state)
{
	(void)state;
	assert_string_equal(chart_density(1, 1000000), "d1");
	assert_string_equal(chart_density(1001, 1000000), "d4");
	assert_string_equal(chart_density(1000000, 1000000), "d6");
	assert_string_equal(chart_density(1, 1), "d6");
	assert_string_equal(chart_density(1, 2), "d1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chart_tells_its_title_and_story_and_labels_its_axes),
		cmocka_unit_test(a_mark_lies_where_its_box_says_and_can_be_pointed_at),
		cmocka_unit_test(what_is_there_is_never_invisible),
		cmocka_unit_test(density_goes_by_factors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
