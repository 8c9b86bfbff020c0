#include "pack/tool/report/contact_sheet.h"

#include "base/bits.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/image/check.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/transform.h"
#include <string.h>

#define READ_MOST (256 * MIB) /* a larger file is not read */

void contact_sheet_release(struct contact_sheet *sheet)
{
	for (uint32_t i = 0; sheet->pictures && i < sheet->count; i++)
		buf_release(&sheet->pictures[i].text);
	free(sheet->pictures);
	free(sheet->reads);
	*sheet = (struct contact_sheet){0};
}

/* --- which ------------------------------------------------------------------------------ */

static int compare_picked(const void *a, const void *b, void *images)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint32_t *counts = images;

	if (counts[x] != counts[y])
		return counts[x] > counts[y] ? -1 : 1;
	return (x > y) - (x < y);
}

/* How many images of each label have no copy before them. */
static int count_distinct(const struct contact_sheet_source *source, uint32_t labels,
			  uint32_t **ret)
{
	const struct statistics *statistics = source->statistics;
	uint32_t *distinct = calloc(labels, sizeof(*distinct));

	if (!distinct)
		return -ENOMEM;
	for (uint32_t i = 0; i < statistics->image_count; i++) {
		uint32_t entry = statistics->entries[i];

		distinct[statistics_label(&source->summary->classes, entry)] +=
			!bit_get(source->copies, entry);
	}
	*ret = distinct;
	return 0;
}

/* Sets in `wanted` how many pictures each label gets. All labels get some; or, if there is no room
 * for all, as many labels as fit, at equal steps of their ranks. */
static int choose_labels(uint32_t *images, const uint32_t *distinct, uint32_t labels,
			 uint32_t samples, uint32_t *wanted, struct contact_sheet *sheet)
{
	SCOPE_FREE uint32_t *ranked = calloc(labels, sizeof(*ranked));
	uint32_t room = samples < CONTACT_SHEET_MOST ? CONTACT_SHEET_MOST / samples : 1;
	uint64_t all = 0;

	if (!ranked)
		return -ENOMEM;
	for (uint32_t label = 0; label < labels; label++) {
		if (images[label])
			ranked[sheet->labels++] = label;
		all += min(distinct[label], samples);
	}
	qsort_r(ranked, sheet->labels, sizeof(*ranked), compare_picked, images);
	sheet->labels_shown =
		all <= CONTACT_SHEET_MOST || sheet->labels <= room ? sheet->labels : room;
	for (uint32_t i = 0; i < sheet->labels_shown; i++) {
		uint64_t steps = sheet->labels_shown > 1 ? sheet->labels_shown - 1 : 1;
		uint32_t label = ranked[(uint64_t)i * (sheet->labels - 1) / steps];

		wanted[label] = (uint32_t)min(distinct[label], samples);
		sheet->count += wanted[label];
	}
	return 0;
}

/* Sorts the images by label, and by index within a label. `images` says how many each label has. */
static int sort_images(const struct contact_sheet_source *source, uint32_t labels, uint32_t *ret)
{
	const struct statistics *statistics = source->statistics;
	SCOPE_FREE uint32_t *next = calloc(labels, sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (uint32_t label = 1; label < labels; label++)
		next[label] = next[label - 1] + statistics->images[label - 1];
	for (uint32_t i = 0; i < statistics->image_count; i++) {
		uint32_t entry = statistics->entries[i];

		ret[next[statistics_label(&source->summary->classes, entry)]++] = entry;
	}
	return 0;
}

/* Takes the first image of a label, the last, and `wanted` - 2 at equal steps between, of those
 * that are no copies. `reads` has all images at first; those that are not read are removed. */
static void choose_pictures(const struct contact_sheet_source *source, const uint32_t *distinct,
			    const uint32_t *wanted, uint32_t labels, struct contact_sheet *sheet)
{
	const uint32_t *images = source->statistics->images, *next = sheet->reads;
	bool whole = source->statistics->image_bytes <= source->check_all;
	struct contact_sheet_picture *picture = sheet->pictures;
	struct dataset_entry entry;

	for (uint32_t label = 0; label < labels; label++) {
		uint64_t taken = 0, passed = 0, steps = wanted[label] > 1 ? wanted[label] - 1 : 1;

		for (uint32_t i = 0; i < images[label]; i++, next++) {
			bool copy = bit_get(source->copies, *next);
			bool take = !copy && taken < wanted[label] &&
				    passed == taken * (distinct[label] - 1) / steps;

			passed += !copy;
			if (take)
				*picture++ = (struct contact_sheet_picture){.label = label,
									    .entry = *next};
			taken += take;
			if (!take && !whole)
				continue;
			entry = dataset_entry(source->dataset, *next);
			sheet->reads[sheet->read_count++] = *next;
			sheet->read_bytes += entry.size;
		}
	}
}

int contact_sheet_new(const struct contact_sheet_source *source, uint32_t samples,
		      struct contact_sheet *ret)
{
	SCOPE(contact_sheet_release) struct contact_sheet sheet = {0};
	uint32_t labels = source->summary->classes.label_count + 1;
	SCOPE_FREE uint32_t *wanted = calloc(labels, sizeof(*wanted)), *distinct = NULL;
	int r = wanted ? count_distinct(source, labels, &distinct) : -ENOMEM;

	if (r == 0 && samples)
		r = choose_labels(source->statistics->images, distinct, labels, samples, wanted,
				  &sheet);
	if (r < 0)
		return r;
	sheet.pictures = calloc(sheet.count + (size_t)1, sizeof(*sheet.pictures));
	sheet.reads = calloc(source->statistics->image_count + (size_t)1, sizeof(*sheet.reads));
	if (!sheet.pictures || !sheet.reads)
		return -ENOMEM;
	r = sort_images(source, labels, sheet.reads);
	if (r < 0)
		return r;
	choose_pictures(source, distinct, wanted, labels, &sheet);
	*ret = sheet;
	sheet = (struct contact_sheet){0};
	return 0;
}

/* --- reading ---------------------------------------------------------------------------- */

/* The current image. */
struct reading {
	const struct contact_sheet_source *source;
	struct anomalies *anomalies;
	struct dataset_entry entry;
	uint32_t number;
	struct contact_sheet_picture *picture; /* NULL: it is not shown */
	struct buf path, bytes;
};

static void release_reading(struct reading *reading)
{
	buf_release(&reading->path);
	buf_release(&reading->bytes);
}

static int explain_sheet(struct reading *reading, const char *why)
{
	return reading->picture ? buf_adds(&reading->picture->text, why) : 0;
}

static int add_base64(struct buf *to, const uint8_t *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t bits = (uint32_t)data[i] << 16;

		bits |= n > 1 ? (uint32_t)data[i + 1] << 8 : 0;
		bits |= n > 2 ? (uint32_t)data[i + 2] : 0;
		buf_add(to,
			(const char[]){digits[bits >> 18], digits[bits >> 12 & 63],
				       n > 1 ? digits[bits >> 6 & 63] : '=',
				       n > 2 ? digits[bits & 63] : '='},
			4);
	}
	return buf_error(to);
}

/* `why`: what is wrong with the image, or NULL. */
static int make_picture(struct reading *reading, const char *why, bool *ret_broken)
{
	SCOPE(thumbnail_release) struct thumbnail thumbnail = {0};
	struct contact_sheet_picture *picture = reading->picture;
	struct err err = {0};
	int r = thumbnail_make((const uint8_t *)reading->bytes.data, reading->bytes.len, &thumbnail,
			       &err);

	*ret_broken = r == -EBADMSG;
	if (r == -ENOMEM)
		return r;
	if (r != 0)
		return explain_sheet(reading, why ? why : err_text(&err, r));
	picture->width = thumbnail.width;
	picture->height = thumbnail.height;
	picture->shown = true;
	r = buf_addf(&picture->text, "data:%s;base64,", thumbnail.type);
	return r < 0 ? r : add_base64(&picture->text, thumbnail.data, thumbnail.len);
}

/* What the index has shown is not noted again. */
static void note_undecoded(struct reading *reading, const struct dataset_image *image,
			   bool truncated)
{
	switch (anomaly_of_file(&reading->entry, image)) {
	case ANOMALY_EMPTY:
	case ANOMALY_NOT_IMAGE:
	case ANOMALY_NO_SIZE:
		break;
	default:
		anomalies_note(reading->anomalies, truncated ? ANOMALY_TRUNCATED : ANOMALY_CORRUPT,
			       reading->number);
	}
}

/* What an image is, by the index or else by its bytes. */
static int look_at_image(struct reading *reading, struct dataset_image *ret)
{
	const struct contact_sheet_source *source = reading->source;

	if (!dataset_is_unchecked(source->dataset))
		return dataset_image(source->dataset, reading->entry.inode, ret);
	image_inspect((const uint8_t *)reading->bytes.data, reading->bytes.len, ret);
	return statistics_add_image(source->statistics, reading->number, &reading->entry, ret,
				    reading->anomalies);
}

static int check_and_show(struct reading *reading)
{
	struct check_finding finding;
	struct dataset_image image;
	bool truncated = false, broken = false;
	int found, r = look_at_image(reading, &image);

	if (r < 0)
		return r;
	found = check_image(CHECK_HEADER, reading->path.data, (const uint8_t *)reading->bytes.data,
			    reading->bytes.len, &finding);
	if (found < 0)
		return found;
	if (reading->picture)
		r = make_picture(reading, found ? finding.text : NULL, &broken);
	if (found && !finding.usable) {
		broken = true;
		truncated = strcmp(finding.damage, DAMAGE_TRUNCATED) == 0 ||
			    strcmp(finding.damage, DAMAGE_NO_EOI) == 0;
	}
	if (broken)
		note_undecoded(reading, &image, truncated);
	return r;
}

static int read_image(struct reading *reading)
{
	uint64_t size = reading->entry.size;
	ssize_t n;

	if (size == 0 || size > READ_MOST)
		return explain_sheet(reading, size ? "too large" : "empty");
	reading->bytes.len = 0;
	if (buf_reserve(&reading->bytes, size) < 0)
		return -ENOMEM;
	n = dataset_read(reading->source->dataset, reading->number, reading->bytes.data, size, 0);
	if (n == -ENOMEM)
		return -ENOMEM;
	if (n < 0) {
		anomalies_note_unread(reading->anomalies, (int)n, reading->number);
		return explain_sheet(reading,
				     n == -EBADMSG ? "damaged in the pack" : strerror((int)-n));
	}
	reading->bytes.len = (size_t)n;
	return check_and_show(reading);
}

int contact_sheet_read(struct contact_sheet *sheet, const struct contact_sheet_source *source,
		       struct anomalies *anomalies)
{
	SCOPE(release_reading) struct reading reading = {.source = source, .anomalies = anomalies};
	uint32_t picture = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < sheet->read_count; i++) {
		bool shown =
			picture < sheet->count && sheet->pictures[picture].entry == sheet->reads[i];

		reading.number = sheet->reads[i];
		reading.picture = shown ? &sheet->pictures[picture++] : NULL;
		reading.entry = dataset_entry(source->dataset, reading.number);
		reading.path.len = 0;
		r = dataset_path(source->dataset, reading.number, &reading.path);
		if (r == 0)
			r = read_image(&reading);
		if (r == 0)
			r = source->done(source->context, reading.entry.size);
	}
	return r;
}

/* --- JSON ------------------------------------------------------------------------------- */

static int add_picture(const struct contact_sheet_picture *picture,
		       const struct contact_sheet_source *source, struct json *json)
{
	int r;

	json_object(json, NULL);
	json_array(json, "at");
	r = anomalies_path(source->dataset, &source->summary->classes, picture->entry, json);
	json_end(json);
	if (picture->shown) {
		json_u64(json, "width", picture->width);
		json_u64(json, "height", picture->height);
	}
	json_bytes(json, picture->shown ? "src" : "why", picture->text.data, picture->text.len);
	json_end(json);
	return r;
}

int contact_sheet_json(const struct contact_sheet *sheet, const struct contact_sheet_source *source,
		       struct json *json)
{
	const struct classes *classes = &source->summary->classes;
	uint32_t count = 0;
	int r = 0;

	json_u64(json, "checked", sheet->read_count);
	json_u64(json, "labels", sheet->labels);
	json_array(json, "shown");
	for (uint32_t i = 0; r == 0 && i < sheet->count; i += count) {
		uint32_t label = sheet->pictures[i].label;

		json_object(json, NULL);
		if (label < classes->label_count)
			json_bytes(json, "name", classes->labels[label].name,
				   classes->labels[label].name_len);
		json_u64(json, "images", source->statistics->images[label]);
		json_array(json, "pictures");
		for (count = 0; r == 0 && i + count < sheet->count &&
				sheet->pictures[i + count].label == label;
		     count++)
			r = add_picture(&sheet->pictures[i + count], source, json);
		json_end(json);
		json_end(json);
	}
	json_end(json);
	return r;
}
