/* Which programs list files how, and where lists lie.
 *
 * The directories that the file is in are tried from the nearest on: whoever reads train/ is more
 * probable than whoever reads the whole mount, and a list that is too small is soon seen to be. At
 * each, first what programs make of the tree, then texts in it and up to two directories below:
 * train.csv beside train/, annotations/instances.json, ImageSets/Main/train.txt. The texts of short
 * names come first: VOC's train.txt says the same as aeroplane_train.txt. */
#include "pack/dataset_lists.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/dataset_lists_text.h"
#include <strings.h>
#include <xxhash.h>

#define LEVELS_MAX  16		/* directories that the file is in */
#define TEXT_MAX    (64 * MIB)	/* a longer one is data, not a list */
#define TEXTS_MAX   (256 * MIB) /* that are read in all */
#define TEXTS_BELOW 2		/* directories below */
#define TEXTS_EACH  256 /* a directory with more of them has captions or labels, a text a file */

struct search {
	struct dataset *dataset;
	const struct index *index;
	uint32_t file; /* its inode's entry */
	struct lists_word name, suffix;
	dataset_list_fn *found;
	void *context;
	XXH128_hash_t told[DATASET_LISTS]; /* what was told, by its hash: equal is the same */
	unsigned count;
	uint64_t text_bytes; /* that may still be read */
};

/* --- telling ------------------------------------------------------------------------------- */

static uint64_t own_extents(const struct index *index, uint32_t entry)
{
	return format_extents(index_get(index, SECTION_SIZE, entry));
}

/* From entries to first extents. Neighbours, of which lists are full, are counted on. */
static void number_files(const struct index *index, struct lists_files *files)
{
	uint32_t before = LISTS_NONE;
	uint64_t extent = 0, extents = 0;

	for (size_t i = 0; i < files->count; i++) {
		uint32_t entry = files->entries[i];

		if (entry == LISTS_NONE)
			continue;
		if (before != LISTS_NONE && entry == before + 1)
			extent += extents;
		else
			extent = index_first_extent(index, entry);
		extents = own_extents(index, entry);
		before = entry;
		files->entries[i] = extents ? (uint32_t)extent : DATASET_LIST_NONE;
	}
}

static bool has_file(const struct search *s, const struct lists_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->entries[i] == s->file)
			return true;
	return false;
}

/* Whether it was told before; else it is noted. */
static bool is_old(struct search *s, const struct lists_files *files)
{
	XXH128_hash_t hash = XXH3_128bits(files->entries, files->count * sizeof(*files->entries));

	for (unsigned i = 0; i < s->count; i++)
		if (XXH128_isEqual(s->told[i], hash))
			return true;
	s->told[s->count++] = hash;
	return false;
}

/* Tells of a list if it is one and new. Entries become extents. */
static int tell(struct search *s, const char *name, struct lists_files *files)
{
	if (s->count == DATASET_LISTS || files->count < 2 || files->count >= UINT32_MAX ||
	    !has_file(s, files))
		return 0;
	number_files(s->index, files);
	if (is_old(s, files))
		return 0;
	return s->found(s->context, name, files->entries, (uint32_t)files->count);
}

/* --- trees --------------------------------------------------------------------------------- */

struct kind {
	const char *name;
	struct lists_order order;
};

/* %1$s is the directory, %2$s the suffix of the file. The likely ones are told for all directories
 * before the others for any. A mount lists a directory in the order of the index, so that
 * glob.glob() and Path.rglob() are as os.walk(), but that since Python 3.13 Path.rglob() has the
 * last directory first. Sources: torchvision/datasets/folder.py; timm's
 * readers/reader_image_folder.py; DALI's traverse_directories(); CPython's os.py, glob.py and
 * pathlib. */
static const struct kind likely[] = {
	{"images in %1$s, sorted", {LISTS_FLAT, LISTS_STRING, LISTS_TORCHVISION, 0}},
	{"*%2$s in %1$s, sorted", {LISTS_FLAT, LISTS_STRING, LISTS_SUFFIX, 0}},
	{"%1$s as ImageFolder", {LISTS_CLASSES_DEEP, LISTS_STRING, LISTS_TORCHVISION, LISTS_LINKS}},
	{"%1$s as timm's folder", {LISTS_MIXED, LISTS_NATURAL, LISTS_TIMM, LISTS_LINKS}},
	{"paths of images below %1$s, sorted", {LISTS_MIXED, LISTS_PATH, LISTS_TORCHVISION, 0}},
	{"paths of *%2$s below %1$s, sorted",
	 {LISTS_MIXED, LISTS_PATH, LISTS_SUFFIX, LISTS_LINKS | LISTS_HIDE}},
};

static const struct kind others[] = {
	{"%1$s as DatasetFolder of *%2$s",
	 {LISTS_CLASSES_DEEP, LISTS_STRING, LISTS_SUFFIX, LISTS_LINKS | LISTS_FOLD}},
	{"%1$s as DALI's files", {LISTS_CLASSES, LISTS_BYTES, LISTS_DALI, LISTS_LINKS}},
	{"Path objects of *%2$s below %1$s, sorted", {LISTS_MIXED, LISTS_STRING, LISTS_SUFFIX, 0}},
	{"images below %1$s as sorted(os.walk) has them",
	 {LISTS_DEEP, LISTS_STRING, LISTS_TORCHVISION, 0}},
	{"images below %1$s as os.walk lists them",
	 {LISTS_FILES_FIRST, LISTS_BYTES, LISTS_TORCHVISION, 0}},
	{"*%2$s below %1$s as os.walk lists them",
	 {LISTS_FILES_FIRST, LISTS_BYTES, LISTS_SUFFIX, 0}},
	{"*%2$s below %1$s as Path.rglob lists them",
	 {LISTS_LAST_FIRST, LISTS_BYTES, LISTS_SUFFIX, 0}},
	{"files in %1$s, sorted", {LISTS_FLAT, LISTS_STRING, LISTS_ALL, 0}},
	{"files in each directory of %1$s, sorted",
	 {LISTS_CLASSES, LISTS_STRING, LISTS_ALL, LISTS_LINKS}},
	{"files below %1$s as os.walk lists them", {LISTS_FILES_FIRST, LISTS_BYTES, LISTS_ALL, 0}},
};

/* Whether a file so many directories below is in a list of that kind. */
static bool may_have(const struct search *s, const struct lists_order *order, unsigned level)
{
	if (order->keep == LISTS_SUFFIX && s->suffix.len == 0)
		return false;
	if (order->shape == LISTS_FLAT ? level > 0 : level == 0 && order->shape >= LISTS_CLASSES)
		return false;
	if (order->shape == LISTS_CLASSES && level > 1)
		return false;
	return lists_keeps(order, s->suffix, s->name.text, s->name.len);
}

static int tell_tree(struct search *s, uint32_t directory, const char *path,
		     const struct kind *kind, struct lists_files *files)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	SCOPE(buf_release) struct buf suffix = BUF_INIT;
	int r;

	files->count = 0;
	r = lists_tree(s->index, directory, &kind->order, s->suffix, files);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	if (buf_addf(&suffix, "%.*s", (int)s->suffix.len, s->suffix.text) < 0 ||
	    buf_addf(&name, kind->name, path, suffix.data) < 0)
		return -ENOMEM;
	return tell(s, name.data, files);
}

static int tell_trees(struct search *s, uint32_t directory, unsigned level,
		      const struct kind *kinds, size_t count)
{
	SCOPE(lists_files_release) struct lists_files files = {0};
	SCOPE(buf_release) struct buf path = BUF_INIT;
	bool lone = level > 0 && index_get(s->index, SECTION_SIZE, directory) == 1;
	int r = directory ? index_path(s->index, directory, &path) : buf_adds(&path, ".");

	for (size_t i = 0; i < count && r == 0 && s->count < DATASET_LISTS; i++) {
		if (lone && kinds[i].order.shape < LISTS_CLASSES)
			continue; /* as those of the only directory in it */
		if (may_have(s, &kinds[i].order, level))
			r = tell_tree(s, directory, path.data, &kinds[i], &files);
	}
	return r;
}

/* --- texts --------------------------------------------------------------------------------- */

static const struct {
	const char *suffix;
	bool json;
} text_kinds[] = {{".txt", false}, {".csv", false}, {".tsv", false},
		  {".lst", false}, {".json", true}, {".jsonl", true}};
#define TEXT_KINDS (sizeof(text_kinds) / sizeof(*text_kinds))

/* Which of text_kinds a name is of; TEXT_KINDS: none. */
static size_t text_kind(const char *name, size_t len)
{
	size_t i = 0;

	for (; i < TEXT_KINDS; i++) {
		size_t suffix = strlen(text_kinds[i].suffix);

		if (len > suffix && name[len - suffix] == '.' &&
		    strncasecmp(name + len - suffix, text_kinds[i].suffix, suffix) == 0)
			break;
	}
	return i;
}

static bool is_text(const struct index *index, uint32_t entry)
{
	size_t len;
	const char *name;
	uint64_t size;

	if (!format_is_file(index_kind(index, entry)))
		return false;
	name = index_name(index, entry, &len);
	size = index_get(index, SECTION_SIZE, entry);
	return text_kind(name, len) < TEXT_KINDS && size > 0 && size <= TEXT_MAX;
}

/* The texts of a directory and of those below, but for one whose texts were read before. */
static int collect_texts(const struct index *index, uint32_t directory, uint32_t without,
			 unsigned below, struct lists_files *texts)
{
	uint32_t first = (uint32_t)index_get(index, SECTION_START, directory);
	uint32_t end = first + (uint32_t)index_get(index, SECTION_SIZE, directory);
	size_t before = texts->count;
	int r = 0;

	for (uint32_t e = first; e < end && r == 0; e++)
		if (is_text(index, e))
			r = lists_files_add(texts, e);
	if (texts->count - before > TEXTS_EACH)
		texts->count = before;
	for (uint32_t e = first; e < end && below > 0 && r == 0; e++)
		if (index_kind(index, e) == FORMAT_DIRECTORY && e != without)
			r = collect_texts(index, e, without, below - 1, texts);
	return r;
}

static int by_name_len(const void *a, const void *b, void *index)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t x_len, y_len;

	index_name(index, x, &x_len);
	index_name(index, y, &y_len);
	if (x_len != y_len)
		return x_len < y_len ? -1 : 1;
	return (x > y) - (x < y);
}

static int tell_text(struct search *s, uint32_t entry, struct lists_text *text)
{
	static const char *const orders[LISTS_TEXT_ORDERS] = {
		[LISTS_TEXT_STANDS] = "",
		[LISTS_TEXT_SORTED] = ", sorted",
		[LISTS_TEXT_ONCE] = ", each once",
		[LISTS_TEXT_ONCE_SORTED] = ", each once, sorted",
	};
	SCOPE(buf_release) struct buf name = BUF_INIT;
	size_t len;
	int r = index_path(s->index, entry, &name);

	len = name.len;
	for (unsigned i = 0; i < LISTS_TEXT_ORDERS && r == 0; i++) {
		name.len = len;
		r = buf_adds(&name, orders[i]);
		if (r == 0)
			r = tell(s, name.data, &text->orders[i]);
	}
	return r;
}

/* A text that cannot be read has no lists. */
static int read_text(struct search *s, uint32_t entry)
{
	size_t size = index_get(s->index, SECTION_SIZE, entry), len;
	const char *name = index_name(s->index, entry, &len);
	SCOPE(lists_text_release) struct lists_text text = {0};
	SCOPE_FREE char *data = NULL;
	int r;

	if (size > s->text_bytes)
		return 0;
	s->text_bytes -= size;
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	if (dataset_read(s->dataset, entry, data, size, 0, true) != (ssize_t)size)
		return 0;
	r = lists_text(s->index, s->file, data, size, text_kinds[text_kind(name, len)].json, &text);
	return r < 0 ? r : tell_text(s, entry, &text);
}

static int tell_texts(struct search *s, uint32_t directory, uint32_t without)
{
	SCOPE(lists_files_release) struct lists_files texts = {0};
	int r = collect_texts(s->index, directory, without, TEXTS_BELOW, &texts);

	if (r == 0 && texts.count > 0)
		qsort_r(texts.entries, texts.count, sizeof(*texts.entries), by_name_len,
			(void *)s->index);
	for (size_t i = 0; i < texts.count && r == 0 && s->count < DATASET_LISTS; i++)
		r = read_text(s, texts.entries[i]);
	return r;
}

/* --- the directories of the file ----------------------------------------------------------- */

static uint32_t parent_of(const struct index *index, uint32_t entry)
{
	return (uint32_t)index_get(index, SECTION_PARENT, entry);
}

/* The directories of the file, from the nearest on. */
static int tell_likely(struct search *s)
{
	uint32_t from = s->file;
	int r = 0;

	for (unsigned level = 0; level < LEVELS_MAX && from != 0 && r == 0; level++) {
		uint32_t directory = parent_of(s->index, from);

		r = tell_trees(s, directory, level, likely, sizeof(likely) / sizeof(*likely));
		if (r == 0)
			r = tell_texts(s, directory, from);
		from = directory;
	}
	return r;
}

static int tell_others(struct search *s)
{
	uint32_t directory = s->file;
	int r = 0;

	for (unsigned level = 0; level < LEVELS_MAX && directory != 0 && r == 0; level++) {
		directory = parent_of(s->index, directory);
		r = tell_trees(s, directory, level, others, sizeof(others) / sizeof(*others));
	}
	return r;
}

int dataset_lists(struct dataset *dataset, uint64_t extent, dataset_list_fn *found, void *context)
{
	struct search s = {.dataset = dataset,
			   .index = &dataset->index,
			   .found = found,
			   .context = context,
			   .text_bytes = TEXTS_MAX};
	uint64_t unused;
	int r;

	if (dataset_extents(dataset) >= UINT32_MAX)
		return 0;
	s.file = index_extent_entry(s.index, extent, &unused);
	s.name.text = index_name(s.index, s.file, &s.name.len);
	s.suffix = lists_suffix(s.name);
	r = tell_likely(&s);
	return r < 0 ? r : tell_others(&s);
}
