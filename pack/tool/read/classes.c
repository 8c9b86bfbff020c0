#include "pack/tool/read/classes.h"

#include "base/scope.h"
#include "base/search.h"
#include "pack/image_kind.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

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

/* --- ranges ----------------------------------------------------------------------------- */

struct range range_of(uint64_t *values, uint64_t count)
{
	if (count == 0)
		return (struct range){0};
	qsort(values, count, sizeof(*values), search_compare64);
	return (struct range){values[0], values[count / 2], values[count - 1]};
}

void range_json(const struct range *range, const char *name, struct json *json)
{
	json_object(json, name);
	json_u64(json, "min", range->min);
	json_u64(json, "median", range->median);
	json_u64(json, "max", range->max);
	json_end(json);
}
