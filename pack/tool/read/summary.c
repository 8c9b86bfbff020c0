#include "pack/tool/read/summary.h"

#include "base/scope.h"

#define STRAIGHT (1 * MIB) /* a gap up to this is no seek */

void summary_release(struct summary *summary)
{
	classes_release(&summary->classes);
	free(summary->class_sizes);
	*summary = (struct summary){0};
}

double summary_overhead(const struct dataset_info *info)
{
	return 100.0 * ((double)info->pack_bytes - (double)info->super->bytes) /
	       (double)info->super->bytes;
}

/* --- classes ---------------------------------------------------------------------------- */

static int measure_classes(const struct dataset *dataset, struct summary *summary)
{
	struct classes *classes = &summary->classes;
	int r = classes_new(dataset, classes);

	if (r < 0)
		return r;
	summary->class_sizes = calloc(classes->split_count, sizeof(*summary->class_sizes));
	if (!summary->class_sizes)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < classes->split_count; i++)
		r = classes_sizes(classes, &classes->splits[i], &summary->class_sizes[i]);
	return r;
}

/* --- images ----------------------------------------------------------------------------- */

int summary_image(struct dataset *dataset, uint32_t number, struct dataset_image *ret)
{
	int r = dataset_image(dataset, number, ret);

	if (r == 0 && (unsigned)ret->kind >= IMAGE_KINDS)
		ret->kind = IMAGE_UNKNOWN;
	return r;
}

/* Where the widths and heights of each kind are collected. */
struct sides {
	uint64_t *widths[IMAGE_KINDS], *heights[IMAGE_KINDS];
};

static void release_sides(struct sides *sides)
{
	for (unsigned kind = 0; kind < IMAGE_KINDS; kind++) {
		free(sides->widths[kind]);
		free(sides->heights[kind]);
	}
}

/* Counts the images; where `sides` is given, fills it instead: there is room for the count. */
static int visit_images(struct dataset *dataset, struct summary *summary, struct sides *sides)
{
	uint64_t filled[IMAGE_KINDS] = {0};
	struct dataset_entry entry;
	struct dataset_image image;

	for (uint32_t number = 0; number < dataset_entries(dataset); number++) {
		int r;

		dataset_entry(dataset, number, &entry);
		if (!format_is_file(entry.kind))
			continue;
		r = summary_image(dataset, number, &image);
		if (r < 0)
			return r;
		if (!sides) {
			summary->images[image.kind].count++;
			summary->images[image.kind].sized += image.width && image.height;
		} else if (image.width && image.height) {
			sides->widths[image.kind][filled[image.kind]] = image.width;
			sides->heights[image.kind][filled[image.kind]++] = image.height;
		}
	}
	return 0;
}

static int measure_images(struct dataset *dataset, struct summary *summary)
{
	SCOPE(release_sides) struct sides sides = {0};
	int r = visit_images(dataset, summary, NULL);

	for (unsigned kind = 0; r == 0 && kind < IMAGE_KINDS; kind++) {
		sides.widths[kind] = calloc(summary->images[kind].sized + 1, sizeof(uint64_t));
		sides.heights[kind] = calloc(summary->images[kind].sized + 1, sizeof(uint64_t));
		if (!sides.widths[kind] || !sides.heights[kind])
			r = -ENOMEM;
	}
	if (r == 0)
		r = visit_images(dataset, summary, &sides);
	for (unsigned kind = 0; r == 0 && kind < IMAGE_KINDS; kind++) {
		struct summary_images *images = &summary->images[kind];

		range_of(sides.widths[kind], images->sized, &images->width);
		range_of(sides.heights[kind], images->sized, &images->height);
	}
	return r;
}

/* --- how the files lie ------------------------------------------------------------------ */

static void count_aliases(const struct dataset *dataset, struct summary *summary)
{
	struct dataset_entry entry;

	for (uint32_t number = 1; number < dataset_entries(dataset); number++) {
		dataset_entry(dataset, number, &entry);
		if (entry.kind == FORMAT_ALIAS) {
			summary->aliases++;
			summary->alias_bytes += entry.size;
		}
	}
}

static double measure_fragmentation(const struct dataset *dataset)
{
	uint64_t files = 0, jumps = 0, end = 0;
	struct dataset_extent extent;
	struct dataset_entry entry;

	for (uint64_t number = 0; number < dataset_extents(dataset); number++) {
		dataset_extent(dataset, number, &extent);
		dataset_entry(dataset, extent.entry, &entry);
		if (entry.kind == FORMAT_ALIAS)
			continue;
		if (extent.from == 0 && files++ > 0)
			jumps += extent.offset + STRAIGHT < end || extent.offset > end + STRAIGHT;
		end = extent.offset + extent.size;
	}
	return files ? (double)jumps / (double)files : 0;
}

int summary_new(struct dataset *dataset, struct summary *ret)
{
	SCOPE(summary_release) struct summary summary = {0};
	int r = measure_classes(dataset, &summary);

	if (r == 0)
		r = measure_images(dataset, &summary);
	if (r < 0)
		return r;
	count_aliases(dataset, &summary);
	summary.fragmentation = measure_fragmentation(dataset);
	*ret = summary;
	summary = (struct summary){0};
	return 0;
}
