#include "pack/tool/export/samples.h"

#include "base/scope.h"
#include "pack/tool/read/classes.h"
#include "pack/tool/work/ranked.h"
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

/* Marks of a folder. */
#define OUTSIDE	 0u
#define ROOT	 1u
#define OF_CLASS 2u /* and its number */

struct collector {
	struct samples *samples;
	const char *(*refuses)(const struct samples *samples, const struct dataset_entry *file);
	uint32_t *marks;    /* of each entry */
	struct buf folders; /* struct folder: those with samples */
	struct buf paths;   /* of these */
};

struct folder {
	uint32_t entry, class;
	size_t path; /* in paths; ended by NUL */
};

void samples_release(struct samples *samples)
{
	free(samples->list);
	free(samples->classes);
	free(samples->labels);
	labels_release(&samples->of_dataset);
	*samples = (struct samples){0};
}

static void collector_release(struct collector *collector)
{
	free(collector->marks);
	buf_release(&collector->folders);
	buf_release(&collector->paths);
}

/* Why a file is no sample, or NULL. */
static const char *why_not(const struct collector *collector, const struct dataset_entry *entry,
			   uint32_t mark)
{
	if (entry->kind == FORMAT_SYMLINK)
		return "a symbolic link";
	if (mark < OF_CLASS)
		return "not in the folder of a class";
	if (!classes_takes(entry->name, entry->name_len))
		return "not an image by its name";
	return collector->refuses ? collector->refuses(collector->samples, entry) : NULL;
}

static void note_other(struct samples *samples, uint32_t entry, const char *why)
{
	if (samples->other_count < SAMPLES_NAMED)
		samples->others[samples->other_count] = (struct sample_other){entry, why};
	samples->other_count++;
}

static int add_folder(struct collector *collector, uint32_t entry, uint32_t class)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct folder folder = {entry, class, collector->paths.len};
	int r = dataset_path(collector->samples->dataset, entry, &path);

	if (r == 0)
		r = buf_add(&collector->paths, path.data, path.len + 1);
	return r < 0 ? r : buf_add(&collector->folders, &folder, sizeof(folder));
}

/* Counts what is in a folder. */
static int look_into_folder(struct collector *collector, uint32_t number, uint32_t mark)
{
	struct samples *samples = collector->samples;
	const struct dataset_entry here = dataset_entry(samples->dataset, number);
	struct dataset_entry child;
	uint64_t before = samples->count;

	if (here.children == 0 && here.parent != samples->root)
		note_other(samples, number, "an empty folder");
	for (uint32_t i = here.first_child; i < here.first_child + here.children; i++) {
		const char *why;

		child = dataset_entry(samples->dataset, i);
		if (child.kind == FORMAT_DIRECTORY) {
			collector->marks[i] = mark == ROOT ? OF_CLASS + samples->class_count : mark;
			if (mark == ROOT)
				samples->classes[samples->class_count++] = i;
			continue;
		}
		why = why_not(collector, &child, mark);
		if (why)
			note_other(samples, i, why);
		else
			samples->count++;
	}
	return samples->count > before ? add_folder(collector, number, mark - OF_CLASS) : 0;
}

/* Sorts as `sorted(os.walk(folder))` does for each class in turn: by the whole path of a folder, so
 * a/b-c comes before a/b/c. */
static int compare_folders(const void *a, const void *b, void *paths)
{
	const struct folder *one = a, *other = b;

	if (one->class != other->class)
		return one->class < other->class ? -1 : 1;
	return strcmp((const char *)paths + one->path, (const char *)paths + other->path);
}

static void list_folder(struct collector *collector, const struct folder *folder, uint64_t *count)
{
	struct samples *samples = collector->samples;
	const struct dataset_entry here = dataset_entry(samples->dataset, folder->entry);
	struct dataset_entry child;

	for (uint32_t i = here.first_child; i < here.first_child + here.children; i++) {
		child = dataset_entry(samples->dataset, i);
		if (child.kind != FORMAT_DIRECTORY &&
		    !why_not(collector, &child, OF_CLASS + folder->class))
			samples->list[(*count)++] = (struct sample){i, folder->class};
	}
}

static int list_samples(struct collector *collector)
{
	struct folder *folders = BUF_ITEMS(&collector->folders, struct folder);
	size_t folder_count = BUF_COUNT(&collector->folders, *folders);
	uint64_t count = 0;

	collector->samples->list =
		calloc(collector->samples->count + 1, sizeof(*collector->samples->list));
	if (!collector->samples->list)
		return -ENOMEM;
	if (folder_count)
		qsort_r(folders, folder_count, sizeof(*folders), compare_folders,
			collector->paths.data);
	for (size_t i = 0; i < folder_count; i++)
		list_folder(collector, &folders[i], &count);
	return 0;
}

static int alloc_classes(struct samples *samples)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct dataset_entry root;
	int r = dataset_path(samples->dataset, samples->root, &path);

	if (r < 0)
		return r;
	root = dataset_entry(samples->dataset, samples->root);
	samples->root_len = path.len ? path.len + 1 : 0;
	samples->classes = calloc(root.children + (size_t)1, sizeof(*samples->classes));
	samples->labels = calloc(root.children + (size_t)1, sizeof(*samples->labels));
	return samples->classes && samples->labels ? 0 : -ENOMEM;
}

/* A directory comes before its children, so one pass reaches everything. */
static int collect(struct collector *collector)
{
	struct samples *samples = collector->samples;
	uint32_t entries = dataset_entries(samples->dataset);
	int r = alloc_classes(samples);

	collector->marks = calloc(entries, sizeof(*collector->marks));
	if (!collector->marks)
		return -ENOMEM;
	collector->marks[samples->root] = ROOT;
	for (uint32_t i = samples->root; r == 0 && i < entries; i++)
		if (collector->marks[i] != OUTSIDE)
			r = look_into_folder(collector, i, collector->marks[i]);
	return r < 0 ? r : list_samples(collector);
}

/* --- labels ----------------------------------------------------------------------------- */

#define UNKNOWN INT64_MIN

static int64_t greatest_label(const struct samples *samples)
{
	size_t count = labels_count(&samples->of_dataset);

	return count ? labels_row(&samples->of_dataset, count - 1)->label : -1;
}

/* Sets *ret to how many classes have a label of the dataset. 0 or -ENOMEM. */
static int take_labels(struct samples *samples, uint32_t *ret)
{
	const struct labels *labels = &samples->of_dataset;
	SCOPE_FREE uint32_t *at = calloc(dataset_entries(samples->dataset), sizeof(*at));
	uint32_t entry, taken = 0;

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->class_count; i++) {
		at[samples->classes[i]] = i + 1;
		samples->labels[i] = UNKNOWN;
	}
	for (size_t i = 0; i < labels_count(labels); i++) {
		if (dataset_find(samples->dataset, labels_folder(labels, i),
				 labels_row(labels, i)->len, &entry) < 0 ||
		    !at[entry] || samples->labels[at[entry] - 1] != UNKNOWN)
			continue;
		samples->labels[at[entry] - 1] = labels_row(labels, i)->label;
		taken++;
	}
	*ret = taken;
	return 0;
}

/* Where records without a label are, as pack/foreign/tree.h puts them. */
static bool has_no_label(const struct samples *samples, uint32_t class)
{
	const struct dataset_entry folder =
		dataset_entry(samples->dataset, samples->classes[class]);

	return folder.name_len == strlen("images") && !memcmp(folder.name, "images", 6);
}

static int label_classes(struct samples *samples, struct err *err)
{
	int64_t next = 0;
	uint32_t taken = 0;
	int r = labels_add_dataset(&samples->of_dataset, samples->dataset, "");

	if (r < 0)
		return r;
	labels_sort(&samples->of_dataset);
	if (greatest_label(samples) > SAMPLES_LABEL_MOST)
		return err_set(err, -EOVERFLOW, "labels over %d", SAMPLES_LABEL_MOST);
	r = take_labels(samples, &taken);
	if (r < 0)
		return r;
	if (taken)
		next = greatest_label(samples) + 1;
	for (uint32_t i = 0; i < samples->class_count; i++) {
		if (taken && samples->labels[i] != UNKNOWN)
			continue;
		if (taken && has_no_label(samples, i)) {
			samples->labels[i] = -1;
			continue;
		}
		samples->labels[i] = next++;
		samples->unlabelled += taken > 0;
	}
	return 0;
}

struct class_name {
	const char *name;
	size_t len;
};

/* The last one in a path. */
static struct class_name last_name(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	size_t begin = slash ? (size_t)(slash + 1 - path) : 0;

	return (struct class_name){path + begin, len - begin};
}

int samples_names(const struct samples *samples, struct buf *ret)
{
	const struct labels *labels = &samples->of_dataset;
	int64_t most = greatest_label(samples);
	SCOPE_FREE struct class_name *names = NULL;
	int r = 0;

	for (uint32_t i = 0; i < samples->class_count; i++)
		most = samples->labels[i] > most ? samples->labels[i] : most;
	names = calloc((size_t)most + 2, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < labels_count(labels); i++)
		names[labels_row(labels, i)->label] =
			last_name(labels_folder(labels, i), labels_row(labels, i)->len);
	for (uint32_t i = 0; i < samples->class_count; i++) {
		const struct dataset_entry folder =
			dataset_entry(samples->dataset, samples->classes[i]);

		if (samples->labels[i] >= 0)
			names[samples->labels[i]] =
				(struct class_name){folder.name, folder.name_len};
	}
	for (int64_t i = 0; r == 0 && i <= most; i++)
		r = names[i].name ? buf_addf(ret, "%.*s\n", (int)names[i].len, names[i].name)
				  : buf_addf(ret, "%04" PRId64 "\n", i);
	return r;
}

/* --- all of them ------------------------------------------------------------------------ */

int samples_new(const struct dataset *dataset, uint32_t root,
		const char *(*refuses)(const struct samples *samples,
				       const struct dataset_entry *file),
		struct samples *ret, struct err *err)
{
	SCOPE(samples_release) struct samples samples = {.dataset = dataset, .root = root};
	SCOPE(collector_release)
	struct collector collector = {.samples = &samples, .refuses = refuses};
	int r = collect(&collector);

	if (r == 0)
		r = label_classes(&samples, err);
	if (r < 0)
		return r;
	*ret = samples;
	samples = (struct samples){0};
	return 0;
}

/* --- order ------------------------------------------------------------------------------ */

/* An empty file has no place, and stays after the one before it. */
static int rank(const struct samples *samples, uint64_t i, enum sample_order order, uint64_t seed,
		struct buf *path, struct ranked *ranked)
{
	uint32_t entry = samples->list[i].entry;
	int r = 0;

	ranked[i] = (struct ranked){.number = i};
	if (order == SAMPLES_PACK) {
		uint64_t first = dataset_first_extent(samples->dataset, entry);

		if (dataset_entry(samples->dataset, entry).size)
			ranked[i].rank = dataset_extent(samples->dataset, first).offset;
		else if (i)
			ranked[i].rank = ranked[i - 1].rank;
		return 0;
	}
	path->len = 0;
	r = dataset_path(samples->dataset, entry, path);
	if (r == 0)
		ranked[i].rank = XXH3_64bits_withSeed(path->data, path->len, seed);
	return r;
}

int samples_sort(struct samples *samples, enum sample_order order, uint64_t seed)
{
	SCOPE_FREE struct ranked *ranked = NULL;
	SCOPE_FREE struct sample *before = NULL;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = 0;

	if (order == SAMPLES_PATH || samples->count == 0)
		return 0;
	ranked = calloc(samples->count, sizeof(*ranked));
	before = calloc(samples->count, sizeof(*before));
	if (!ranked || !before)
		return -ENOMEM;
	for (uint64_t i = 0; r == 0 && i < samples->count; i++)
		r = rank(samples, i, order, seed, &path, ranked);
	if (r < 0)
		return r;
	qsort(ranked, samples->count, sizeof(*ranked), compare_ranked);
	memcpy(before, samples->list, samples->count * sizeof(*before));
	for (uint64_t i = 0; i < samples->count; i++)
		samples->list[i] = before[ranked[i].number];
	return 0;
}

int samples_path(const struct samples *samples, uint32_t entry, struct buf *path)
{
	int r;

	path->len = 0;
	r = dataset_path(samples->dataset, entry, path);
	if (r < 0)
		return r;
	path->len -= samples->root_len;
	memmove(path->data, path->data + samples->root_len, path->len + 1);
	return 0;
}
