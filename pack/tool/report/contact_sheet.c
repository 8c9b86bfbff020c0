#include "pack/tool/report/contact_sheet.h"

#include "base/bits.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/image/check.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/transform.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/work/batch_ahead.h"
#include "pack/tool/work/pipeline.h"
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

#define INSIDE	     (64 * MIB) /* bytes of images at once */
#define INSIDE_COUNT 256	/* images at once */

/* An image on its way. */
struct reading {
	size_t number; /* of the reads */
	struct dataset_entry entry;
	struct contact_sheet_picture *picture; /* NULL: it is not shown */
	int error;			       /* of memory */
	int unread;			       /* why its bytes could not be read */
	bool looked, broken, truncated;
	struct dataset_image image; /* if it was looked at */
};

struct sheet_reader {
	const struct contact_sheet *sheet;
	const struct contact_sheet_source *source;
	struct anomalies *anomalies;
	struct batch_ahead *ahead;
	struct reading *ring;
	uint32_t next, picture; /* to be put in */
};

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

/* --- in any thread ---------------------------------------------------------------------- */

/* `why`: what is wrong with the image, or NULL. */
static int make_picture(struct reading *reading, const struct buf *bytes, const char *why)
{
	SCOPE(thumbnail_release) struct thumbnail thumbnail = {0};
	struct contact_sheet_picture *picture = reading->picture;
	struct err err = {0};
	int r = thumbnail_make((const uint8_t *)bytes->data, bytes->len, &thumbnail, &err);

	reading->broken = r == -EBADMSG;
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

static int check_and_show(struct reading *reading, const char *path, const struct buf *bytes)
{
	struct check_finding finding;
	const uint8_t *data = (const uint8_t *)bytes->data;
	int found, r = 0;

	reading->looked = true;
	image_inspect(data, bytes->len, &reading->image);
	found = check_image(CHECK_HEADER, path, data, bytes->len, &finding);
	if (found < 0)
		return found;
	if (reading->picture)
		r = make_picture(reading, bytes, found ? finding.text : NULL);
	if (found && !finding.usable) {
		reading->broken = true;
		reading->truncated = strcmp(finding.damage, DAMAGE_TRUNCATED) == 0 ||
				     strcmp(finding.damage, DAMAGE_NO_EOI) == 0;
	}
	return r;
}

static int read_image(const struct sheet_reader *reader, struct reading *reading)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, bytes = BUF_INIT;
	uint64_t size = reading->entry.size;
	int r;

	if (size == 0 || size > READ_MOST)
		return explain_sheet(reading, size ? "too large" : "empty");
	if (buf_reserve(&bytes, size) < 0 ||
	    dataset_path(reader->source->dataset, reader->sheet->reads[reading->number], &path) < 0)
		return -ENOMEM;
	r = batch_ahead_read(reader->ahead, reading->number, bytes.data);
	if (r == -ENOMEM || r == -EINTR)
		return r;
	if (r < 0) {
		reading->unread = r;
		return explain_sheet(reading, r == -EBADMSG ? "damaged in the pack" : strerror(-r));
	}
	bytes.len = size;
	return check_and_show(reading, path.data, &bytes);
}

static void work_on_image(void *context, unsigned worker, void *item)
{
	struct reading *reading = item;

	(void)worker;
	reading->error = read_image(context, reading);
}

/* --- in the caller's thread ------------------------------------------------------------- */

/* What the index has shown is not noted again. */
static void note_undecoded(const struct sheet_reader *reader, const struct reading *reading,
			   const struct dataset_image *image)
{
	switch (anomaly_of_file(&reading->entry, image)) {
	case ANOMALY_EMPTY:
	case ANOMALY_NOT_IMAGE:
	case ANOMALY_NO_SIZE:
		break;
	default:
		anomalies_note(reader->anomalies,
			       reading->truncated ? ANOMALY_TRUNCATED : ANOMALY_CORRUPT,
			       reader->sheet->reads[reading->number]);
	}
}

/* What an image is, by the index or else by its bytes. */
static int note_image(const struct sheet_reader *reader, const struct reading *reading)
{
	const struct contact_sheet_source *source = reader->source;
	struct dataset_image image = reading->image;
	int r;

	if (dataset_is_unchecked(source->dataset))
		r = statistics_add_image(source->statistics, reader->sheet->reads[reading->number],
					 &reading->entry, &image, reader->anomalies);
	else
		r = dataset_image(source->dataset, reading->entry.inode, &image);
	if (r == 0 && reading->broken)
		note_undecoded(reader, reading, &image);
	return r;
}

static int image_done(const struct sheet_reader *reader, const struct reading *reading)
{
	int r = reading->error;

	if (r == 0 && reading->unread)
		anomalies_note_unread(reader->anomalies, reading->unread,
				      reader->sheet->reads[reading->number]);
	if (r == 0 && reading->looked)
		r = note_image(reader, reading);
	return r < 0 ? r : reader->source->done(reader->source->context, reading->entry.size);
}

static void put_images(struct sheet_reader *reader, struct pipeline *pipeline)
{
	const struct contact_sheet *sheet = reader->sheet;

	while (reader->next < sheet->read_count) {
		struct reading *reading = &reader->ring[reader->next % INSIDE_COUNT];
		uint32_t number = sheet->reads[reader->next];
		struct dataset_entry entry = dataset_entry(reader->source->dataset, number);
		bool shown = reader->picture < sheet->count &&
			     sheet->pictures[reader->picture].entry == number;

		if (!pipeline_has_room(pipeline, entry.size))
			return;
		*reading = (struct reading){.number = reader->next++, .entry = entry};
		reading->picture = shown ? &sheet->pictures[reader->picture++] : NULL;
		batch_ahead_begin(reader->ahead, reading->number);
		pipeline_put(pipeline, reading, entry.size);
	}
}

static int read_images(struct sheet_reader *reader)
{
	const struct pipeline_params params = {.workers = batch_scan_jobs(0),
					       .slots = INSIDE_COUNT,
					       .bytes = INSIDE,
					       .work = work_on_image,
					       .context = reader};
	const struct reading *reading;
	struct pipeline *pipeline;
	int r = pipeline_new(&params, &pipeline);

	if (r < 0)
		return r;
	do {
		put_images(reader, pipeline);
		reading = pipeline_take(pipeline);
		if (reading)
			r = image_done(reader, reading);
	} while (r == 0 && reading);
	pipeline_free(pipeline);
	return r;
}

int contact_sheet_read(struct contact_sheet *sheet, const struct contact_sheet_source *source,
		       struct anomalies *anomalies)
{
	struct sheet_reader reader = {.sheet = sheet, .source = source, .anomalies = anomalies};
	SCOPE_FREE struct reading *ring = calloc(INSIDE_COUNT, sizeof(*ring));
	int r = ring ? batch_ahead_new(source->dataset, sheet->reads, sheet->read_count,
				       &reader.ahead)
		     : -ENOMEM;

	if (r < 0)
		return r;
	reader.ring = ring;
	r = read_images(&reader);
	batch_ahead_free(reader.ahead);
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
