#include "pack/tool/report/sheet.h"

#include "base/scope.h"
#include "pack/tool/image/check.h"
#include "pack/tool/image/thumbnail.h"
#include <string.h>

#define LONGEST	   (256 * MIB) /* no longer file is looked at */
#define FEW_PIXELS 48	       /* a lower picture is shown larger, pixel by pixel */

void sheet_release(struct sheet *sheet)
{
	free(sheet->pictures);
	sheet->pictures = NULL;
}

/* --- which ------------------------------------------------------------------------------ */

struct choice {
	const struct survey *survey;
	uint32_t samples;
	uint32_t slots;	  /* labels, and that of no class */
	uint32_t *ranked; /* labels with images, the largest first */
	uint32_t *wanted; /* of each label: pictures; 0 where it is not shown */
	uint32_t *seen;	  /* of each label: images that have gone by */
	uint32_t *taken;  /* and pictures among them */
	uint32_t *first;  /* where those of each label begin */
};

static void release_choice(struct choice *choice)
{
	free(choice->ranked);
	free(choice->wanted);
	free(choice->seen);
	free(choice->taken);
	free(choice->first);
}

static int allocate(struct choice *choice)
{
	choice->ranked = calloc(choice->slots, sizeof(*choice->ranked));
	choice->wanted = calloc(choice->slots, sizeof(*choice->wanted));
	choice->seen = calloc(choice->slots, sizeof(*choice->seen));
	choice->taken = calloc(choice->slots, sizeof(*choice->taken));
	choice->first = calloc(choice->slots, sizeof(*choice->first));
	return choice->ranked && choice->wanted && choice->seen && choice->taken && choice->first
		       ? 0
		       : -ENOMEM;
}

static int compare_ranks(const void *a, const void *b, void *images)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint32_t *counts = images;

	if (counts[x] != counts[y])
		return counts[x] > counts[y] ? -1 : 1;
	return (x > y) - (x < y);
}

static uint32_t pictures_of(const struct choice *choice, uint32_t label)
{
	uint32_t images = choice->survey->images[label];

	return images < choice->samples ? images : choice->samples;
}

/* All labels, or as many as there is room for, at equal steps of their ranks. */
static void choose_labels(struct choice *choice, struct sheet *sheet)
{
	uint32_t room = choice->samples < SHEET_MOST ? SHEET_MOST / choice->samples : 1;
	uint64_t all = 0;

	for (uint32_t label = 0; label < choice->slots; label++) {
		if (choice->survey->images[label])
			choice->ranked[sheet->labels++] = label;
		all += pictures_of(choice, label);
	}
	qsort_r(choice->ranked, sheet->labels, sizeof(*choice->ranked), compare_ranks,
		choice->survey->images);
	sheet->shown = all <= SHEET_MOST || sheet->labels <= room ? sheet->labels : room;
	for (uint32_t i = 0; i < sheet->shown; i++) {
		uint64_t steps = sheet->shown > 1 ? sheet->shown - 1 : 1;
		uint32_t label = choice->ranked[(uint64_t)i * (sheet->labels - 1) / steps];

		choice->wanted[label] = pictures_of(choice, label);
	}
}

/* Whether the next image of a label is one of those that are evenly spaced: the first, the last
 * and `wanted` - 2 between them. */
static bool is_next(struct choice *choice, uint32_t label)
{
	uint32_t wanted = choice->wanted[label], taken = choice->taken[label];
	uint64_t last = choice->survey->images[label] - 1;
	uint32_t at = choice->seen[label]++;

	if (taken == wanted || at != (wanted > 1 ? taken * last / (wanted - 1) : 0))
		return false;
	choice->taken[label]++;
	return true;
}

static void choose_pictures(const struct dataset *dataset, struct choice *choice,
			    struct sheet *sheet)
{
	const struct classes *classes = &choice->survey->summary.classes;
	struct dataset_entry entry;

	for (uint32_t i = 0; i < choice->survey->image_count; i++) {
		uint32_t number = choice->survey->entries[i], class = classes->of[number];
		uint32_t label = class ? classes->list[class - 1].label : classes->label_count;
		uint32_t at = choice->first[label] + choice->taken[label];

		if (!is_next(choice, label))
			continue;
		dataset_entry(dataset, number, &entry);
		sheet->bytes += entry.size;
		sheet->pictures[at] = (struct sheet_picture){.label = label, .entry = number};
	}
}

int sheet_new(const struct dataset *dataset, const struct survey *survey, uint32_t samples,
	      struct sheet *ret)
{
	SCOPE(release_choice)
	struct choice choice = {.survey = survey,
				.samples = samples,
				.slots = survey->summary.classes.label_count + 1};
	struct sheet sheet = {0};
	int r = samples ? allocate(&choice) : 0;

	if (r < 0)
		return r;
	if (samples)
		choose_labels(&choice, &sheet);
	for (uint32_t label = 0; samples && label < choice.slots; label++) {
		choice.first[label] = sheet.count;
		sheet.count += choice.wanted[label];
	}
	sheet.pictures = calloc(sheet.count + (size_t)1, sizeof(*sheet.pictures));
	if (!sheet.pictures)
		return -ENOMEM;
	if (samples)
		choose_pictures(dataset, &choice, &sheet);
	*ret = sheet;
	return 0;
}

/* --- pictures --------------------------------------------------------------------------- */

struct writer {
	struct sheet *sheet;
	const struct sheet_source *source;
	struct html *html;
	struct buf path, bytes; /* of the picture in hand */
};

static void release_writer(struct writer *writer)
{
	buf_release(&writer->path);
	buf_release(&writer->bytes);
}

/* What it is, for those who point at it or do not see it. */
static void put_path(struct writer *writer)
{
	html_text(writer->html, writer->path.data, writer->path.len);
}

static void put_nothing(struct writer *writer, const char *why)
{
	html_put(writer->html, "<span class=\"none\" title=\"");
	put_path(writer);
	html_put(writer->html, "\">");
	html_string(writer->html, why);
	html_put(writer->html, "</span>\n");
}

static void put_thumbnail(struct writer *writer, const struct thumbnail *thumbnail)
{
	struct html *html = writer->html;

	html_putf(html, "<img%s width=\"%u\" height=\"%u\" alt=\"",
		  thumbnail->height < FEW_PIXELS ? " class=\"few\"" : "", thumbnail->width,
		  thumbnail->height);
	put_path(writer);
	html_put(html, "\" title=\"");
	put_path(writer);
	html_putf(html, "\" src=\"data:%s;base64,", thumbnail->type);
	html_base64(html, thumbnail->data, thumbnail->len);
	html_put(html, "\"/>\n");
}

/* What is no image at all is told by its name already. */
static bool is_broken(const struct check_finding *finding)
{
	return !finding->usable && strcmp(finding->damage, DAMAGE_NO_IMAGE) != 0;
}

static int put_image(struct writer *writer, uint32_t entry)
{
	SCOPE(thumbnail_release) struct thumbnail thumbnail = {0};
	const uint8_t *data = (const uint8_t *)writer->bytes.data;
	struct check_finding finding;
	struct err err = {0};
	int found, r;

	found = check_image(CHECK_HEADER, writer->path.data, data, writer->bytes.len, &finding);
	r = found < 0 ? found : thumbnail_make(data, writer->bytes.len, &thumbnail, &err);
	if (r == -ENOMEM)
		return r;
	if (r == 0)
		put_thumbnail(writer, &thumbnail);
	else
		put_nothing(writer, found ? finding.text : err_text(&err, r));
	if (found ? is_broken(&finding) : r == -EBADMSG)
		survey_note(&writer->sheet->broken, entry);
	return 0;
}

/* Its bytes; or its place on the sheet says why not, and `bytes` is empty. */
static int read_image(struct writer *writer, uint32_t entry, uint64_t size)
{
	ssize_t n;

	writer->bytes.len = 0;
	if (size == 0 || size > LONGEST) {
		put_nothing(writer, size ? "too large" : "empty");
		return 0;
	}
	if (buf_reserve(&writer->bytes, size) < 0)
		return -ENOMEM;
	n = dataset_read(writer->source->dataset, entry, writer->bytes.data, size, 0, true);
	if (n == -ENOMEM)
		return -ENOMEM;
	if (n < 0) {
		survey_note(&writer->sheet->unreadable, entry);
		put_nothing(writer, n == -EBADMSG ? "damaged in the pack" : strerror((int)-n));
		return 0;
	}
	writer->bytes.len = (size_t)n;
	return 0;
}

static int put_picture(struct writer *writer, uint32_t number)
{
	const struct sheet_source *source = writer->source;
	struct dataset_entry entry;
	int r;

	dataset_entry(source->dataset, number, &entry);
	writer->path.len = 0;
	r = dataset_path(source->dataset, number, &writer->path);
	if (r == 0)
		r = read_image(writer, number, entry.size);
	if (r == 0 && writer->bytes.len)
		r = put_image(writer, number);
	return r < 0 ? r : source->done(source->context, entry.size);
}

/* --- labels ----------------------------------------------------------------------------- */

static void begin_label(struct writer *writer, uint32_t number)
{
	const struct classes *classes = &writer->source->survey->summary.classes;
	struct html *html = writer->html;

	html_put(html, "<section class=\"label\"><h3>");
	if (number < classes->label_count) {
		const struct class_label *label = &classes->labels[number];

		html_put(html, "<bdi>");
		html_text(html, label->name, label->name_len);
		html_put(html, "</bdi>");
	} else {
		html_put(html, classes->count ? "outside of the classes" : "images");
	}
	html_put(html, " <span>");
	html_number_of(html, writer->source->survey->images[number], "image");
	html_put(html, "</span></h3><div class=\"shots\">\n");
}

int sheet_write(struct sheet *sheet, const struct sheet_source *source, struct html *html)
{
	SCOPE(release_writer)
	struct writer writer = {.sheet = sheet, .source = source, .html = html};
	const struct sheet_picture *pictures = sheet->pictures;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < sheet->count; i++) {
		if (i == 0 || pictures[i].label != pictures[i - 1].label)
			begin_label(&writer, pictures[i].label);
		r = put_picture(&writer, pictures[i].entry);
		if (i + 1 == sheet->count || pictures[i].label != pictures[i + 1].label)
			html_put(html, "</div></section>\n");
	}
	return r < 0 ? r : html_finish(html);
}
