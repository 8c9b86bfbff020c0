/* Which programs list files in which order.
 *
 * The directories that contain the file are tried from the nearest up: a job that reads train/ is
 * more probable than one that reads the whole mount, and a list that is too small soon turns out
 * wrong. */
#include "lists/lists.h"
#include "base/math.h"
#include "base/scope.h"
#include "lists/tree.h"
#include <xxhash.h>

#define LEVELS_MAX 16 /* directories above the file that are tried */

struct list_search {
	struct dataset *dataset;
	uint32_t file; /* its inode's entry */
	struct lists_word name, suffix;
	lists_found_fn *found;
	void *context;
	XXH128_hash_t seen[LISTS_MAX]; /* hashes of the lists found */
	unsigned count;
	uint64_t most; /* files that may still be in lists */
};

/* --- found --------------------------------------------------------------------------------- */

/* Replaces entries by first extents. Lists are full of neighbours, whose extents follow each other.
 */
static void number_files(const struct dataset *dataset, struct lists_files *files)
{
	uint32_t before = LISTS_NONE;
	uint64_t extent = 0, extents = 0;

	for (size_t i = 0; i < files->count; i++) {
		uint32_t number = files->entries[i];

		if (number == LISTS_NONE)
			continue;
		if (before != LISTS_NONE && number == before + 1)
			extent += extents;
		else
			extent = dataset_first_extent(dataset, number);
		extents = format_extents(dataset_entry(dataset, number).size);
		before = number;
		files->entries[i] = extents ? (uint32_t)extent : LISTS_NOT_STORED;
	}
}

/* Passes a list on if it is one, and new. Entries become extents. */
static int found_list(struct list_search *s, const char *name, struct lists_files *files,
		      uint32_t classes)
{
	XXH128_hash_t hash;
	size_t at = 0;

	if (s->count == LISTS_MAX || files->count < 2 || files->count > s->most)
		return 0;
	while (at < files->count && files->entries[at] != s->file)
		at++;
	if (at == files->count)
		return 0;
	number_files(s->dataset, files);
	hash = XXH3_128bits(files->entries, files->count * sizeof(*files->entries));
	for (unsigned i = 0; i < s->count; i++)
		if (XXH128_isEqual(s->seen[i], hash))
			return 0;
	s->seen[s->count++] = hash;
	s->most -= files->count;
	return s->found(s->context, name, files->entries, (uint32_t)files->count, classes);
}

/* --- trees --------------------------------------------------------------------------------- */

struct kind {
	const char *name;
	struct lists_order order;
};

/* %1$s is the directory, %2$s the suffix of the file. The likely kinds are tried for all
 * directories before the others for any. A mount lists a directory in the order of the index, so
 * glob.glob() gives the same as os.walk(). Sources: torchvision/datasets/folder.py; timm's
 * readers/reader_image_folder.py; CPython's os.py, glob.py and pathlib. */
static const struct kind likely[] = {
	{"images in %1$s, sorted", {LISTS_FLAT, LISTS_TORCHVISION, false, false}},
	{"*%2$s in %1$s, sorted", {LISTS_FLAT, LISTS_SUFFIX, false, false}},
	{"%1$s as ImageFolder", {LISTS_CLASSES, LISTS_TORCHVISION, true, false}},
	{"%1$s as timm's folder", {LISTS_NATURAL, LISTS_TIMM, true, false}},
	{"paths of images below %1$s, sorted", {LISTS_PATHS, LISTS_TORCHVISION, false, false}},
	{"paths of *%2$s below %1$s, sorted", {LISTS_PATHS, LISTS_SUFFIX, true, true}},
};

static const struct kind others[] = {
	{"%1$s as DatasetFolder of *%2$s", {LISTS_CLASSES, LISTS_SUFFIX_FOLD, true, false}},
	{"Path objects of *%2$s below %1$s, sorted", {LISTS_PARTS, LISTS_SUFFIX, false, false}},
	{"images below %1$s as os.walk lists them", {LISTS_WALK, LISTS_TORCHVISION, false, false}},
	{"*%2$s below %1$s as os.walk lists them", {LISTS_WALK, LISTS_SUFFIX, false, false}},
};

static int find_tree(struct list_search *s, uint32_t directory, const char *path,
		     const struct kind *kind, struct lists_files *files)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	SCOPE(buf_release) struct buf suffix = BUF_INIT;
	const struct dataset_entry folder = dataset_entry(s->dataset, directory);
	uint32_t classes = 0;
	int r;

	files->count = 0;
	r = lists_tree(s->dataset, directory, &kind->order, s->suffix, files);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	if (buf_addf(&suffix, "%.*s", (int)s->suffix.len, s->suffix.text) < 0 ||
	    buf_addf(&name, kind->name, path, suffix.data) < 0)
		return -ENOMEM;
	for (uint32_t n = 0; n < folder.children; n++)
		classes +=
			dataset_child(s->dataset, folder.first_child + n).kind == FORMAT_DIRECTORY;
	return found_list(s, name.data, files, classes);
}

static int find_trees(struct list_search *s, uint32_t directory, unsigned level,
		      const struct kind *kinds, size_t count)
{
	SCOPE(lists_files_release) struct lists_files files = {0};
	SCOPE(buf_release) struct buf path = BUF_INIT;
	bool lone;
	int r = directory ? dataset_path(s->dataset, directory, &path) : buf_adds(&path, ".");

	lone = level > 0 && dataset_entry(s->dataset, directory).children == 1;
	for (size_t i = 0; i < count && r == 0 && s->count < LISTS_MAX; i++) {
		const struct lists_order *order = &kinds[i].order;

		if (lone && order->key != LISTS_CLASSES)
			continue; /* the same list as that of the only directory in it */
		/* Whether a file `level` directories below can be in such a list. */
		if ((order->keep >= LISTS_SUFFIX && s->suffix.len == 0) ||
		    (order->key == LISTS_FLAT ? level > 0
					      : level == 0 && order->key == LISTS_CLASSES) ||
		    !lists_keeps(order, s->suffix, s->name))
			continue;
		r = find_tree(s, directory, path.data, &kinds[i], &files);
	}
	return r;
}

/* --- the directories of the file ----------------------------------------------------------- */

/* From the nearest on, what programs make of them. */
static int find_levels(struct list_search *s, const struct kind *kinds, size_t count)
{
	uint32_t from = s->file;
	int r = 0;

	for (unsigned level = 0; level < LEVELS_MAX && from != 0 && r == 0; level++) {
		uint32_t directory = dataset_entry(s->dataset, from).parent;

		r = find_trees(s, directory, level, kinds, count);
		from = directory;
	}
	return r;
}

int lists_find(struct dataset *dataset, uint64_t extent, uint64_t most, lists_found_fn *found,
	       void *context)
{
	struct list_search s = {.dataset = dataset,
				.found = found,
				.context = context,
				.most = min(most, UINT32_MAX - 1)};
	struct dataset_extent place;
	struct dataset_entry entry;
	int r;

	if (dataset_extents(dataset) >= UINT32_MAX)
		return 0;
	place = dataset_extent(dataset, extent);
	entry = dataset_entry(dataset, place.entry);
	s.file = place.entry;
	s.name = (struct lists_word){entry.name, entry.name_len};
	s.suffix = lists_suffix(s.name);
	r = find_levels(&s, likely, sizeof(likely) / sizeof(*likely));
	return r < 0 ? r : find_levels(&s, others, sizeof(others) / sizeof(*others));
}
