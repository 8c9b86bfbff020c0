#define TEST_MAIN
#include "base/buf.h"
#include "base/scope.h"
#include "fs/stat/verdict.h"
#include "fs/stat/view.h"
#include "tests/unit/test.h"
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* --- durations --------------------------------------------------------------------------- */

TEST(test_durations_have_two_units_at_most)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} cases[] = {
		{0, "0 s"},	    {59, "59 s"},	    {60, "1 min"}, {75, "1 min 15 s"},
		{300, "5 min"},	    {7500, "2 h 5 min"},    {3601, "1 h"}, {86400 + 3599, "1 d"},
		{90000, "1 d 1 h"}, {1000000, "11 d 13 h"},
	};
	char text[SIZE_TEXT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(duration_format(cases[i].seconds, text), cases[i].text);
	assert_string_equal(latency_format(12, text), "12 us");
	assert_string_equal(latency_format(1250, text), "1.25 ms");
	assert_string_equal(latency_format(3400000, text), "3.4 s");
}

/* --- pages ------------------------------------------------------------------------------- */

/* Adds a row as text, without blanks at its end. */
static void add_row(const struct page *page, int row, struct buf *buf)
{
	const struct page_cell *cells = page->cells + row * page->columns;
	int end = page->columns;

	while (end > 0 && cells[end - 1].character == L' ')
		end--;
	for (int i = 0; i < end; i++)
		if (cells[i].character)
			buf_addf(buf, "%lc", (wint_t)cells[i].character);
	assert_int_equal(buf_adds(buf, ""), 0);
}

static void assert_row(const struct page *page, int row, const char *text)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	add_row(page, row, &buf);
	assert_string_equal(buf.data, text);
}

static struct page page_of(int rows, int columns)
{
	struct page page;

	assert_int_equal(page_init(&page, rows, columns, true), 0);
	return page;
}

TEST(test_what_does_not_fit_a_page_is_cut)
{
	SCOPE(page_release) struct page page = page_of(2, 8);

	assert_int_equal(page_put(&page, 0, 5, PAGE_PLAIN, "abcdef"), 8);
	assert_int_equal(page_putf(&page, 1, -2, PAGE_PLAIN, "%d", 12345), 3);
	page_put(&page, 2, 0, PAGE_PLAIN, "below");
	page_put(&page, -1, 0, PAGE_PLAIN, "above");
	assert_row(&page, 0, "     abc");
	assert_row(&page, 1, "345");
}

TEST(test_what_commands_a_terminal_is_not_on_a_page)
{
	SCOPE(page_release) struct page page = page_of(2, 40);

	page_put(&page, 0, 0, PAGE_PLAIN, "a\x1b[31m\n\r\x7f|\xc2\x9b|\xff|\xe2\x80\xae|\xc3\xa9");
	assert_row(&page, 0, "a?[31m???|?|?|?|\xc3\xa9");
	page_put(&page, 1, 0, PAGE_PLAIN, "\xe6\xbc\xa2|\xe6\xbc"); /* wide; and half of it */
	assert_row(&page, 1, "\xe6\xbc\xa2|??");
	assert_true(page.cells[40 + 1].character == 0 && page.cells[40 + 2].character == L'|');
}

TEST(test_wide_characters_are_not_cut_in_two)
{
	SCOPE(page_release) struct page page = page_of(1, 4);

	assert_int_equal(page_put(&page, 0, 3, PAGE_PLAIN, "\xe6\xbc\xa2"), 4);
	assert_row(&page, 0, "");
}

TEST(test_text_is_broken_at_blanks)
{
	SCOPE(page_release) struct page page = page_of(4, 12);

	assert_int_equal(page_wrap(&page, 0, 2, 3, PAGE_PLAIN, "one two three four five six"), 3);
	assert_row(&page, 0, "  one two");
	assert_row(&page, 1, "  three four");
	assert_row(&page, 2, "  five six");
	assert_int_equal(page_wrap(&page, 3, 0, 1, PAGE_PLAIN, "averylongword and more\nline"), 4);
	assert_row(&page, 3, "averylongwor");
	assert_int_equal(page_wrap(&page, 0, 0, 2, PAGE_PLAIN, ""), 0);
	assert_int_equal(page_wrap(&page, 0, 20, 2, PAGE_PLAIN, "beside the page"), 1);
}

/* --- graphs ------------------------------------------------------------------------------ */

TEST(test_columns_stand_on_their_row)
{
	static const double values[] = {0, 1, 4, 8, NAN, 12, 16, 99, -1};
	SCOPE(page_release) struct page page = page_of(2, 9);

	graph_columns(&page, 0, 0, 1, PAGE_PLAIN, values, 4, 8);
	assert_row(&page, 0, "\u2581\u2581\u2584\u2588");
	graph_columns(&page, 1, 0, 2, PAGE_PLAIN, values, 9, 16);
	assert_row(&page, 0, "\u2581\u2581\u2584\u2588 \u2584\u2588\u2588");
	assert_row(&page, 1, "\u2581\u2581\u2584\u2588 \u2588\u2588\u2588\u2581");
}

TEST(test_graphs_without_blocks_are_ascii)
{
	static const double values[] = {0, 2, 3, 4, 5, 6, 7, 8};
	SCOPE(page_release) struct page page = page_of(2, 12);

	page.blocks = false;
	graph_columns(&page, 0, 0, 1, PAGE_PLAIN, values, 8, 8);
	graph_bar(&page, 1, 0, 12, PAGE_PLAIN, 0.5);
	assert_row(&page, 0, ".:-=+*%#");
	assert_row(&page, 1, "[#####.....]");
}

TEST(test_a_bar_is_never_longer_than_its_width)
{
	static const struct {
		double share;
		const char *text;
	} cases[] = {{-1, "[....]"}, {0, "[....]"}, {0.6, "[##..]"}, {1, "[####]"}, {7, "[####]"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		SCOPE(page_release) struct page page = page_of(1, 10);

		page.blocks = false;
		graph_bar(&page, 0, 0, 6, PAGE_PLAIN, cases[i].share);
		assert_row(&page, 0, cases[i].text);
	}
}

/* --- histories --------------------------------------------------------------------------- */

struct moment { /* of a mount */
	double at;
	uint64_t asked, uptime, served, hits, misses, waited_us, epoch, position, oldest_ms;
	uint64_t opens; /* of files that the kernel has; over 0: it asks for nothing */
};

static void add_moment(struct history *history, const struct moment *m)
{
	static const char format[] =
		"{'id': 'x', 'uptime_s': %lu, 'pack': {'path': '/data/p.lmdb', 'files': 10000,"
		" 'bytes': 1000000000}, 'requests': {'read': %lu, 'getxattr': %lu, 'ioctl': %lu},"
		" 'served_files': %lu, 'served_bytes': %lu, 'device': {'bytes': 0},"
		" 'pool': {'limit': 1073741824, 'budget': 1073741824, 'used': 536870912,"
		" 'hits': %lu, 'misses': %lu}, 'wait': {'total_us': %lu, 'parked': %d,"
		" 'oldest_ms': %lu, 'reads': 1, 'p50_us': 100, 'p99_us': 2000},"
		" 'oracle': {'state': 'locked', 'sampler': 'RandomSampler', 'list': 'train',"
		" 'seed': 42, 'epoch': %lu, 'position': %lu, 'files': 10000},"
		" 'prefetch': {'issued': 1000000000, 'used': 1, 'wasted': 2}, 'bad_files': 0,"
		" 'cache_mode': 'shared', 'log': ['first', 'a name with \\u001b[31m in it']}";
	SCOPE_FREE char *json = NULL;
	SCOPE(snapshot_release) struct snapshot s = {0};

	assert_true(asprintf(&json, format, m->uptime, m->opens ? 1 : m->asked, m->asked, m->opens,
			     m->position, m->served, m->hits, m->misses, m->waited_us,
			     m->oldest_ms > 0, m->oldest_ms, m->epoch, m->position) > 0);
	assert_int_equal(snapshot_parse(json, strlen(json), m->at, &s, NULL), 0);
	history_add(history, &s);
}

#define MOMENT(history, ...) add_moment(history, &(struct moment){__VA_ARGS__})

/* A moment a second: what is served, and the position, grow by so much. */
static void add_seconds(struct history *history, unsigned first, unsigned count, uint64_t served,
			uint64_t position)
{
	for (unsigned i = first; i < first + count; i++)
		MOMENT(history, .at = 1000 + i, .asked = i + 1, .uptime = 60 + i,
		       .served = i * served, .hits = 3 * i, .misses = i, .epoch = 2,
		       .position = i * position);
}

TEST(test_the_first_look_is_about_all_the_time_before)
{
	SCOPE(history_release) struct history history = {.interval = 1};

	MOMENT(&history, .at = 1000, .uptime = 10, .asked = 1, .served = 5000);
	assert_true(history_value(&history, SERIES_SERVED) == 500);
	MOMENT(&history, .at = 1001, .uptime = 11, .asked = 2, .served = 6000);
	assert_true(history_value(&history, SERIES_SERVED) == 1000);
	assert_true(history_before(&history)->at == 1000);
}

TEST(test_figures_of_now_are_of_the_last_few_intervals)
{
	SCOPE(history_release) struct history history = {.interval = 1};

	add_seconds(&history, 0, 20, 1000, 30);
	assert_true(history_value(&history, SERIES_SERVED) == 1000);
	assert_true(history_value(&history, SERIES_FILES) == 30);
	assert_true(history_value(&history, SERIES_MEMORY) == 0.75);
	assert_true(history_value(&history, SERIES_WAITING) == 0);
	assert_true(history_now(&history)->at - history_before(&history)->at == HISTORY_RECENT - 1);
}

TEST(test_another_mount_in_its_place_has_a_history_of_its_own)
{
	SCOPE(history_release) struct history history = {.interval = 1};
	double values[10];

	add_seconds(&history, 0, 20, 1000, 0);
	MOMENT(&history, .at = 1020, .uptime = 1, .asked = 1, .served = 7);
	assert_true(history_value(&history, SERIES_SERVED) == 7);
	assert_true(history_columns(&history, SERIES_SERVED, 10, values) == 0);
	assert_true(isnan(values[9]));
}

TEST(test_columns_are_means_of_equal_times)
{
	SCOPE(history_release) struct history history = {.interval = 1};
	double values[60];

	add_seconds(&history, 0, 12, 1000, 0); /* columns of 5 s: 1000 to 1004, 1005 to 1009, .. */
	assert_true(history_columns(&history, SERIES_SERVED, 60, values) == 1000);
	assert_true(isnan(values[0]) && isnan(values[56]));
	assert_true(values[57] == 1000 && values[59] == 1000);
	add_seconds(&history, 12, 600, 1000, 0); /* more than are kept */
	assert_true(history_columns(&history, SERIES_SERVED, 60, values) > 0);
	assert_false(isnan(values[1]) || isnan(values[59]));
	assert_true(history_columns(&history, SERIES_WAITING, 60, values) == 0);
}

TEST(test_time_left_is_at_the_pace_of_the_epoch)
{
	SCOPE(history_release) struct history history = {.interval = 1};

	assert_true(history_time_left(&history) < 0);
	add_seconds(&history, 0, 2, 0, 100);
	assert_true(history_time_left(&history) < 0); /* one sample has no pace */
	add_seconds(&history, 2, 19, 0, 100);
	assert_true(fabs(history_time_left(&history) - 80) < 0.01); /* 2,000 of 10,000 */
	MOMENT(&history, .at = 1021, .asked = 50, .uptime = 100, .epoch = 3, .position = 10);
	assert_true(history_time_left(&history) < 0); /* the next epoch */
	MOMENT(&history, .at = 1022, .asked = 51, .uptime = 101, .epoch = 3, .position = 1009);
	assert_true(fabs(history_time_left(&history) - 9) < 0.01);
}

TEST(test_time_is_not_told_where_nothing_is_read_any_more)
{
	SCOPE(history_release) struct history history = {.interval = 1};

	add_seconds(&history, 0, 10, 0, 100);
	assert_true(history_time_left(&history) > 0);
	for (unsigned i = 10; i < 10 + HISTORY_RECENT; i++)
		MOMENT(&history, .at = 1000 + i, .asked = i + 1, .uptime = 60 + i, .epoch = 2,
		       .position = 900);
	assert_true(history_time_left(&history) < 0);
}

/* A wait of 12 s, counted when it ends. */
TEST(test_a_read_that_waits_is_not_counted_at_its_end_alone)
{
	SCOPE(history_release) struct history history = {.interval = 1};
	double values[HISTORY_SAMPLES];

	for (unsigned i = 0; i <= 12; i++)
		MOMENT(&history, .at = 1000 + i, .asked = i + 1, .uptime = 60 + i,
		       .oldest_ms = 1000 * i);
	assert_true(fabs(history_value(&history, SERIES_WAITING) - 1) < 0.001);
	MOMENT(&history, .at = 1013, .asked = 14, .uptime = 73, .waited_us = 12500000);
	assert_true(fabs(history_columns(&history, SERIES_WAITING, HISTORY_SAMPLES, values) - 1) <
		    0.001);
	assert_true(fabs(values[HISTORY_SAMPLES - 1] - 0.5) < 0.001);
}

/* --- the view ---------------------------------------------------------------------------- */

/* Three mounts, of which the first is seen, and the page that was drawn last. */
struct shown {
	struct view_mount mounts[3];
	const struct view_mount *list[3];
	struct view view;
	struct page page;
};

static int begin_view(void **state)
{
	static const char *const paths[] = {"/mnt/a", "/mnt/b", "/mnt/c"};
	struct shown *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	for (int i = 0; i < 3; i++) {
		s->mounts[i] = (struct view_mount){.path = paths[i], .history = {.interval = 1}};
		s->list[i] = &s->mounts[i];
	}
	s->view = (struct view){.mounts = s->list, .count = 1, .now = 1030, .notice = ""};
	*state = s;
	return 0;
}

static int end_view(void **state)
{
	struct shown *s = *state;

	for (int i = 0; i < 3; i++)
		history_release(&s->mounts[i].history);
	page_release(&s->page);
	free(s);
	return 0;
}

FIXTURE_BY(s, struct shown, begin_view, end_view);

static void draw(struct shown *s, int rows, int columns)
{
	page_release(&s->page);
	s->page = page_of(rows, columns);
	assert_int_equal(view_draw(&s->view, &s->page), 0);
}

static void assert_shows(const struct shown *s, const char *text)
{
	for (int row = 0; row < s->page.rows; row++) {
		SCOPE(buf_release) struct buf buf = BUF_INIT;

		add_row(&s->page, row, &buf);
		if (strstr(buf.data, text))
			return;
	}
	fail_msg("%d columns do not show: %s", s->page.columns, text);
}

TEST_OF(s, test_what_matters_is_on_80_by_24)
{
	static const char *const texts[] = {
		"foldstat    /mnt/a",
		"/data/p.lmdb",
		"10,000 files, 954 MiB, mounted 1 min 29 s ago",
		"readers never waited: storage is not the limit",
		"the last 5 min",
		"files/s              100",
		"served",
		"100 MB/s",
		"storage",
		"from memory       75.0 %",
		"waiting",
		"half up to 100 us, 99 % up to 2 ms",
		"RandomSampler over train; epoch 2: 2,900 of 10,000 files read",
		"seed 42",
		"29 %, 1 min 11 s left",
		"512 MiB of 1 GiB",
		"page cache",
		"bad files   none",
		"messages    first",
		"a name with \\033[31m in it",
		"q quit  p pause  h help",
	};

	add_seconds(&s->mounts[0].history, 0, 30, 100000000, 100);
	for (int size = 0; size < 2; size++) {
		size ? draw(s, 40, 120) : draw(s, 24, 80);
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
			assert_shows(s, texts[i]);
	}
}

/* Under the sanitizers, too: whatever the size is, nothing is drawn beside the page. */
TEST_OF(s, test_any_size_will_do)
{
	add_seconds(&s->mounts[0].history, 0, 400, 100000000, 10);
	s->list[1] = &s->mounts[0];
	s->view.count = 2;
	for (int rows = 1; rows < 60; rows += 3)
		for (int columns = 1; columns < 500; columns += 13) {
			draw(s, rows, columns);
			assert_int_equal(s->page.columns, columns);
		}
}

TEST_OF(s, test_storage_that_hangs_is_said_in_red)
{
	MOMENT(&s->mounts[0].history, .at = 1029, .asked = 1, .uptime = 9, .oldest_ms = 12000);
	draw(s, 24, 80);
	assert_row(&s->page, 4, "storage does not answer: 1 read waiting, the first for 12 s");
	assert_true(s->page.cells[4 * 80].style == PAGE_BAD);
	assert_shows(s,
		     "waits       1 now, the first for 12 s; half up to 100 us, 99 % up to 2 ms");
}

TEST_OF(s, test_a_mount_that_does_not_answer_is_said)
{
	s->mounts[0].asked_at = 1025;
	draw(s, 24, 80);
	assert_shows(s, "foldfs does not answer: asked 5 s ago");
	add_seconds(&s->mounts[0].history, 0, 10, 100000000, 100);
	draw(s, 24, 80);
	assert_shows(s, "foldfs does not answer: asked 5 s ago");
	assert_shows(s, "100 MB/s"); /* what was known last */
}

TEST_OF(s, test_trouble_is_said_in_place_of_a_verdict)
{
	s->mounts[0].trouble = (struct err){"its daemon has died; \x1b[2J"};
	draw(s, 24, 80);
	assert_shows(s, "its daemon has died; ?[2J");
}

TEST_OF(s, test_several_mounts_have_a_row_each)
{
	add_seconds(&s->mounts[0].history, 0, 10, 2000000, 100);
	s->mounts[1].asked_at = 1000;
	s->view.count = 2;
	s->view.shown = 1;
	s->view.notice = "/mnt/c: unmounted";
	draw(s, 24, 80);
	assert_row(&s->page, 1, "     100 files/s not the storage   /mnt/a");
	assert_row(&s->page, 2, ">      0 files/s does not answer   /mnt/b");
	assert_shows(s, "2 of 2");
	assert_row(&s->page, 23, "q quit  p pause  n next mount  h help  /mnt/c: unmounted");
}

TEST_OF(s, test_what_the_kernel_has_is_not_called_nothing)
{
	for (unsigned i = 0; i < 10; i++)
		MOMENT(&s->mounts[0].history, .at = 1000 + i, .asked = i + 1, .uptime = 60 + i,
		       .opens = 5000 + 800 * i);
	draw(s, 24, 80);
	assert_shows(s, "from the kernel's cache: all; storage is not the limit");
	assert_shows(s, "files/s              800");
	assert_shows(s, "served        all cached");
}

TEST_OF(s, test_the_busiest_mount_is_the_one_that_reads_most_files_now)
{
	s->view.count = 3;
	s->view.shown = 1; /* of which nothing is known */
	assert_int_equal(view_busiest(&s->view), 1);
	add_seconds(&s->mounts[0].history, 0, 10, 100000000, 3);
	add_seconds(&s->mounts[2].history, 0, 10, 1000, 100);
	assert_int_equal(view_busiest(&s->view), 2);
}

TEST_OF(s, test_what_a_disk_cache_does_is_told_in_words)
{
	static const char stats[] =
		"{'requests': {'read': 1}, 'disk_cache': {'state': 'off', 'size': 0}}";
	SCOPE(snapshot_release) struct snapshot now = {0};

	assert_int_equal(snapshot_parse(stats, strlen(stats), 1000, &now, NULL), 0);
	history_add(&s->mounts[0].history, &now);
	draw(s, 24, 80);
	assert_shows(s, "could not be opened: all comes from the server");
}

TEST_OF(s, test_help_and_pause_are_shown)
{
	s->view.paused = true;
	draw(s, 24, 80);
	assert_row(
		&s->page, 0,
		"foldstat    /mnt/a                                                        paused");
	s->view.help = true;
	draw(s, 24, 80);
	assert_shows(s, "Ctrl-L");
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	return test_run(NULL, NULL);
}
