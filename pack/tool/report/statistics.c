#include "pack/tool/report/statistics.h"

#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/image/image.h"
#include <math.h>
#include <string.h>

#define HEADER_MOST (4 * MIB) /* no header is longer */
#define FAR	    64	      /* times the median area: 8 times its side */
#define ELONGATED   4	      /* ratio of the sides */
#define UNEVEN	    10	      /* times the files of the smallest class */

void statistics_free(struct statistics *statistics)
{
	if (!statistics)
		return;
	free(statistics->images);
	free(statistics->entries);
	buf_release(&statistics->sized);
	free(statistics);
}

static void scope_statistics(struct statistics **statistics)
{
	statistics_free(*statistics);
}

uint32_t statistics_label(const struct classes *classes, uint32_t entry)
{
	uint32_t class = classes->of[entry];

	return class ? classes->list[class - 1].label : classes->label_count;
}

/* What the passes share. */
struct measuring {
	struct dataset *dataset;
	const struct classes *classes;
	struct statistics *statistics;
	struct anomalies *anomalies;
	uint8_t *head;	 /* HEADER_MOST bytes, once they are needed */
	uint64_t *bytes; /* of each image that has some */
};

struct sized {
	uint32_t width, height, entry;
};

static void release_measuring(struct measuring *measuring)
{
	free(measuring->head);
	free(measuring->bytes);
}

/* --- images ----------------------------------------------------------------------------- */

/* Reads the directory of a TIFF whose first bytes are in measuring->head. As dataset_read(). */
static ssize_t inspect_directory(struct measuring *measuring, uint32_t number,
				 struct dataset_image *image)
{
	uint8_t start[IMAGE_START], *directory = measuring->head;
	ssize_t n;

	memcpy(start, measuring->head, IMAGE_START);
	n = dataset_read(measuring->dataset, number, directory, IMAGE_DIRECTORY,
			 image_directory(start, IMAGE_START));
	if (n > 0)
		image_inspect_directory(start, directory, (size_t)n, image);
	return n;
}

/* What made the dataset may have looked at too little: the metadata of a camera, or a profile, may
 * be long, and a TIFF often has its size at the end. */
static int inspect_again(struct measuring *measuring, uint32_t number, struct dataset_image *image)
{
	ssize_t n;

	if (!measuring->head)
		measuring->head = malloc(HEADER_MOST);
	if (!measuring->head)
		return -ENOMEM;
	n = dataset_read(measuring->dataset, number, measuring->head, HEADER_MOST, 0);
	if (n >= 0)
		image_inspect(measuring->head, (size_t)n, image);
	if (n >= IMAGE_START && image->kind == IMAGE_TIFF && image->width == 0)
		n = inspect_directory(measuring, number, image);
	if (n < 0 && n != -ENOMEM)
		anomalies_note_unread(measuring->anomalies, (int)n, number);
	return n == -ENOMEM ? -ENOMEM : 0;
}

static int image_of(struct measuring *measuring, uint32_t number, const struct dataset_entry *entry,
		    struct dataset_image *ret)
{
	int r = dataset_image(measuring->dataset, entry->inode, ret);

	if (r < 0 || ret->kind == IMAGE_UNKNOWN || ret->width || entry->size <= IMAGE_HEAD ||
	    dataset_is_unchecked(measuring->dataset))
		return r;
	return inspect_again(measuring, number, ret);
}

int statistics_add_image(struct statistics *statistics, uint32_t number,
			 const struct dataset_entry *entry, const struct dataset_image *image,
			 struct anomalies *anomalies)
{
	enum anomaly anomaly = anomaly_of_file(entry, image);
	const struct sized sized = {
		.width = image->width, .height = image->height, .entry = number};

	if (anomaly != ANOMALY_NONE)
		anomalies_note(anomalies, anomaly, number);
	if (image->width == 0 || image->height == 0)
		return 0;
	return buf_add(&statistics->sized, &sized, sizeof(sized));
}

static int count_image(struct measuring *measuring, uint32_t number,
		       const struct dataset_entry *entry, const struct dataset_image *image)
{
	struct statistics *statistics = measuring->statistics;

	statistics->entries[statistics->image_count++] = number;
	statistics->images[statistics_label(measuring->classes, number)]++;
	statistics->image_bytes += entry->size;
	if (entry->size)
		measuring->bytes[statistics->bytes.count++] = entry->size;
	if (entry->size && dataset_is_unchecked(measuring->dataset))
		return 0;
	return statistics_add_image(statistics, number, entry, image, measuring->anomalies);
}

static int visit_entry(struct measuring *measuring, uint32_t number)
{
	struct dataset_entry entry = dataset_entry(measuring->dataset, number);
	struct dataset_image image;
	int r = 0;

	if (entry.kind == FORMAT_SYMLINK) {
		enum anomaly anomaly = anomaly_of_link(measuring->dataset, number);

		if (anomaly != ANOMALY_NONE)
			anomalies_note(measuring->anomalies, anomaly, number);
	} else if (format_is_file(entry.kind) || entry.kind == FORMAT_HARDLINK) {
		r = image_of(measuring, number, &entry, &image);
		if (r == 0 && anomaly_is_image(&entry, &image))
			r = count_image(measuring, number, &entry, &image);
	}
	return r;
}

/* --- sizes ------------------------------------------------------------------------------ */

static unsigned bin_of(double value, unsigned bins)
{
	double at = floor(log2(value) * STATISTICS_BINS + 1e-9);

	return at < 0 ? 0 : at < bins ? (unsigned)at : bins - 1;
}

static void note_extremes(struct anomalies *anomalies, const struct sized *image, double median)
{
	double area = (double)image->width * image->height;

	if (area * FAR < median)
		anomalies_note(anomalies, ANOMALY_TINY, image->entry);
	if (area > median * FAR)
		anomalies_note(anomalies, ANOMALY_HUGE, image->entry);
	if (image->width > (uint64_t)ELONGATED * image->height)
		anomalies_note(anomalies, ANOMALY_WIDE, image->entry);
	if (image->height > (uint64_t)ELONGATED * image->width)
		anomalies_note(anomalies, ANOMALY_HIGH, image->entry);
}

int statistics_measure(struct statistics *statistics, struct anomalies *anomalies)
{
	const struct sized *sized = BUF_ITEMS(&statistics->sized, const struct sized);
	uint64_t count = BUF_COUNT(&statistics->sized, *sized);
	SCOPE_FREE uint64_t *values = malloc((count + 1) * sizeof(*values));
	double median;

	if (!values)
		return -ENOMEM;
	statistics->sides.count = count;
	if (count == 0)
		return 0;
	for (uint64_t i = 0; i < count; i++)
		values[i] = sized[i].width;
	statistics->sides.width = range_of(values, count);
	for (uint64_t i = 0; i < count; i++)
		values[i] = sized[i].height;
	statistics->sides.height = range_of(values, count);
	median = (double)statistics->sides.width.median * (double)statistics->sides.height.median;
	for (uint64_t i = 0; i < count; i++) {
		const struct sized *image = &sized[i];
		double aspect = 256.0 * image->width / image->height;

		statistics->sides.cells[bin_of(image->height, STATISTICS_SIDE)]
				       [bin_of(image->width, STATISTICS_SIDE)]++;
		statistics->sides.aspects[bin_of(aspect, STATISTICS_ASPECT)]++;
		note_extremes(anomalies, image, median);
	}
	buf_release(&statistics->sized);
	return 0;
}

static void measure_bytes(const struct measuring *measuring)
{
	struct statistics *statistics = measuring->statistics;
	const uint64_t *bytes = measuring->bytes;
	uint64_t count = statistics->bytes.count;

	statistics->bytes.range = range_of(measuring->bytes, count);
	statistics->bytes.p99 = count ? bytes[count - 1 - count / 100] : 0;
	for (uint64_t i = 0; i < count; i++)
		statistics->bytes.bins[bin_of((double)bytes[i], STATISTICS_BYTES)]++;
}

/* --- classes ---------------------------------------------------------------------------- */

/* If ImageFolder takes no file at all, the dataset is of another kind. */
static void note_classes(const struct summary *summary, struct anomalies *anomalies)
{
	const struct classes *classes = &summary->classes;
	uint64_t samples = 0;

	for (uint32_t i = 0; i < classes->count; i++)
		samples += classes->list[i].samples;
	for (uint32_t i = 0; samples && i < classes->count; i++)
		if (classes->list[i].samples == 0)
			anomalies_note(anomalies, ANOMALY_EMPTY_CLASS, classes->list[i].entry);
	for (uint32_t i = 0; i < classes->label_count; i++) {
		const struct class_label *label = &classes->labels[i];

		if (label->count < classes->split_count)
			anomalies_note(anomalies, ANOMALY_MISSING_LABEL, label->entry);
	}
	for (uint32_t i = 0; i < classes->split_count; i++)
		if (summary->class_sizes[i].imbalance >= UNEVEN)
			anomalies_note(anomalies, ANOMALY_IMBALANCE, classes->splits[i].entry);
}

/* --- the interface ---------------------------------------------------------------------- */

static int measure_images(struct measuring *measuring)
{
	struct statistics *statistics = measuring->statistics;
	uint32_t entries = dataset_entries(measuring->dataset);
	int r = 0;

	statistics->images =
		calloc(measuring->classes->label_count + (size_t)1, sizeof(*statistics->images));
	statistics->entries = malloc(entries * sizeof(*statistics->entries));
	measuring->bytes = malloc(entries * sizeof(*measuring->bytes));
	if (!statistics->images || !statistics->entries || !measuring->bytes)
		return -ENOMEM;
	for (uint32_t number = 0; r == 0 && number < entries; number++)
		r = visit_entry(measuring, number);
	if (r == 0)
		measure_bytes(measuring);
	return r;
}

int statistics_new(struct dataset *dataset, const struct summary *summary,
		   struct anomalies *anomalies, struct statistics **ret)
{
	SCOPE(scope_statistics) struct statistics *statistics = calloc(1, sizeof(*statistics));
	SCOPE(release_measuring)
	struct measuring measuring = {.dataset = dataset,
				      .classes = &summary->classes,
				      .statistics = statistics,
				      .anomalies = anomalies};
	int r = statistics ? measure_images(&measuring) : -ENOMEM;

	if (r < 0)
		return r;
	note_classes(summary, anomalies);
	*ret = steal_ptr(&statistics);
	return 0;
}

/* --- JSON ------------------------------------------------------------------------------- */

/* [[bin, count], ...] of those that count anything. */
static void add_bins(struct json *json, const char *name, const uint64_t *bins, unsigned count)
{
	json_array(json, name);
	for (unsigned i = 0; i < count; i++) {
		if (bins[i] == 0)
			continue;
		json_array(json, NULL);
		json_u64(json, NULL, i);
		json_u64(json, NULL, bins[i]);
		json_end(json);
	}
	json_end(json);
}

/* [[bin of the width, bin of the height, count], ...] */
static void add_cells(struct json *json, const struct statistics *statistics)
{
	json_array(json, "cells");
	for (unsigned y = 0; y < STATISTICS_SIDE; y++)
		for (unsigned x = 0; x < STATISTICS_SIDE; x++) {
			if (statistics->sides.cells[y][x] == 0)
				continue;
			json_array(json, NULL);
			json_u64(json, NULL, x);
			json_u64(json, NULL, y);
			json_u64(json, NULL, statistics->sides.cells[y][x]);
			json_end(json);
		}
	json_end(json);
}

void statistics_json(const struct statistics *statistics, struct json *json)
{
	json_u64(json, "count", statistics->image_count);
	json_u64(json, "bins_of_factor_two", STATISTICS_BINS);
	json_object(json, "bytes");
	json_u64(json, "count", statistics->bytes.count);
	range_json(&statistics->bytes.range, "range", json);
	json_u64(json, "p99", statistics->bytes.p99);
	add_bins(json, "bins", statistics->bytes.bins, STATISTICS_BYTES);
	json_end(json);
	json_object(json, "sides");
	json_u64(json, "count", statistics->sides.count);
	range_json(&statistics->sides.width, "width", json);
	range_json(&statistics->sides.height, "height", json);
	add_cells(json, statistics);
	add_bins(json, "aspects", statistics->sides.aspects, STATISTICS_ASPECT);
	json_end(json);
}
