#include "pack/tool/read/classes.h"

#include "base/scope.h"
#include "pack/tool/image/image.h"
#include <string.h>

void classes_release(struct classes *classes)
{
	free(classes->splits);
	free(classes->list);
	free(classes->labels);
	free(classes->by_label);
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

static uint32_t count_directories(const struct dataset *dataset, uint32_t directory)
{
	struct dataset_entry here;
	struct dataset_child child;
	uint32_t count = 0;

	dataset_entry(dataset, directory, &here);
	for (uint32_t i = 0; i < here.children; i++) {
		dataset_child(dataset, here.first_child + i, &child);
		count += child.kind == FORMAT_DIRECTORY;
	}
	return count;
}

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

/* Appends the directories in `directory` as the classes of a further split. */
static void add_split(const struct dataset *dataset, uint32_t directory, struct classes *classes)
{
	struct class_split *split = &classes->splits[classes->split_count];
	struct dataset_entry here, child;

	dataset_entry(dataset, directory, &here);
	*split = (struct class_split){
		.name = here.name, .name_len = here.name_len, .first = classes->count};
	for (uint32_t number = here.first_child; number < here.first_child + here.children;
	     number++) {
		dataset_entry(dataset, number, &child);
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

static int allocate(const struct dataset *dataset, struct classes *classes)
{
	uint32_t splits = 1, count = count_directories(dataset, DATASET_ROOT);
	struct dataset_entry root, top;

	if (classes->split) {
		splits = count;
		count = 0;
		dataset_entry(dataset, DATASET_ROOT, &root);
		for (uint32_t i = 0; i < root.children; i++) {
			dataset_entry(dataset, root.first_child + i, &top);
			count += top.kind == FORMAT_DIRECTORY ? top.children : 0;
		}
	}
	/* malloc(0) may be NULL. */
	classes->splits = calloc(splits, sizeof(*classes->splits));
	classes->list = calloc(count + 1, sizeof(*classes->list));
	classes->labels = calloc(count + 1, sizeof(*classes->labels));
	classes->by_label = calloc(count + 1, sizeof(*classes->by_label));
	classes->of = calloc(dataset_entries(dataset), sizeof(*classes->of));
	return classes->splits && classes->list && classes->labels && classes->by_label &&
			       classes->of
		       ? 0
		       : -ENOMEM;
}

static void add_splits(const struct dataset *dataset, struct classes *classes)
{
	struct dataset_entry root, top;

	if (!classes->split) {
		add_split(dataset, DATASET_ROOT, classes);
		return;
	}
	dataset_entry(dataset, DATASET_ROOT, &root);
	for (uint32_t i = 0; i < root.children; i++) {
		dataset_entry(dataset, root.first_child + i, &top);
		if (top.kind == FORMAT_DIRECTORY)
			add_split(dataset, root.first_child + i, classes);
	}
}

/* --- files ------------------------------------------------------------------------------ */

static void count_file(const struct dataset_entry *entry, struct classes *classes, uint32_t class)
{
	struct class *here = &classes->list[class];
	uint64_t bytes = entry->kind == FORMAT_SYMLINK ? 0 : entry->size;

	here->files++;
	here->bytes += bytes;
	here->samples += classes_takes(entry->name, entry->name_len);
	classes->splits[here->split].files++;
	classes->splits[here->split].bytes += bytes;
}

/* A directory comes before its children, so that one pass reaches everything below a class. */
static void count_files(const struct dataset *dataset, struct classes *classes)
{
	struct dataset_entry entry;

	for (uint32_t number = 1; number < dataset_entries(dataset); number++) {
		dataset_entry(dataset, number, &entry);
		if (classes->of[number] == 0)
			classes->of[number] = classes->of[entry.parent];
		if (classes->of[number] && entry.kind != FORMAT_DIRECTORY)
			count_file(&entry, classes, classes->of[number] - 1);
	}
}

/* --- labels ----------------------------------------------------------------------------- */

static int compare_names(const struct class *a, const struct class *b)
{
	size_t common = a->name_len < b->name_len ? a->name_len : b->name_len;
	int order = memcmp(a->name, b->name, common);

	return order ? order : (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

static int compare_classes(const void *a, const void *b, void *list)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_names((const struct class *)list + x, (const struct class *)list + y);

	return order ? order : (x > y) - (x < y);
}

static void find_labels(struct classes *classes)
{
	struct class_label *label = NULL;

	for (uint32_t i = 0; i < classes->count; i++)
		classes->by_label[i] = i;
	qsort_r(classes->by_label, classes->count, sizeof(*classes->by_label), compare_classes,
		classes->list);
	for (uint32_t i = 0; i < classes->count; i++) {
		struct class *class = &classes->list[classes->by_label[i]];

		if (i == 0 || compare_names(class, &classes->list[classes->by_label[i - 1]])) {
			label = &classes->labels[classes->label_count++];
			*label = (struct class_label){
				.name = class->name, .name_len = class->name_len, .first = i};
		}
		label->count++;
		label->files += class->files;
		label->bytes += class->bytes;
		class->label = classes->label_count - 1;
	}
}

/* --- the face --------------------------------------------------------------------------- */

int classes_new(const struct dataset *dataset, struct classes *ret)
{
	SCOPE(classes_release) struct classes classes = {.split = has_splits(dataset)};
	int r = allocate(dataset, &classes);

	if (r < 0)
		return r;
	add_splits(dataset, &classes);
	count_files(dataset, &classes);
	find_labels(&classes);
	*ret = classes;
	classes = (struct classes){0};
	return 0;
}

static int compare_counts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
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
	if (sizes.filled) {
		qsort(counts, sizes.filled, sizeof(*counts), compare_counts);
		sizes.least = counts[0];
		sizes.median = counts[sizes.filled / 2];
		sizes.most = counts[sizes.filled - 1];
		sizes.imbalance = (double)sizes.most / (double)sizes.least;
	}
	*ret = sizes;
	return 0;
}
