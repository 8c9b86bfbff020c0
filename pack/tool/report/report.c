#include "pack/tool/report/report.h"

#include "base/scope.h"
#include "pack/tool/report/report_internal.h"
#include <string.h>

#define ROWS_MOST 1000 /* of the table of classes: half of them the largest, half the smallest */
#define ROWS_OPEN 40   /* a longer table is folded */

/* --- figures ---------------------------------------------------------------------------- */

static void put_name(struct html *html, const char *name, size_t len)
{
	html_put(html, "<bdi>");
	html_text(html, name, len);
	html_put(html, "</bdi>");
}

void report_class_name(struct report *report, uint32_t number)
{
	const struct classes *classes = &report->survey->summary.classes;
	const struct class *class = &classes->list[number];
	const struct class_split *split = &classes->splits[class->split];

	html_put(report->html, "<bdi>");
	html_text(report->html, split->name, split->name_len);
	html_put(report->html, classes->split ? "/" : "");
	html_text(report->html, class->name, class->name_len);
	html_put(report->html, "</bdi>");
}

static void put_count(struct html *html, const char *label, uint64_t count)
{
	html_putf(html, "<div><dt>%s</dt><dd>", label);
	html_count(html, count);
	html_put(html, "</dd></div>\n");
}

static void put_tiles(struct report *report)
{
	const struct format_super *super = dataset_info(report->dataset)->super;
	const struct classes *classes = &report->survey->summary.classes;

	html_put(report->html, "<dl class=\"figures\">\n");
	put_count(report->html, "files", super->files + super->hardlinks);
	html_put(report->html, "<div><dt>bytes</dt><dd>");
	html_size(report->html, super->bytes);
	html_put(report->html, "</dd></div>\n");
	put_count(report->html, "images", report->survey->image_count);
	put_count(report->html, "classes", classes->label_count);
	if (classes->split)
		put_count(report->html, "splits", classes->split_count);
	html_put(report->html, "</dl>\n");
}

/* "name=value" lines. */
static void put_options(struct report *report)
{
	const struct dataset_info *info = dataset_info(report->dataset);
	const char *at = info->options, *end = at + info->options_len, *line;

	if (at == end)
		return;
	html_put(report->html, "<p class=\"id\">made with ");
	for (const char *comma = ""; at < end; at = line + 1, comma = ", ") {
		line = memchr(at, '\n', (size_t)(end - at));
		if (!line)
			line = end;
		html_put(report->html, comma);
		html_put(report->html, "<code>");
		html_text(report->html, at, (size_t)(line - at));
		html_put(report->html, "</code>");
	}
	html_put(report->html, "</p>\n");
}

void report_figures(struct report *report, const char *name)
{
	html_put(report->html, "<header><h1>");
	put_name(report->html, name, strlen(name));
	html_putf(report->html, "</h1><p class=\"id\">id <code>%s</code></p>\n",
		  dataset_info(report->dataset)->id);
	put_options(report);
	put_tiles(report);
	html_put(report->html, "</header>\n");
}

/* --- tables ----------------------------------------------------------------------------- */

static void put_cell(struct html *html, uint64_t count)
{
	html_put(html, "<td>");
	html_count(html, count);
	html_put(html, "</td>");
}

static void put_bytes_cell(struct html *html, uint64_t bytes)
{
	html_put(html, "<td>");
	html_size(html, bytes);
	html_put(html, "</td>");
}

static void put_range_cell(struct html *html, const struct summary_range *range)
{
	if (range->min == range->max)
		html_putf(html, "<td>%u</td><td>%u</td>", range->min, range->median);
	else
		html_putf(html, "<td>%u to %u</td><td>%u</td>", range->min, range->max,
			  range->median);
}

static void put_kinds(struct report *report)
{
	struct html *html = report->html;

	html_put(html,
		 "<div class=\"wide\"><table><thead><tr><th>content</th><th>files</th>"
		 "<th>width</th><th>median</th><th>height</th><th>median</th></tr></thead>"
		 "<tbody>\n");
	for (unsigned i = 1; i <= IMAGE_KINDS; i++) {
		unsigned kind = i % IMAGE_KINDS; /* what is no image comes last */
		const struct summary_images *images = &report->survey->summary.images[kind];

		if (images->count == 0)
			continue;
		html_putf(html, "<tr><th scope=\"row\">%s</th>",
			  kind == IMAGE_UNKNOWN ? "other" : format_image_name(kind));
		put_cell(html, images->count);
		if (images->sized) {
			put_range_cell(html, &images->width);
			put_range_cell(html, &images->height);
		} else {
			html_put(html, "<td></td><td></td><td></td><td></td>");
		}
		html_put(html, "</tr>\n");
	}
	html_put(html, "</tbody></table></div>\n");
}

static void put_split(struct report *report, uint32_t number)
{
	const struct summary *summary = &report->survey->summary;
	const struct class_split *split = &summary->classes.splits[number];
	const struct class_sizes *sizes = &summary->class_sizes[number];
	struct html *html = report->html;

	html_put(html, "<tr><th scope=\"row\">");
	if (split->name_len)
		put_name(html, split->name, split->name_len);
	else
		html_put(html, "all");
	html_put(html, "</th>");
	put_cell(html, split->count);
	put_cell(html, split->files);
	put_bytes_cell(html, split->bytes);
	put_cell(html, sizes->least);
	put_cell(html, sizes->median);
	put_cell(html, sizes->most);
	html_putf(html, "<td>%.3g</td></tr>\n", sizes->imbalance);
}

static void put_splits(struct report *report)
{
	const struct classes *classes = &report->survey->summary.classes;

	if (classes->count == 0)
		return;
	html_putf(report->html,
		  "<div class=\"wide\"><table><thead><tr><th>%s</th><th>classes</th><th>files</th>"
		  "<th>bytes</th><th>smallest</th><th>median</th><th>largest class</th>"
		  "<th>imbalance</th></tr></thead><tbody>\n",
		  classes->split ? "split" : "");
	for (uint32_t i = 0; i < classes->split_count; i++)
		put_split(report, i);
	html_put(report->html, "</tbody></table></div>\n");
}

/* --- the table of classes --------------------------------------------------------------- */

/* The files of a label in each split that has it. */
static void put_split_cells(struct report *report, const struct class_label *label)
{
	const struct classes *classes = &report->survey->summary.classes;
	uint32_t at = label->first, end = at + label->count;

	for (uint32_t split = 0; split < classes->split_count; split++) {
		const struct class *class = at < end ? &classes->list[classes->by_label[at]] : NULL;

		if (class && class->split == split) {
			put_cell(report->html, class->files);
			at++;
		} else {
			html_put(report->html, "<td></td>");
		}
	}
}

/* More columns than these nobody compares. */
static bool shows_splits(const struct classes *classes)
{
	return classes->split && classes->split_count <= 4;
}

static void put_label(struct report *report, uint32_t rank)
{
	const struct classes *classes = &report->survey->summary.classes;
	const struct class_label *label = &classes->labels[report->ranked[rank]];
	uint64_t most = classes->labels[report->ranked[0]].files;
	struct html *html = report->html;

	html_put(html, "<tr><th scope=\"row\">");
	put_name(html, label->name, label->name_len);
	html_put(html, "</th>");
	if (shows_splits(classes))
		put_split_cells(report, label);
	put_cell(html, label->files);
	put_bytes_cell(html, label->bytes);
	html_putf(html,
		  "<td class=\"bar\"><svg viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" "
		  "aria-hidden=\"true\"><rect class=\"bar\" width=\"%.2f\" height=\"1\"/></svg>"
		  "</td></tr>\n",
		  most ? 100.0 * (double)label->files / (double)most : 0);
}

static void put_class_head(struct report *report)
{
	const struct classes *classes = &report->survey->summary.classes;

	html_put(report->html, "<div class=\"wide\"><table><thead><tr><th>class</th>");
	for (uint32_t i = 0; shows_splits(classes) && i < classes->split_count; i++) {
		html_put(report->html, "<th>");
		put_name(report->html, classes->splits[i].name, classes->splits[i].name_len);
		html_put(report->html, "</th>");
	}
	html_put(report->html, "<th>files</th><th>bytes</th><th></th></tr></thead><tbody>\n");
}

static void put_labels(struct report *report)
{
	uint32_t count = report->survey->summary.classes.label_count;
	uint32_t left_out = count > ROWS_MOST ? count - ROWS_MOST : 0;

	put_class_head(report);
	for (uint32_t rank = 0; rank < count; rank++) {
		if (left_out && rank == ROWS_MOST / 2) {
			html_put(report->html, "<tr><th>... ");
			html_count(report->html, left_out);
			html_put(report->html, " more ...</th></tr>\n");
			rank += left_out;
		}
		put_label(report, rank);
	}
	html_put(report->html, "</tbody></table></div>\n");
	if (left_out)
		html_put(report->html, "<p>All of them: <code>foldpack info -v</code></p>\n");
}

void report_classes(struct report *report)
{
	uint32_t count = report->survey->summary.classes.label_count;

	html_put(report->html, "<section><h2>Content and classes</h2>\n");
	put_kinds(report);
	put_splits(report);
	if (count) {
		html_putf(report->html, "<details%s><summary>each class</summary>\n",
			  count <= ROWS_OPEN ? " open=\"open\"" : "");
		put_labels(report);
		html_put(report->html, "</details>\n");
	}
	html_put(report->html, "</section>\n");
}

/* --- the page --------------------------------------------------------------------------- */

static void begin_page(struct html *html, const char *name)
{
	html_put(html, REPORT_BEGINS);
	html_put(html,
		 "<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		 "<meta name=\"generator\" content=\"foldpack " FOLDFS_VERSION "\"/>\n<title>");
	html_string(html, name);
	html_put(html, "</title>\n<style>\n");
	html_put(html, report_style);
	html_put(html, "</style></head><body>\n");
}

static void put_sheet(struct report *report, const struct buf *shots)
{
	const struct sheet *sheet = report->sheet;

	if (sheet->count == 0)
		return;
	html_put(report->html, "<section><h2>Contact sheet</h2>\n<p class=\"id\">");
	html_number_of(report->html, sheet->count, "image");
	html_put(report->html, ", evenly spaced over those of each class");
	if (sheet->shown < sheet->labels) {
		html_put(report->html, "; ");
		html_count(report->html, sheet->shown);
		html_put(report->html, " of ");
		html_count(report->html, sheet->labels);
		html_put(report->html, " classes, from the largest to the smallest");
	}
	html_put(report->html, "</p>\n<div class=\"sheet\">\n");
	if (report->html->error == 0)
		report->html->error = buf_add(report->html->buf, shots->data, shots->len);
	html_put(report->html, "</div></section>\n");
}

static int write_page(struct report *report, const char *name, const struct buf *shots)
{
	int r;

	begin_page(report->html, name);
	report_figures(report, name);
	r = report_findings(report);
	report_charts(report);
	report_classes(report);
	put_sheet(report, shots);
	html_put(report->html, "<footer>Written by foldpack " FOLDFS_VERSION
			       " from the pack; checksums are XXH3-64.</footer>\n</body></html>\n");
	return r < 0 ? r : html_finish(report->html);
}

static int compare_ranks(const void *a, const void *b, void *labels)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t left = ((const struct class_label *)labels)[x].files;
	uint64_t right = ((const struct class_label *)labels)[y].files;

	if (left != right)
		return left > right ? -1 : 1;
	return (x > y) - (x < y);
}

static uint32_t *rank_labels(const struct classes *classes)
{
	uint32_t *ranked = calloc(classes->label_count + (size_t)1, sizeof(*ranked));

	for (uint32_t i = 0; ranked && i < classes->label_count; i++)
		ranked[i] = i;
	if (ranked)
		qsort_r(ranked, classes->label_count, sizeof(*ranked), compare_ranks,
			classes->labels);
	return ranked;
}

static int make_sheet(const struct report_params *params, const struct survey *survey,
		      struct sheet *sheet, struct buf *shots)
{
	const struct sheet_source source = {.dataset = params->dataset,
					    .survey = survey,
					    .done = params->done,
					    .context = params->context};
	struct html html = html_begin(shots);
	int r = sheet_new(params->dataset, survey, params->samples, sheet);

	if (r < 0)
		return r;
	params->total(params->context, sheet->count, sheet->bytes);
	return sheet_write(sheet, &source, &html);
}

static void scope_survey(struct survey **survey)
{
	survey_free(*survey);
}

/* The pictures come first: what is broken among them is told above them. */
int report_write(const struct report_params *params, struct buf *page, uint64_t *ret_damaged)
{
	SCOPE(scope_survey) struct survey *survey = NULL;
	SCOPE(sheet_release) struct sheet sheet = {0};
	SCOPE(buf_release) struct buf shots = BUF_INIT;
	SCOPE_FREE uint32_t *ranked = NULL;
	struct html html = html_begin(page);
	int r = survey_new(params->dataset, &survey);

	if (r == 0)
		r = make_sheet(params, survey, &sheet, &shots);
	if (r < 0)
		return r;
	ranked = rank_labels(&survey->summary.classes);
	if (!ranked)
		return -ENOMEM;
	r = write_page(&(struct report){.dataset = params->dataset,
					.survey = survey,
					.sheet = &sheet,
					.html = &html,
					.ranked = ranked},
		       params->name, &shots);
	if (r == 0)
		*ret_damaged = survey->unreadable.count + sheet.unreadable.count;
	return r;
}
