#include "fs/stat/view.h"
#include "base/scope.h"
#include "fs/stat/verdict.h"
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LABEL_END   12 /* columns */
#define FIGURE_END  24
#define GRAPH_BEGIN 26
#define GRAPH_MIN   8
#define HIGHEST	    12 /* columns for what a full column is */
#define BAR_WIDTH   30
#define TABS_MAX    5
#define BASE_ROWS   28 /* from here on, graphs grow with the page */
#define GRAPH_ROWS  4

/* Where the next row goes. */
struct drawing {
	struct page *page;
	int row, end; /* `end` is that of the rows for the mount */
	const struct view_mount *mount;
	const struct snapshot *now; /* NULL: the mount has said nothing yet */
};

/* A row behind a label. */
static void __attribute__((format(printf, 4, 5)))
put_row(struct drawing *d, const char *label, enum page_style style, const char *format, ...)
{
	char text[1024]; /* no page is wider */
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	page_put(d->page, d->row, 0, PAGE_DIM, label);
	page_put(d->page, d->row++, LABEL_END, style, text);
}

/* --- the head ------------------------------------------------------------------------------ */

bool view_is_silent(const struct view *view, const struct view_mount *mount)
{
	return mount->asked_at > 0 && view->now - mount->asked_at >= VIEW_SILENT_S;
}

static double files_a_second(const struct view_mount *mount)
{
	return mount->history.kept ? history_value(&mount->history, SERIES_FILES) : 0;
}

size_t view_busiest(const struct view *view)
{
	size_t busiest = view->shown;

	for (size_t i = 0; i < view->count; i++)
		if (files_a_second(view->mounts[i]) > files_a_second(view->mounts[busiest]))
			busiest = i;
	return busiest;
}

/* A row for each of several mounts, or for those around the one that is shown. */
static void draw_tabs(const struct view *view, struct drawing *d)
{
	size_t first = view->shown >= TABS_MAX ? view->shown - TABS_MAX + 1 : 0;

	for (size_t i = first; i < view->count && i < first + TABS_MAX && view->count > 1; i++) {
		const struct view_mount *mount = view->mounts[i];
		enum page_style style = i == view->shown ? PAGE_TITLE : PAGE_PLAIN;
		double rate = files_a_second(mount);
		const char *word = "";
		struct verdict verdict;

		if (*mount->trouble.text) {
			word = "not there";
		} else if (view_is_silent(view, mount)) {
			word = "does not answer";
		} else if (mount->history.kept) {
			verdict = verdict_of(history_before(&mount->history),
					     history_now(&mount->history));
			word = verdict_word(&verdict);
		}
		page_put(d->page, d->row, 0, style, i == view->shown ? ">" : " ");
		page_putf(d->page, d->row, 2, style, "%6.*f files/s %-17s %s",
			  rate > 0 && rate < 99.95, rate, word, mount->path);
		d->row++;
	}
}

/* --- the verdict --------------------------------------------------------------------------- */

/* What stands in the way of figures comes before what they say. */
static int draw_verdict(const struct view *view, struct drawing *d)
{
	const struct history *history = &d->mount->history;
	SCOPE(buf_release) struct buf text = BUF_INIT;
	enum page_style style = PAGE_GOOD;
	struct verdict verdict;
	char since[SIZE_TEXT];
	int r = 0;

	d->row++;
	if (*d->mount->trouble.text) {
		d->row = page_wrap(d->page, d->row, 0, 3, PAGE_BAD, d->mount->trouble.text);
	} else if (view_is_silent(view, d->mount)) {
		page_putf(d->page, d->row++, 0, PAGE_BAD, "foldfs does not answer: asked %s ago",
			  duration_format((uint64_t)(view->now - d->mount->asked_at), since));
	} else if (!d->now) {
		page_put(d->page, d->row++, 0, PAGE_PLAIN, "waiting for its stats");
	} else {
		verdict = verdict_of(history_before(history), d->now);
		if (verdict.changed || verdict.bad_files || verdict.kind == VERDICT_HANGS)
			style = PAGE_BAD;
		else if (verdict.kind == VERDICT_SLOWED || verdict.kind == VERDICT_LIMIT)
			style = PAGE_WARN;
		r = verdict_text(&verdict, snapshot_text(d->now, "/pack/path"), &text);
		if (r == 0)
			d->row = page_wrap(d->page, d->row, 0, 3, style, text.data);
	}
	d->row++;
	return r;
}

/* --- graphs -------------------------------------------------------------------------------- */

static const struct {
	const char *label;
	double full;   /* what a full column is; 0: the highest value */
	double factor; /* from the value to what is shown */
	const char *unit;
	enum page_style style;
} graphs[SERIES_COUNT] = {
	[SERIES_FILES] = {"files/s", 0, 1, "", PAGE_GOOD},
	[SERIES_SERVED] = {"served", 0, 1e-6, " MB/s", PAGE_GOOD},
	[SERIES_DEVICE] = {"storage", 0, 1e-6, " MB/s", PAGE_PLAIN},
	[SERIES_MEMORY] = {"from memory", 1, 100, " %", PAGE_GOOD},
	[SERIES_WAITING] = {"waiting", 1, 100, " %", PAGE_WARN},
};

/* The label, the figure of now and, at the end, what the highest of the time was. */
static void put_figures(const struct drawing *d, enum series series, int row, double highest)
{
	const struct history *history = &d->mount->history;
	double value = graphs[series].factor * history_value(history, series);
	char text[SIZE_TEXT] = "-";

	page_put(d->page, row, 0, PAGE_DIM, graphs[series].label);
	/* Where readers read, and the kernel has all of it, what is served says nothing. */
	if (series == SERIES_SERVED &&
	    verdict_of(history_before(history), history_now(history)).kind == VERDICT_KERNEL)
		snprintf(text, sizeof(text), "all cached");
	else if (!isnan(value))
		snprintf(text, sizeof(text), "%.*f%s", value > 0 && value < 99.95, value,
			 graphs[series].unit);
	page_putf(d->page, row, LABEL_END, PAGE_TITLE, "%*s", FIGURE_END - LABEL_END, text);
	highest *= graphs[series].factor;
	if (highest > 0)
		page_putf(d->page, row, d->page->columns - HIGHEST + 1, PAGE_DIM, "%6.*f%s",
			  highest < 99.95, highest, graphs[series].unit);
}

static void draw_graphs(struct drawing *d)
{
	int rows = 1 + (d->end - BASE_ROWS) / SERIES_COUNT;
	char span[SIZE_TEXT];

	page_putf(d->page, d->row, LABEL_END, PAGE_DIM, "%*s", FIGURE_END - LABEL_END, "now");
	page_putf(d->page, d->row, GRAPH_BEGIN, PAGE_DIM, "the last %s",
		  duration_format((uint64_t)history_span(&d->mount->history), span));
	page_put(d->page, d->row++, d->page->columns - HIGHEST + 1, PAGE_DIM, "    highest");
	rows = rows < 1 ? 1 : rows < GRAPH_ROWS ? rows : GRAPH_ROWS;
	for (enum series i = 0; i < SERIES_COUNT; i++) {
		double values[HISTORY_SAMPLES], highest, full;
		int width = d->page->columns - GRAPH_BEGIN - HIGHEST, bottom = d->row + rows - 1;

		width = width < GRAPH_MIN	  ? GRAPH_MIN
			: width < HISTORY_SAMPLES ? width
						  : HISTORY_SAMPLES;
		highest = history_columns(&d->mount->history, i, width, values);
		full = graphs[i].full > 0 ? graphs[i].full : highest;
		graph_columns(d->page, bottom, GRAPH_BEGIN, rows, graphs[i].style, values, width,
			      full > 0 ? full : 1);
		put_figures(d, i, bottom, highest);
		d->row += rows;
	}
	d->row++;
}

/* --- rows ---------------------------------------------------------------------------------- */

static void draw_waits(struct drawing *d)
{
	const struct snapshot *now = d->now;
	bool waits = snapshot_count(now, "/wait/parked") > 0;
	char text[4 * SIZE_TEXT] = "none now", oldest[SIZE_TEXT];
	int column;

	if (waits)
		snprintf(text, sizeof(text), "%s now, the first for %s", COUNT(now, "/wait/parked"),
			 latency_format(snapshot_count(now, "/wait/oldest_ms") * 1000, oldest));
	put_row(d, "waits", waits ? PAGE_WARN : PAGE_PLAIN, "%s", text);
	column = LABEL_END + (int)strlen(text);
	if (snapshot_count(now, "/wait/reads"))
		page_putf(d->page, d->row - 1, column, PAGE_PLAIN,
			  "; half up to %s, 99 %% up to %s", LATENCY(now, "/wait/p50_us"),
			  LATENCY(now, "/wait/p99_us"));
}

/* A bar, and a text beside it, or alone if there is no room for both. */
static void draw_bar(struct drawing *d, const char *label, double share, enum page_style style,
		     const char *text)
{
	int width = d->page->columns >= 60 ? BAR_WIDTH : 0;

	page_put(d->page, d->row, 0, PAGE_DIM, label);
	if (width)
		graph_bar(d->page, d->row, LABEL_END, width, style, share);
	page_put(d->page, d->row++, LABEL_END + width + (width > 0), PAGE_PLAIN, text);
}

static void draw_epoch(struct drawing *d)
{
	uint64_t files = snapshot_count(d->now, "/oracle/files");
	uint64_t position = snapshot_count(d->now, "/oracle/position");
	double left = history_time_left(&d->mount->history);
	char label[SIZE_TEXT], text[128], time[SIZE_TEXT];
	int len;

	if (!snapshot_says(d->now, "/oracle/state", "locked") || files == 0) {
		put_row(d, "epoch", PAGE_PLAIN, "shown once the order is known");
		return;
	}
	snprintf(label, sizeof(label), "epoch %" PRIu64, snapshot_count(d->now, "/oracle/epoch"));
	len = snprintf(text, sizeof(text), "%" PRIu64 " %%", position * 100 / files);
	if (left >= 0)
		snprintf(text + len, sizeof(text) - (size_t)len, ", %s left",
			 duration_format((uint64_t)(left + 0.5), time));
	draw_bar(d, label, (double)position / (double)files, PAGE_GOOD, text);
}

/* A bar of how much of a limit is used. */
static void draw_used(struct drawing *d, const char *label, const char *used, const char *limit)
{
	double most = (double)snapshot_count(d->now, limit);
	char text[2 * SIZE_TEXT];

	snprintf(text, sizeof(text), "%s of %s", SIZE(d->now, used), SIZE(d->now, limit));
	draw_bar(d, label, snapshot_share((double)snapshot_count(d->now, used), most), PAGE_PLAIN,
		 text);
}

static void draw_memory(struct drawing *d)
{
	const struct snapshot *now = d->now;

	draw_used(d, "pool", "/pool/used", "/pool/limit");
	if (snapshot_is_shrunk(now))
		put_row(d, "", PAGE_WARN, "shrunk from %s: memory is short",
			SIZE(now, "/pool/budget"));
	if (snapshot_says(now, "/cache_mode", "shared"))
		draw_used(d, "page cache", "/pool/page_cache", "/pool/page_cache_limit");
	if (snapshot_count(now, "/disk_cache/size"))
		draw_used(d, "disk cache", "/disk_cache/cached", "/disk_cache/size");
	if (snapshot_member(now, "/disk_cache", json_type_object))
		put_row(d, "", PAGE_PLAIN, "%s", verdict_disk_text(now));
	if (snapshot_count(now, "/preloaded"))
		draw_used(d, "preload", "/preloaded", "/pack/bytes");
	if (snapshot_count(now, "/prefetch/issued"))
		put_row(d, "read ahead", PAGE_PLAIN, "%s: %s used, %s wasted",
			SIZE(now, "/prefetch/issued"), SIZE(now, "/prefetch/used"),
			SIZE(now, "/prefetch/wasted"));
	else
		put_row(d, "read ahead", PAGE_PLAIN, "nothing");
}

/* The last ones. Each has a row at least, and those before take what is left. */
static void draw_messages(struct drawing *d)
{
	struct json_object *log = snapshot_member(d->now, "/log", json_type_array);
	int count = log ? (int)json_object_array_length(log) : 0, room = d->end - d->row;

	if (count && room > 0)
		page_put(d->page, d->row, 0, PAGE_DIM, "messages");
	for (int i = count > room ? count - room : 0; i < count && d->row < d->end; i++)
		d->row = page_wrap(d->page, d->row, LABEL_END, d->end - d->row - (count - i - 1),
				   PAGE_PLAIN, snapshot_element(log, (size_t)i));
}

static int draw_mount(const struct view *view, struct drawing *d)
{
	SCOPE(buf_release) struct buf order = BUF_INIT;
	const struct snapshot *now = d->now;
	char age[SIZE_TEXT];
	int r;

	if (now) {
		put_row(d, "pack", PAGE_PLAIN, "%s", snapshot_text(now, "/pack/path"));
		put_row(d, "", PAGE_PLAIN, "%s, %s, mounted %s ago",
			COUNT_NOUN(now, "/pack/files", "file"), SIZE(now, "/pack/bytes"),
			duration_format(snapshot_count(now, "/uptime_s"), age));
	}
	r = draw_verdict(view, d);
	if (r == 0 && now)
		r = verdict_order_text(now, &order);
	if (r < 0 || !now)
		return r;
	draw_graphs(d);
	draw_waits(d);
	page_put(d->page, d->row, 0, PAGE_DIM, "order");
	d->row = page_wrap(d->page, d->row, LABEL_END, 2, PAGE_PLAIN,
			   order.len ? order.data : "not looked for");
	draw_epoch(d);
	draw_memory(d);
	if (snapshot_count(now, "/bad_files") || snapshot_count(now, "/device/errors"))
		put_row(d, "bad files", PAGE_BAD, "%" PRIu64 "; failed reads: %" PRIu64,
			snapshot_count(now, "/bad_files"), snapshot_count(now, "/device/errors"));
	else
		put_row(d, "bad files", PAGE_PLAIN, "none");
	draw_messages(d);
	return 0;
}

/* --- the page ------------------------------------------------------------------------------ */

static void draw_help(struct drawing *d)
{
	static const char *const lines[] = {
		"files/s      files that readers began to read",
		"served       bytes given to readers, per second; 'all cached': the kernel has",
		"             them all, and does not ask",
		"storage      bytes read from the disk or the server, per second",
		"from memory  reads that found their data in the pool, foldfs's own memory",
		"waiting      time that reads waited for storage; above 100 %: several at once",
		"",
		"n, Tab, right, down   the next mount",
		"N, left, up           the previous mount",
		"p, space              pause, or go on",
		"h, ?                  this help; any key: back",
		"Ctrl-L                redraw",
		"q, Ctrl-C             quit",
		"",
		"Names, verdicts and counts are explained in foldstat(1).",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		page_put(d->page, (int)i + 2, 2, PAGE_PLAIN, lines[i]);
}

int view_draw(const struct view *view, struct page *page)
{
	const struct view_mount *mount = view->mounts[view->shown];
	struct drawing d = {
		.page = page,
		.end = page->rows - 1,
		.mount = mount,
		.now = mount->history.kept ? history_now(&mount->history) : NULL,
	};
	char text[32] = "";
	int column, r = 0;

	page_put(d.page, 0, 0, PAGE_TITLE, "foldstat");
	page_put(d.page, 0, LABEL_END, PAGE_TITLE, d.mount->path);
	if (view->paused)
		snprintf(text, sizeof(text), " paused");
	else if (view->count > 1)
		snprintf(text, sizeof(text), " %zu of %zu", view->shown + 1, view->count);
	page_put(d.page, 0, d.page->columns - (int)strlen(text),
		 view->paused ? PAGE_WARN : PAGE_DIM, text);
	d.row = 1;
	if (view->help) {
		draw_help(&d);
	} else {
		draw_tabs(view, &d);
		r = draw_mount(view, &d);
	}
	for (column = 0; column < page->columns; column++)
		page_set(page, page->rows - 1, column, PAGE_PLAIN, L' ');
	column = page_put(page, page->rows - 1, 0, PAGE_DIM,
			  view->count > 1 ? "q quit  p pause  n next mount  h help"
					  : "q quit  p pause  h help");
	page_put(page, page->rows - 1, column + 2, PAGE_WARN, view->notice);
	return r;
}
