#include "pack/tool/summary.h"

#include "base/scope.h"
#include <string.h>

#define STRAIGHT (1 * MIB) /* a gap up to this is no seek */

void summary_release(struct summary *summary)
{
	free(summary->splits);
	*summary = (struct summary){0};
}

double summary_overhead(const struct dataset_info *info)
{
	return 100.0 * ((double)info->pack_bytes - (double)info->super->bytes) /
	       (double)info->super->bytes;
}

/* --- classes and splits ----------------------------------------------------------------- */

static uint64_t count_directories(const struct dataset *dataset, uint32_t directory)
{
	struct dataset_entry here, child;
	uint64_t count = 0;

	dataset_entry(dataset, directory, &here);
	for (uint32_t i = 0; i < here.children; i++) {
		dataset_entry(dataset, here.first_child + i, &child);
		count += child.kind == FORMAT_DIRECTORY;
	}
	return count;
}

/* train/ and val/ hold classes, which are directories, and nothing else. */
static bool has_splits(const struct dataset *dataset)
{
	struct dataset_entry root, top;
	uint32_t directories = 0;

	dataset_entry(dataset, DATASET_ROOT, &root);
	for (uint32_t i = 0; i < root.children; i++) {
		dataset_entry(dataset, root.first_child + i, &top);
		if (top.kind != FORMAT_DIRECTORY)
			continue;
		directories++;
		if (top.children == 0 ||
		    count_directories(dataset, root.first_child + i) != top.children)
			return false;
	}
	return directories > 0;
}

/* Which split each entry is in, as its number + 1: a child's parent comes before it. */
static int count_split_files(const struct dataset *dataset, struct summary *summary)
{
	SCOPE_FREE uint32_t *split_of = calloc(dataset_entries(dataset), sizeof(*split_of));
	struct dataset_entry entry;
	uint32_t splits = 0;

	if (!split_of)
		return -ENOMEM;
	for (uint32_t number = 1; number < dataset_entries(dataset); number++) {
		dataset_entry(dataset, number, &entry);
		if (entry.parent != DATASET_ROOT)
			split_of[number] = split_of[entry.parent];
		else if (entry.kind == FORMAT_DIRECTORY)
			split_of[number] = ++splits;
		if (split_of[number] && entry.kind != FORMAT_DIRECTORY)
			summary->splits[split_of[number] - 1].files++;
	}
	return 0;
}

static int find_splits(const struct dataset *dataset, struct summary *summary)
{
	struct dataset_entry root, top;

	dataset_entry(dataset, DATASET_ROOT, &root);
	summary->splits = calloc(root.children, sizeof(*summary->splits));
	if (!summary->splits)
		return -ENOMEM;
	for (uint32_t i = 0; i < root.children; i++) {
		dataset_entry(dataset, root.first_child + i, &top);
		if (top.kind != FORMAT_DIRECTORY)
			continue;
		summary->splits[summary->split_count++] = (struct summary_split){
			.name = top.name, .name_len = top.name_len, .classes = top.children};
		summary->classes += top.children;
	}
	return count_split_files(dataset, summary);
}

/* --- images ----------------------------------------------------------------------------- */

/* Widths and heights of one kind, kept for the median. */
struct sides {
	uint32_t *widths, *heights;
	uint64_t count;
};

static void release_sides(struct sides *sides)
{
	free(sides->widths);
	free(sides->heights);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void find_range(uint32_t *values, uint64_t count, struct summary_range *ret)
{
	qsort(values, count, sizeof(*values), compare);
	*ret = (struct summary_range){
		.min = values[0], .median = values[count / 2], .max = values[count - 1]};
}

static bool is_file(const struct dataset_entry *entry)
{
	return entry->kind == FORMAT_FILE || entry->kind == FORMAT_SPLIT;
}

/* The kind of an entry's content; kinds of a later version count as unknown. */
static int image_of(struct dataset *dataset, uint32_t number, struct dataset_image *ret)
{
	int r = dataset_image(dataset, number, ret);

	if (r == 0 && (unsigned)ret->kind >= IMAGE_KINDS)
		ret->kind = IMAGE_UNKNOWN;
	return r;
}

static int count_images(struct dataset *dataset, struct summary *summary)
{
	struct dataset_entry entry;
	struct dataset_image image;
	int r;

	for (uint32_t number = 0; number < dataset_entries(dataset); number++) {
		dataset_entry(dataset, number, &entry);
		if (!is_file(&entry))
			continue;
		r = image_of(dataset, number, &image);
		if (r < 0)
			return r;
		summary->images[image.kind].count++;
		summary->images[image.kind].sized += image.width && image.height;
	}
	return 0;
}

static int measure_kind(struct dataset *dataset, enum format_image kind,
			struct summary_images *images)
{
	SCOPE(release_sides)
	struct sides sides = {.widths = calloc(images->sized, sizeof(uint32_t)),
			      .heights = calloc(images->sized, sizeof(uint32_t))};
	struct dataset_entry entry;
	struct dataset_image image;
	int r;

	if (!sides.widths || !sides.heights)
		return -ENOMEM;
	for (uint32_t number = 0; number < dataset_entries(dataset); number++) {
		dataset_entry(dataset, number, &entry);
		if (!is_file(&entry))
			continue;
		r = image_of(dataset, number, &image);
		if (r < 0)
			return r;
		if (image.kind != kind || !image.width || !image.height)
			continue;
		sides.widths[sides.count] = image.width;
		sides.heights[sides.count++] = image.height;
	}
	find_range(sides.widths, sides.count, &images->width);
	find_range(sides.heights, sides.count, &images->height);
	return 0;
}

static int measure_images(struct dataset *dataset, struct summary *summary)
{
	int r = count_images(dataset, summary);

	for (unsigned kind = 1; r == 0 && kind < IMAGE_KINDS; kind++)
		if (summary->images[kind].sized)
			r = measure_kind(dataset, (enum format_image)kind, summary->images + kind);
	return r;
}

/* --- how the files lie ------------------------------------------------------------------ */

static double measure_fragmentation(const struct dataset *dataset)
{
	uint64_t files = 0, jumps = 0, end = 0;
	struct dataset_extent extent;

	for (uint64_t number = 0; number < dataset_extents(dataset); number++) {
		dataset_extent(dataset, number, &extent);
		if (extent.from == 0 && files++ > 0)
			jumps += extent.offset + STRAIGHT < end || extent.offset > end + STRAIGHT;
		end = extent.offset + extent.size;
	}
	return files ? (double)jumps / (double)files : 0;
}

int summary_new(struct dataset *dataset, struct summary *ret)
{
	SCOPE(summary_release) struct summary summary = {0};
	int r = 0;

	if (has_splits(dataset))
		r = find_splits(dataset, &summary);
	else
		summary.classes = count_directories(dataset, DATASET_ROOT);
	if (r == 0)
		r = measure_images(dataset, &summary);
	if (r < 0)
		return r;
	summary.fragmentation = measure_fragmentation(dataset);
	*ret = summary;
	summary = (struct summary){0};
	return 0;
}
