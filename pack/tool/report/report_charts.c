/* The charts of a report. */
#include "pack/tool/report/chart.h"
#include "pack/tool/report/report_internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BARS_MOST 142 /* of 3 units each */
#define ABOUT	  256 /* room for what a chart says in words */

static void begin_figure(struct report *report, const char *title)
{
	html_put(report->html, "<figure><figcaption>");
	html_string(report->html, title);
	html_put(report->html, "</figcaption>\n");
}

static void end_figure(struct report *report, const char *about)
{
	html_put(report->html, "<p>");
	html_string(report->html, about);
	html_put(report->html, "</p></figure>\n");
}

/* A bar with a gap to the next one where there is room. */
static struct chart_box bar_of(unsigned number, unsigned count, double height)
{
	double gap = count < BARS_MOST ? 0.1 : 0;

	return (struct chart_box){
		.left = (number + gap) / count, .right = (number + 1 - gap) / count, .top = height};
}

/* --- classes ---------------------------------------------------------------------------- */

static const struct class_label *ranked(const struct report *report, uint32_t rank)
{
	return &report->survey->summary.classes.labels[report->ranked[rank]];
}

/* The labels from rank `first` to that before `end`, as one bar. */
static void put_ranks(struct report *report, uint32_t first, uint32_t end)
{
	const struct class_label *label = ranked(report, first);

	if (end - first == 1) {
		html_text(report->html, label->name, label->name_len);
	} else {
		html_put(report->html, "classes ");
		html_count(report->html, first + 1);
		html_put(report->html, " to ");
		html_count(report->html, end);
	}
	html_put(report->html, ": ");
	if (ranked(report, end - 1)->files != label->files) {
		html_count(report->html, ranked(report, end - 1)->files);
		html_put(report->html, " to ");
	}
	html_number_of(report->html, label->files, "file");
}

static void draw_ranks(struct report *report, const struct chart *chart, uint32_t labels)
{
	unsigned bars = labels < BARS_MOST ? labels : BARS_MOST;

	for (unsigned i = 0; i < bars; i++) {
		uint32_t first = (uint32_t)((uint64_t)i * labels / bars);
		uint32_t end = (uint32_t)((i + (uint64_t)1) * labels / bars);
		uint64_t files = ranked(report, first + (end - first) / 2)->files;
		struct chart_box box = bar_of(i, bars, axis_place(&chart->y, (double)files));

		chart_mark(report->html, &box, "bar");
		put_ranks(report, first, end);
		chart_mark_end(report->html);
	}
}

static void chart_classes(struct report *report)
{
	uint32_t labels = report->survey->summary.classes.label_count;
	char about[ABOUT], count[SIZE_TEXT], least[SIZE_TEXT], most[SIZE_TEXT];
	struct chart chart = {.id = "classes",
			      .title = "Files of each class",
			      .about = about,
			      .x_name = "classes, the largest first",
			      .y_name = "files",
			      .no_x_ticks = true};

	if (labels == 0)
		return;
	chart.x = axis_linear(labels);
	chart.y = axis_linear((double)ranked(report, 0)->files);
	count_format(ranked(report, labels - 1)->files, least);
	count_format(ranked(report, 0)->files, most);
	snprintf(about, sizeof(about), "%s classes, %s%s%s files each.",
		 count_format(labels, count), least, strcmp(least, most) ? " to " : "",
		 strcmp(least, most) ? most : "");
	begin_figure(report, chart.title);
	chart_begin(report->html, &chart);
	draw_ranks(report, &chart, labels);
	chart_end(report->html);
	end_figure(report, about);
}

/* --- sizes ------------------------------------------------------------------------------ */

static void put_range(struct report *report, const struct axis *axis, unsigned count,
		      unsigned number)
{
	uint64_t least, most;

	if (!bins_range(axis, count, number, &least, &most))
		return;
	html_count(report->html, least);
	if (least == most)
		return;
	html_put(report->html, " to ");
	html_count(report->html, most);
}

static void draw_cell(struct report *report, unsigned x, unsigned y)
{
	const struct bin_plane *plane = &report->survey->sides.plane;
	struct chart_box box = {.left = (double)x / BINS_X,
				.right = (x + 0.85) / BINS_X,
				.bottom = (double)y / BINS_Y,
				.top = (y + 0.85) / BINS_Y};

	chart_mark(report->html, &box, chart_density(plane->cells[y][x], plane->most));
	put_range(report, &plane->x, BINS_X, x);
	html_put(report->html, " wide, ");
	put_range(report, &plane->y, BINS_Y, y);
	html_put(report->html, " high: ");
	html_number_of(report->html, plane->cells[y][x], "image");
	chart_mark_end(report->html);
}

/* Where width and height are the same, as far as both are on their axes. */
static void draw_square(struct report *report, const struct bin_plane *plane)
{
	double low = fmax(plane->x.low, plane->y.low), high = fmin(plane->x.high, plane->y.high);
	struct chart_box box = {.left = axis_place(&plane->x, low),
				.right = axis_place(&plane->x, high),
				.bottom = axis_place(&plane->y, low),
				.top = axis_place(&plane->y, high)};

	if (low < high)
		chart_guide(report->html, &box, "1:1");
}

static void chart_sizes(struct report *report)
{
	const struct survey_sides *sides = &report->survey->sides;
	const struct bin_plane *plane = &sides->plane;
	char about[ABOUT], count[SIZE_TEXT];
	struct chart chart = {.id = "sizes",
			      .title = "Width and height",
			      .about = about,
			      .x_name = "width, pixels",
			      .y_name = "height, pixels",
			      .x = plane->x,
			      .y = plane->y};

	snprintf(about, sizeof(about),
		 "%s; width %u to %u, median %u; height %u to %u, median %u. "
		 "Stronger colour: more images. Both axes are logarithmic.",
		 count_noun(sides->count, "image", count), sides->width.min, sides->width.max,
		 sides->width.median, sides->height.min, sides->height.max, sides->height.median);
	begin_figure(report, chart.title);
	chart_begin(report->html, &chart);
	draw_square(report, plane);
	for (unsigned y = 0; y < BINS_Y; y++)
		for (unsigned x = 0; x < BINS_X; x++)
			if (plane->cells[y][x])
				draw_cell(report, x, y);
	chart_end(report->html);
	end_figure(report, about);
}

/* --- bars over an axis ------------------------------------------------------------------ */

static void draw_bars(struct report *report, const struct chart *chart, const struct bins *bins,
		      void (*range)(struct html *html, double from, double to))
{
	for (unsigned i = 0; i < bins->count; i++) {
		struct chart_box box =
			bar_of(i, bins->count, axis_place(&chart->y, (double)bins->bars[i]));

		if (bins->bars[i] == 0)
			continue;
		chart_mark(report->html, &box, "bar");
		range(report->html, axis_value(&bins->axis, (double)i / bins->count),
		      axis_value(&bins->axis, (i + 1.0) / bins->count));
		html_put(report->html, ": ");
		html_number_of(report->html, bins->bars[i], "image");
		chart_mark_end(report->html);
	}
}

static void put_bins(struct report *report, struct chart *chart, const struct bins *bins,
		     void (*range)(struct html *html, double from, double to))
{
	chart->x = bins->axis;
	chart->y = axis_linear((double)bins->most);
	chart->y_name = "images";
	begin_figure(report, chart->title);
	chart_begin(report->html, chart);
	draw_bars(report, chart, bins, range);
	chart_end(report->html);
	end_figure(report, chart->about);
}

static void put_ratio(struct html *html, double ratio)
{
	if (ratio < 1)
		html_putf(html, "1:%.2f", 1 / ratio);
	else
		html_putf(html, "%.2f:1", ratio);
}

static void ratio_range(struct html *html, double from, double to)
{
	put_ratio(html, from);
	html_put(html, " to ");
	put_ratio(html, to);
}

static void chart_aspects(struct report *report)
{
	struct chart chart = {.id = "aspects",
			      .title = "Aspect ratio",
			      .about = "Width to height: high images to the left, wide ones to the "
				       "right.",
			      .x_unit = AXIS_RATIOS,
			      .x_name = "width to height"};

	put_bins(report, &chart, &report->survey->sides.aspects, ratio_range);
}

static void bytes_range(struct html *html, double from, double to)
{
	html_size(html, (uint64_t)ceil(from));
	html_put(html, " to ");
	html_size(html, (uint64_t)ceil(to) - (ceil(to) > ceil(from)));
}

static void chart_bytes(struct report *report)
{
	const struct survey_bytes *bytes = &report->survey->bytes;
	char about[ABOUT], least[SIZE_TEXT], median[SIZE_TEXT], p99[SIZE_TEXT], most[SIZE_TEXT];
	struct chart chart = {.id = "bytes",
			      .title = "Bytes of an image",
			      .about = about,
			      .x_unit = AXIS_BYTES,
			      .x_name = "bytes"};

	snprintf(about, sizeof(about), "%s to %s; half have at most %s, 99 of 100 at most %s.",
		 size_format(bytes->least, least), size_format(bytes->most, most),
		 size_format(bytes->median, median), size_format(bytes->p99, p99));
	put_bins(report, &chart, &bytes->bins, bytes_range);
}

void report_charts(struct report *report)
{
	html_put(report->html, "<section><h2>Shape</h2><div class=\"charts\">\n");
	chart_classes(report);
	if (report->survey->bytes.count)
		chart_bytes(report);
	if (report->survey->sides.count) {
		chart_sizes(report);
		chart_aspects(report);
	}
	html_put(report->html, "</div></section>\n");
}
