#include "pack/tool/read/summary.h"

#include "base/scope.h"
#include "base/search.h"
#include "pack/image_kind.h"
#include "pack/options.h"
#include "pack/tool/image/transform.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STRAIGHT (1 * MIB) /* a gap up to this needs no seek */

/* --- the classes ------------------------------------------------------------------------- */

void classes_release(struct classes *classes)
{
	free(classes->splits);
	free(classes->list);
	free(classes->of);
	*classes = (struct classes){0};
}

/* As torchvision.datasets.folder.IMG_EXTENSIONS. */
bool classes_takes(const char *name, size_t len)
{
	enum format_image kind = image_named(name, len);

	return kind != IMAGE_UNKNOWN && kind != IMAGE_GIF;
}

/* --- splits ----------------------------------------------------------------------------- */

/* What operating systems and tools leave behind in folders. */
static bool is_litter(const struct dataset_child *child)
{
	static const char *const names[] = {"__MACOSX", "Thumbs.db", "desktop.ini"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (child->name_len == strlen(names[i]) &&
		    memcmp(child->name, names[i], child->name_len) == 0)
			return true;
	return child->name[0] == '.';
}

/* "train", "val2017", "test_images"; not "valley". */
static bool is_split_name(const char *name, size_t len)
{
	static const char *const words[] = {"train", "training",   "val",    "valid",
					    "dev",   "validation", "test",   "testing",
					    "eval",  "evaluation", "holdout"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		if (len >= n && strncasecmp(name, words[i], n) == 0 &&
		    (len == n || !isalpha((unsigned char)name[n])))
			return true;
	}
	return false;
}

/* Finds the splits among the top-level directories, by the rule in the header. `ret` has room for
 * all of them twice. Returns how many there are; 0: none. */
static uint32_t find_splits(const struct dataset *dataset, const struct dataset_entry *root,
			    uint32_t *ret)
{
	uint32_t all = 0, pure = 0, named = 0, *split_names = ret + root->children;

	for (uint32_t number = root->first_child; number < root->first_child + root->children;
	     number++) {
		const struct dataset_entry top = dataset_entry(dataset, number);
		struct dataset_child child = dataset_child(dataset, number);
		bool folders = false, files = false, images = false; /* that lie in it */

		if (child.kind != FORMAT_DIRECTORY || is_litter(&child))
			continue;
		for (uint32_t i = 0; i < top.children; i++) {
			child = dataset_child(dataset, top.first_child + i);
			folders |= child.kind == FORMAT_DIRECTORY;
			if (child.kind == FORMAT_DIRECTORY || is_litter(&child))
				continue;
			files = true;
			images |= classes_takes(child.name, child.name_len);
		}
		pure += folders && !files;
		ret[all++] = number;
		if (folders && !images && is_split_name(top.name, top.name_len))
			split_names[named++] = number;
	}
	if (pure == all)
		return all;
	memcpy(ret, split_names, named * sizeof(*ret));
	return named;
}

/* Appends the directories in `directory` as the classes of one more split. */
static void add_split(const struct dataset *dataset, uint32_t directory, struct classes *classes)
{
	struct class_split *split = &classes->splits[classes->split_count];
	const struct dataset_entry here = dataset_entry(dataset, directory);
	struct dataset_entry child;

	*split = (struct class_split){
		.name = here.name, .name_len = here.name_len, .first = classes->count};
	for (uint32_t number = here.first_child; number < here.first_child + here.children;
	     number++) {
		child = dataset_entry(dataset, number);
		if (child.kind != FORMAT_DIRECTORY)
			continue;
		classes->list[classes->count++] = (struct class){.name = child.name,
								 .name_len = child.name_len,
								 .split = classes->split_count};
		classes->of[number] = classes->count;
	}
	split->count = classes->count - split->first;
	classes->split_count++;
}

static int list_classes(const struct dataset *dataset, struct classes *classes)
{
	SCOPE_FREE uint32_t *splits = NULL;
	struct dataset_entry root = dataset_entry(dataset, DATASET_ROOT);
	size_t room = 1; /* malloc(0) may be NULL */
	uint32_t count;

	splits = calloc(2 * (size_t)root.children + 1, sizeof(*splits));
	if (!splits)
		return -ENOMEM;
	count = find_splits(dataset, &root, splits);
	classes->split = count > 0;
	if (count == 0)
		splits[count++] = DATASET_ROOT;
	for (uint32_t i = 0; i < count; i++)
		room += dataset_entry(dataset, splits[i]).children;
	classes->splits = calloc(count, sizeof(*classes->splits));
	classes->list = calloc(room, sizeof(*classes->list));
	classes->of = calloc(dataset_entries(dataset), sizeof(*classes->of));
	if (!classes->splits || !classes->list || !classes->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		add_split(dataset, splits[i], classes);
	return 0;
}

/* --- files ------------------------------------------------------------------------------ */

int classes_new(const struct dataset *dataset, struct classes *ret)
{
	SCOPE(classes_release) struct classes classes = {0};
	int r = list_classes(dataset, &classes);

	/* A directory comes before its children, so one pass reaches everything below a class. */
	for (uint32_t number = 1; r == 0 && number < dataset_entries(dataset); number++) {
		const struct dataset_entry entry = dataset_entry(dataset, number);
		uint64_t bytes = entry.kind == FORMAT_SYMLINK ? 0 : entry.size;
		struct class *class;

		if (classes.of[number] == 0)
			classes.of[number] = classes.of[entry.parent];
		if (classes.of[number] == 0 || entry.kind == FORMAT_DIRECTORY)
			continue;
		class = &classes.list[classes.of[number] - 1];
		class->files++;
		class->bytes += bytes;
		classes.splits[class->split].files++;
		classes.splits[class->split].bytes += bytes;
	}
	if (r < 0)
		return r;
	*ret = classes;
	classes = (struct classes){0};
	return 0;
}

/* Sorts the values. All are 0 if there are none. */
static struct range range_of(uint64_t *values, uint64_t count)
{
	if (count == 0)
		return (struct range){0};
	qsort(values, count, sizeof(*values), search_compare64);
	return (struct range){values[0], values[count / 2], values[count - 1]};
}

int classes_sizes(const struct classes *classes, const struct class_split *split,
		  struct class_sizes *ret)
{
	SCOPE_FREE uint64_t *counts = calloc(split->count + 1, sizeof(*counts));
	struct class_sizes sizes = {0};

	if (!counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < split->count; i++)
		if (classes->list[split->first + i].files)
			counts[sizes.filled++] = classes->list[split->first + i].files;
	sizes.empty = split->count - sizes.filled;
	sizes.files = range_of(counts, sizes.filled);
	if (sizes.filled)
		sizes.imbalance = (double)sizes.files.max / (double)sizes.files.min;
	*ret = sizes;
	return 0;
}

/* --- the figures ------------------------------------------------------------------------- */

void summary_release(struct summary *summary)
{
	buf_release(&summary->options);
	classes_release(&summary->classes);
	free(summary->class_sizes);
	*summary = (struct summary){0};
}

double summary_overhead(const struct dataset_info *info)
{
	return 100.0 * ((double)info->pack_bytes - (double)info->super->bytes) /
	       (double)info->super->bytes;
}

/* --- files ------------------------------------------------------------------------------ */

/* The widths and heights of each kind, uint64_t. */
struct sides {
	struct buf widths[IMAGE_KINDS], heights[IMAGE_KINDS];
};

static void release_sides(struct sides *sides)
{
	for (unsigned kind = 0; kind < IMAGE_KINDS; kind++) {
		buf_release(&sides->widths[kind]);
		buf_release(&sides->heights[kind]);
	}
}

/* The number in the line "name=number" of the options; 0: there is none. */
static uint32_t option_number(const struct dataset_info *info, const char *name)
{
	char number[16];
	size_t len;
	const char *value = options_find(info->options, info->options_len, name, &len);

	if (!value)
		return 0;
	snprintf(number, sizeof(number), "%.*s", (int)len, value);
	return (uint32_t)strtoul(number, NULL, 10);
}

static int measure_files(struct dataset *dataset, struct summary *summary)
{
	SCOPE(release_sides) struct sides sides = {0};
	const struct dataset_info *info = dataset_info(dataset);
	const struct transform asked = {.resize = option_number(info, "resize"),
					.max_side = option_number(info, "max-side")};
	struct dataset_entry entry;
	struct dataset_image image, resized;
	uint64_t width, height;
	int r = 0;

	for (uint32_t number = 0; r == 0 && number < dataset_entries(dataset); number++) {
		entry = dataset_entry(dataset, number);
		if (!format_is_file(entry.kind))
			continue;
		if (entry.kind == FORMAT_ALIAS) {
			summary->aliases++;
			summary->alias_bytes += entry.size;
		} else if (entry.kind == FORMAT_BASE) {
			summary->based++;
			summary->based_bytes += entry.size;
		}
		r = dataset_image(dataset, number, &image);
		if (r < 0)
			return r;
		summary->images[image.kind].count++;
		width = resized.width = image.width;
		height = resized.height = image.height;
		transform_size(&asked, &resized.width, &resized.height);
		summary->not_resized +=
			resized.width != image.width || resized.height != image.height;
		if (width == 0 || height == 0)
			continue;
		buf_add(&sides.widths[image.kind], &width, sizeof(width));
		r = buf_add(&sides.heights[image.kind], &height, sizeof(height));
		if (r == 0)
			r = buf_error(&sides.widths[image.kind]);
	}
	for (unsigned kind = 0; r == 0 && kind < IMAGE_KINDS; kind++) {
		struct summary_images *images = &summary->images[kind];

		images->sized = BUF_COUNT(&sides.widths[kind], uint64_t);
		images->width = range_of(BUF_ITEMS(&sides.widths[kind], uint64_t), images->sized);
		images->height = range_of(BUF_ITEMS(&sides.heights[kind], uint64_t), images->sized);
	}
	return r;
}

int summary_new(struct dataset *dataset, struct summary *ret)
{
	SCOPE(summary_release) struct summary summary = {0};
	const struct dataset_info *info = dataset_info(dataset);
	struct classes *classes = &summary.classes;
	uint64_t files = 0, jumps = 0, end = 0;
	int r = options_made_with(info->options, info->options_len, dataset_is_unchecked(dataset),
				  &summary.options);

	if (r == 0)
		r = classes_new(dataset, classes);
	if (r < 0)
		return r;
	summary.class_sizes = calloc(classes->split_count, sizeof(*summary.class_sizes));
	if (!summary.class_sizes)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < classes->split_count; i++)
		r = classes_sizes(classes, &classes->splits[i], &summary.class_sizes[i]);
	if (r == 0)
		r = measure_files(dataset, &summary);
	if (r == 0)
		r = dataset_content_id(dataset, summary.content_id);
	if (r < 0 && r != -ENODATA)
		return r;
	for (uint64_t number = 0; number < dataset_extents(dataset); number++) {
		const struct dataset_extent extent = dataset_extent(dataset, number);
		enum format_kind kind = dataset_child(dataset, extent.entry).kind;

		if (kind == FORMAT_ALIAS || kind == FORMAT_BASE)
			continue;
		if (extent.from == 0 && files++ > 0)
			jumps += extent.offset + STRAIGHT < end || extent.offset > end + STRAIGHT;
		end = extent.offset + extent.size;
	}
	summary.fragmentation = files ? (double)jumps / (double)files : 0;
	*ret = summary;
	summary = (struct summary){0};
	return 0;
}

/* --- JSON ------------------------------------------------------------------------------- */

/* {"min": 1, "median": 2, "max": 4} */
static void range_json(const struct range *range, const char *name, struct json *json)
{
	json_object(json, name);
	json_u64(json, "min", range->min);
	json_u64(json, "median", range->median);
	json_u64(json, "max", range->max);
	json_end(json);
}

static void add_class_sizes(struct json *json, const struct class_sizes *sizes)
{
	json_u64(json, "empty_classes", sizes->empty);
	if (sizes->filled == 0)
		return;
	range_json(&sizes->files, "class_files", json);
	json_double(json, "imbalance", sizes->imbalance);
}

static void add_splits(struct json *json, const struct summary *summary)
{
	const struct classes *classes = &summary->classes;

	json_u64(json, "classes", classes->count);
	if (!classes->split)
		add_class_sizes(json, &summary->class_sizes[0]);
	json_array(json, "splits");
	for (uint32_t i = 0; classes->split && i < classes->split_count; i++) {
		const struct class_split *split = &classes->splits[i];

		json_object(json, NULL);
		json_bytes(json, "name", split->name, split->name_len);
		json_u64(json, "classes", split->count);
		json_u64(json, "files", split->files);
		json_u64(json, "bytes", split->bytes);
		add_class_sizes(json, &summary->class_sizes[i]);
		json_end(json);
	}
	json_end(json);
}

static void add_class_table(struct json *json, const struct classes *classes)
{
	json_array(json, "class_table");
	for (uint32_t i = 0; i < classes->count; i++) {
		const struct class *class = &classes->list[i];
		const struct class_split *split = &classes->splits[class->split];

		json_object(json, NULL);
		if (classes->split)
			json_bytes(json, "split", split->name, split->name_len);
		json_bytes(json, "name", class->name, class->name_len);
		json_u64(json, "files", class->files);
		json_u64(json, "bytes", class->bytes);
		json_end(json);
	}
	json_end(json);
}

void summary_json(const struct dataset_info *info, const struct summary *summary, bool class_table,
		  struct json *json)
{
	const struct format_super *super = info->super;

	json_string(json, "id", info->id);
	if (summary->content_id[0])
		json_string(json, "content_id", summary->content_id);
	json_u64(json, "format_version", super->version);
	json_u64(json, "files", super->files);
	json_u64(json, "directories", super->directories);
	json_u64(json, "symlinks", super->symlinks);
	json_u64(json, "hardlinks", super->hardlinks);
	json_u64(json, "left_out", super->left_out);
	json_u64(json, "bytes", super->bytes);
	json_u64(json, "pack_bytes", info->pack_bytes);
	if (super->bytes)
		json_double(json, "overhead_percent", summary_overhead(info));
	json_u64(json, "deduped", summary->aliases);
	json_u64(json, "deduped_bytes", summary->alias_bytes);
	if (summary->based) {
		json_u64(json, "based", summary->based);
		json_u64(json, "based_bytes", summary->based_bytes);
	}
	add_splits(json, summary);
	json_object(json, "images");
	for (unsigned kind = 1; kind < IMAGE_KINDS; kind++) {
		const struct summary_images *images = summary->images + kind;

		if (images->count == 0)
			continue;
		json_object(json, image_kind_name(kind));
		json_u64(json, "count", images->count);
		if (images->sized) {
			range_json(&images->width, "width", json);
			range_json(&images->height, "height", json);
		}
		json_end(json);
	}
	json_end(json);
	json_u64(json, "other_files", summary->images[IMAGE_UNKNOWN].count);
	json_bytes(json, "options", summary->options.data, summary->options.len);
	if (summary->not_resized)
		json_u64(json, "not_resized", summary->not_resized);
	json_double(json, "fragmentation", summary->fragmentation);
	json_bool(json, "relocated", info->relocated);
	if (class_table)
		add_class_table(json, &summary->classes);
}
