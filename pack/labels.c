#include "pack/labels.h"
#include "base/bytes.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "pack/options.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define LINE	    "labels="
#define DIGITS_MOST 19 /* of INT64_MAX */

void labels_release(struct labels *labels)
{
	buf_release(&labels->rows);
	buf_release(&labels->text);
}

/* --- as text ---------------------------------------------------------------------------------- */

static int add_joined(struct labels *labels, int64_t label, const char *below, const char *folder,
		      size_t len)
{
	struct label row = {.label = label, .folder = labels->text.len};
	int r;

	buf_addf(&labels->text, "%s%s", below, *below && len ? "/" : "");
	r = buf_add(&labels->text, folder, len);
	row.len = (uint32_t)(labels->text.len - row.folder);
	return r < 0 ? r : buf_add(&labels->rows, &row, sizeof(row));
}

int labels_add(struct labels *labels, int64_t label, const char *folder, size_t len)
{
	return add_joined(labels, label, "", folder, len);
}

static int compare_rows(const void *left, const void *right, void *text)
{
	const struct label *a = left, *b = right;
	const char *base = text;

	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	return bytes_compare(base + a->folder, a->len, base + b->folder, b->len);
}

void labels_sort(struct labels *labels)
{
	struct label *rows = BUF_ITEMS(&labels->rows, struct label);
	size_t count = labels_count(labels), kept = 0;

	if (count == 0)
		return;
	qsort_r(rows, count, sizeof(*rows), compare_rows, labels->text.data);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || compare_rows(&rows[i], &rows[kept - 1], labels->text.data) != 0)
			rows[kept++] = rows[i];
	labels->rows.len = kept * sizeof(*rows);
}

int labels_add_gaps(struct labels *labels,
		    int (*add)(const void *context, int64_t label, struct buf *above,
			       struct labels *labels),
		    const void *context, struct err *err)
{
	size_t count = labels_count(labels);
	uint64_t end = 0, gaps = 0;
	int64_t next = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t label = (uint64_t)labels_row(labels, i)->label;

		gaps += sub_sat(label, end);
		end = label + 1;
	}
	if (gaps > LABELS_EMPTY_MOST)
		return err_set(err, -EINVAL,
			       "'--empty-classes': %" PRIu64 " of the labels up to %" PRIu64
			       " have no image: too many folders",
			       gaps, end - 1);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct label row = *labels_row(labels, i);
		SCOPE(buf_release) struct buf above = BUF_INIT;
		const char *path = labels_folder(labels, i), *slash = memrchr(path, '/', row.len);
		size_t len = slash ? (size_t)(slash + 1 - path) : 0;

		r = buf_add(&above, path, len);
		for (; r == 0 && next < row.label; next++) {
			r = add(context, next, &above, labels);
			above.len = len;
		}
		next = row.label + 1;
	}
	return r;
}

int labels_write(struct labels *labels, struct buf *ret)
{
	labels_sort(labels);
	for (size_t i = 0; i < labels_count(labels); i++) {
		const struct label *row = labels_row(labels, i);

		buf_addf(ret, "%s%" PRId64 ":", i ? "//" : LINE, row->label);
		buf_add_escaped(ret, labels_folder(labels, i), row->len, "\n\\");
	}
	return labels_count(labels) ? buf_adds(ret, "\n") : buf_error(ret);
}

int labels_read(struct labels *labels, const char *text, size_t len, const char *below)
{
	SCOPE(buf_release) struct buf folder = BUF_INIT;
	int r = 0;

	for (const char *end = text + len, *next; r == 0 && text < end;
	     text = next + (next < end ? 2 : 0)) {
		char number[DIGITS_MOST + 1], *rest;
		const char *colon;
		int64_t label;

		next = memmem(text, (size_t)(end - text), "//", 2);
		next = next ? next : end;
		/* "LABEL:FOLDER" */
		colon = memchr(text, ':', (size_t)(next - text));
		if (!colon || *text < '0' || *text > '9' || colon - text > DIGITS_MOST)
			continue;
		snprintf(number, sizeof(number), "%.*s", (int)(colon - text), text);
		errno = 0;
		label = strtoll(number, &rest, 10);
		if (*rest || errno)
			continue;
		folder.len = 0;
		r = option_unescape(colon + 1, (size_t)(next - colon - 1), &folder);
		if (r == 0)
			r = add_joined(labels, label, below, folder.data, folder.len);
	}
	return r;
}

int labels_add_dataset(struct labels *labels, const struct dataset *dataset, const char *below)
{
	const struct dataset_info *info = dataset_info(dataset);

	return labels_read(labels, info->labels, info->labels_len, below);
}

/* --- names of folders ------------------------------------------------------------------------- */

#define STYLE	   "folders"
#define STYLE_TEXT 64
#define DIGITS	   4 /* of a label, at least */

static const char *const counted_words[] = {"given", "one", "zero", NULL};
static const char *const several_words[] = {"single", "places", "firsts", NULL};

int labels_style_write(const struct labels_style *style, struct buf *ret)
{
	return buf_addf(ret, STYLE "=%s %s %u %s %s %s %s\n", style->numbered ? "numbers" : "names",
			style->asked ? "asked" : "auto", style->width,
			counted_words[style->counted], several_words[style->several],
			style->listed ? "list" : "records", style->only_names ? "names" : "labels");
}

/* The place of a word among these; that of NULL where it is none. */
static unsigned word_at(const char *const *words, const char *word)
{
	unsigned at = 0;

	while (words[at] && strcmp(words[at], word) != 0)
		at++;
	return at;
}

bool labels_style_read(const struct dataset *dataset, struct labels_style *ret)
{
	const struct dataset_info *info = dataset_info(dataset);
	char text[STYLE_TEXT], numbered[8], asked[8], counted[8], several[8], listed[8], only[8];
	size_t len;
	const char *line = options_find(info->options, info->options_len, STYLE, &len);

	*ret = (struct labels_style){0};
	if (!line)
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)min(len, sizeof(text) - 1), line);
	if (sscanf(text, "%7s %7s %2u %7s %7s %7s %7s", numbered, asked, &ret->width, counted,
		   several, listed, only) != 7)
		return false;
	ret->numbered = strcmp(numbered, "numbers") == 0;
	ret->asked = strcmp(asked, "asked") == 0;
	ret->listed = strcmp(listed, "list") == 0;
	ret->only_names = strcmp(only, "names") == 0;
	ret->counted = word_at(counted_words, counted);
	ret->several = word_at(several_words, several);
	return true;
}

size_t labels_style_last(const char *folder, size_t len)
{
	const char *slash = memrchr(folder, '/', len);

	return slash ? (size_t)(slash + 1 - folder) : 0;
}

size_t labels_style_name(const struct labels_style *style, int64_t label, const char *folder,
			 size_t len)
{
	size_t last = labels_style_last(folder, len), end = last;
	uint64_t number = 0;

	/* The digits that the name begins with. */
	while (end < len && end - last < DIGITS_MOST && folder[end] >= '0' && folder[end] <= '9')
		number = number * 10 + (uint64_t)(folder[end++] - '0');
	if (end == last || number != (uint64_t)label ||
	    (style && end - last != max(style->width, labels_width(label))))
		return last;
	if (end == len)
		return end;
	return (!style || style->numbered) && folder[end] == '_' ? end + 1 : last;
}

int labels_style_add(const struct labels_style *style, int64_t label, const char *name, size_t len,
		     struct buf *ret)
{
	if (style->numbered || !len)
		buf_addf(ret, "%0*" PRId64 "%s", (int)style->width, label, len ? "_" : "");
	return buf_add(ret, name, len);
}

unsigned labels_width(int64_t label)
{
	int digits = snprintf(NULL, 0, "%" PRId64, label);

	return digits > DIGITS ? (unsigned)digits : DIGITS;
}

/* --- as ImageFolder numbers them -------------------------------------------------------------- */

static void note_absent(struct labels_report *report, uint64_t from, uint64_t to)
{
	if (from >= to)
		return;
	if (report->absent == 0)
		report->first_absent = from;
	report->absent += to - from;
}

static int compare_beside(const void *left, const void *right, void *dataset)
{
	const struct dataset_entry a = dataset_entry(dataset, *(const uint32_t *)left);
	const struct dataset_entry b = dataset_entry(dataset, *(const uint32_t *)right);

	if (a.parent != b.parent)
		return a.parent < b.parent ? -1 : 1;
	return utf8_compare(a.name, a.name_len, b.name, b.name_len);
}

/* The number of each folder among those beside it. NULL: there is no memory. */
static uint32_t *number_folders(const struct dataset *dataset)
{
	uint32_t count = dataset_entries(dataset), folders = 0;
	SCOPE_FREE uint32_t *order = malloc(count * sizeof(*order));
	uint32_t *numbers = calloc(count, sizeof(*numbers));

	if (!order || !numbers) {
		free(numbers);
		return NULL;
	}
	for (uint32_t e = 1; e < count; e++)
		if (dataset_entry(dataset, e).kind == FORMAT_DIRECTORY)
			order[folders++] = e;
	qsort_r(order, folders, sizeof(*order), compare_beside, (void *)dataset);
	for (uint32_t i = 1; i < folders; i++)
		if (dataset_entry(dataset, order[i]).parent ==
		    dataset_entry(dataset, order[i - 1]).parent)
			numbers[order[i]] = numbers[order[i - 1]] + 1;
	return numbers;
}

/* Whether a folder lies beside it that is called as its class is, without the number, as of files
 * that have only names. */
static bool is_twice(const struct dataset *dataset, const struct label *row, const char *folder)
{
	size_t last = labels_style_last(folder, row->len);
	size_t name = labels_style_name(NULL, row->label, folder, row->len);
	char path[PATH_MAX];
	uint32_t entry;

	if (name == last || name == row->len || row->len > sizeof(path))
		return false;
	memcpy(path, folder, last);
	memcpy(path + last, folder + name, row->len - name);
	return dataset_find(dataset, path, last + row->len - name, &entry) == 0 &&
	       dataset_entry(dataset, entry).kind == FORMAT_DIRECTORY;
}

int labels_compare(const struct dataset *dataset, struct labels_report *ret)
{
	SCOPE(labels_release) struct labels labels = {0};
	SCOPE_FREE uint32_t *numbers = NULL;
	struct labels_report report = {0};
	uint64_t next = 0; /* the label that would follow those with a folder */
	uint32_t entry;
	int r = labels_add_dataset(&labels, dataset, "");

	if (r < 0)
		return r;
	labels_sort(&labels);
	report.numbered = labels_count(&labels);
	if (report.numbered) {
		numbers = number_folders(dataset);
		if (!numbers)
			return -ENOMEM;
	}
	for (size_t i = 0, before = 0; i < labels_count(&labels); i++) {
		const struct label *row = labels_row(&labels, i);

		report.labels = (uint64_t)row->label + 1;
		if (dataset_find(dataset, labels_folder(&labels, i), row->len, &entry) < 0 ||
		    dataset_entry(dataset, entry).kind != FORMAT_DIRECTORY)
			continue;
		note_absent(&report, next, (uint64_t)row->label);
		next = report.labels;
		report.numbered &= entry > before;
		before = entry;
		report.folders++;
		if (is_twice(dataset, row, labels_folder(&labels, i)) && report.twice++ == 0)
			report.first_twice = entry;
		if (numbers[entry] == row->label || report.moved++ > 0)
			continue;
		report.entry = entry;
		report.label = row->label;
		report.number = numbers[entry];
	}
	note_absent(&report, next, report.labels);
	*ret = report;
	return 0;
}

int labels_explain(const struct dataset *dataset, const struct labels_report *report,
		   struct buf *ret)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	SCOPE(buf_release) struct buf twice = BUF_INIT;
	bool gaps = report->absent && report->absent <= LABELS_EMPTY_MOST;
	bool reorder = report->moved && !report->numbered;
	int r = report->moved ? dataset_path(dataset, report->entry, &path) : 0;

	if (r == 0 && report->twice)
		r = dataset_path(dataset, report->first_twice, &twice);
	if (r < 0)
		return r;
	ret->len = 0;
	if (report->moved)
		buf_addf(ret,
			 "ImageFolder gives %" PRIu64 " of %" PRIu64
			 " classes another number than their label: '%s' is %" PRIu32
			 " there, and its label is %" PRId64,
			 report->moved, report->folders, path.data, report->number, report->label);
	if (report->absent)
		buf_addf(ret,
			 "%s%" PRIu64 " of %" PRIu64 " labels, from %" PRIu64
			 " on, have no image here, as in a part of a set",
			 report->moved ? "; " : "", report->absent, report->labels,
			 report->first_absent);
	if (gaps)
		buf_adds(ret, "; --empty-classes makes a folder of each");
	if (reorder)
		buf_adds(ret,
			 "; --class-folders=numbers puts folders in the order of their labels");
	if (report->twice)
		buf_addf(ret,
			 "%s%" PRIu64 " of %" PRIu64
			 " classes, such as '%s', lie beside another of "
			 "their name without the number; --class-folders=names makes one of both",
			 ret->len ? "; " : "", report->twice, report->folders, twice.data);
	if ((gaps || reorder || report->twice) && !dataset_is_unchecked(dataset))
		buf_adds(ret, ", in the pack that 'foldpack create' makes with it");
	return buf_error(ret);
}
