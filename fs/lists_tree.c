/* One walk makes all orders: the names of a directory are collected, given keys whose bytes compare
 * as the program at hand compares the names, and sorted where the index has them otherwise.
 *
 * Keys. Python compares code points, which for UTF-8 is comparing bytes; bytes that are not UTF-8
 * become U+DC80..U+DCFF, which come before U+E000, and here three bytes of the form ED B2 80. In
 * sorted paths a directory's name is followed by a slash, before which "-" and "." come: b-1.jpg,
 * b/x.jpg. In natural order a path is a list of strings and numbers in turn; a string ends with
 * a zero byte, so that a shorter one comes first, and a number is the count of its digits and its
 * digits. The name of a directory ends with a slash, in the middle of a string that goes on with
 * what lies below. So names of one directory sort as whole paths do, but directories with equal
 * keys (B and b, 1 and 01) are one: their children are sorted together. Letters beyond ASCII stay
 * as they are, which suffices for names of files.
 *
 * ImageFolder sorts what os.walk() gives by the paths of the directories, which have no slash at
 * their end: b/sub, b/sub-1, b/sub/x. So a subdirectory has two places among its siblings: its own
 * files come at "sub", and what is in directories below it at "sub/". */
#include "fs/lists_tree.h"
#include "base/scope.h"
#include "base/utf8.h"
#include <string.h>
#include <strings.h>

#define DEPTH_MAX   64
#define LINKS_MAX   40 /* as Linux follows for a path */
#define VISITS_EACH 8  /* of an entry, by all ways that links lead to it */

struct tree_item {
	uint64_t key; /* where it begins */
	uint32_t key_len;
	uint32_t child; /* whose name it has */
	uint32_t entry; /* the file or directory that this is */
	uint32_t place; /* before sorting: the order of equal keys */
	bool directory;
	bool own;  /* of a directory, the files in it, not what is below */
	bool same; /* key as the item before */
};

/* What of a directory is collected. HALVES: its directories, each at both of its places. */
enum tree_part { PART_ALL, PART_FILES, PART_DIRECTORIES, PART_HALVES };

/* Items and keys are stacks: each directory on the way has its own on top of its parent's. */
struct tree_walk {
	const struct dataset *dataset;
	const struct lists_order *order;
	struct lists_word suffix;
	struct lists_files *files;
	struct tree_item *items;
	size_t count, room;
	struct buf keys;
	uint64_t visits; /* left */
	unsigned depth;
	enum tree_part part; /* that is being collected */
};

void lists_files_release(struct lists_files *files)
{
	free(files->entries);
	*files = (struct lists_files){0};
}

int lists_grow(void *array, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 256;
	void *grown = reallocarray(*(void **)array, more, size);

	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*room = more;
	return 0;
}

int lists_files_add(struct lists_files *files, uint32_t entry)
{
	if (files->count == files->room &&
	    lists_grow(&files->entries, &files->room, sizeof(*files->entries)) < 0)
		return -ENOMEM;
	files->entries[files->count++] = entry;
	return 0;
}

/* --- which files --------------------------------------------------------------------------- */

static const char *const torchvision_suffixes[] = {".jpg", ".jpeg", ".png",  ".ppm",  ".bmp",
						   ".pgm", ".tif",  ".tiff", ".webp", NULL};
static const char *const timm_suffixes[] = {".jpg", ".jpeg", ".png", NULL};
static bool ends_in(const char *name, size_t len, const char *suffix, size_t suffix_len)
{
	return len >= suffix_len && strncasecmp(name + len - suffix_len, suffix, suffix_len) == 0;
}

static bool ends_in_one_of(const char *name, size_t len, const char *const *suffixes)
{
	for (; *suffixes; suffixes++)
		if (ends_in(name, len, *suffixes, strlen(*suffixes)))
			return true;
	return false;
}

struct lists_word lists_suffix(struct lists_word name)
{
	const char *dot = name.len > 1 ? memrchr(name.text + 1, '.', name.len - 1) : NULL;
	const char *end = name.text + name.len;

	return dot ? (struct lists_word){dot, (size_t)(end - dot)} : (struct lists_word){end, 0};
}

/* os.path.splitext() finds no suffix after dots only: ".jpg". */
static bool has_stem(const char *name, size_t len)
{
	const char *dot = memrchr(name, '.', len);

	for (const char *c = name; dot && c < dot; c++)
		if (*c != '.')
			return true;
	return false;
}

bool lists_keeps(const struct lists_order *order, struct lists_word suffix, struct lists_word name)
{
	if (order->hide && name.text[0] == '.')
		return false;
	switch (order->keep) {
	case LISTS_TORCHVISION:
		return ends_in_one_of(name.text, name.len, torchvision_suffixes);
	case LISTS_TIMM:
		return ends_in_one_of(name.text, name.len, timm_suffixes) &&
		       has_stem(name.text, name.len);
	case LISTS_SUFFIX_FOLD:
		return ends_in(name.text, name.len, suffix.text, suffix.len);
	case LISTS_SUFFIX:
		return name.len >= suffix.len &&
		       memcmp(name.text + name.len - suffix.len, suffix.text, suffix.len) == 0;
	}
	return false;
}

/* --- links --------------------------------------------------------------------------------- */

static uint32_t inode_of(const struct dataset *dataset, uint32_t entry)
{
	struct dataset_child child;

	dataset_child(dataset, entry, &child);
	return child.inode;
}

static int resolve_path(const struct dataset *dataset, uint32_t at, struct lists_word path,
			unsigned *left, uint32_t *ret);

/* `left` counts the links of the whole way, not of one branch: no target makes it long. */
static int follow_link(const struct dataset *dataset, uint32_t link, unsigned *left, uint32_t *ret)
{
	struct dataset_entry entry;
	struct lists_word target;

	target.text = dataset_target(dataset, link, &target.len);
	if (*left == 0)
		return -ELOOP;
	--*left;
	if (target.text[0] == '/')
		return -ENOENT;
	dataset_entry(dataset, link, &entry);
	return resolve_path(dataset, entry.parent, target, left, ret);
}

/* One component of a path, from the directory in *at. */
static int resolve_name(const struct dataset *dataset, struct lists_word name, unsigned *left,
			uint32_t *at)
{
	struct dataset_entry entry;
	uint32_t found;
	int r;

	dataset_entry(dataset, *at, &entry);
	if (entry.kind != FORMAT_DIRECTORY)
		return -ENOENT;
	if (name.len == 0 || (name.len == 1 && name.text[0] == '.'))
		return 0;
	if (name.len == 2 && memcmp(name.text, "..", 2) == 0) {
		if (*at == DATASET_ROOT)
			return -ENOENT; /* leads out of the pack */
		*at = entry.parent;
		return 0;
	}
	r = dataset_lookup(dataset, *at, name.text, name.len, &found);
	if (r < 0)
		return r;
	dataset_entry(dataset, found, &entry);
	if (entry.kind == FORMAT_SYMLINK)
		r = follow_link(dataset, found, left, &found);
	if (r == 0)
		*at = inode_of(dataset, found);
	return r;
}

static int resolve_path(const struct dataset *dataset, uint32_t at, struct lists_word path,
			unsigned *left, uint32_t *ret)
{
	const char *end = path.text + path.len, *stop;
	int r = 0;

	for (const char *name = path.text; name < end && r == 0; name = stop + 1) {
		stop = memchr(name, '/', (size_t)(end - name));
		if (!stop)
			stop = end;
		r = resolve_name(dataset, (struct lists_word){name, (size_t)(stop - name)}, left,
				 &at);
	}
	if (r == 0)
		*ret = at;
	return r;
}

int lists_resolve(const struct dataset *dataset, uint32_t directory, struct lists_word path,
		  uint32_t *ret)
{
	unsigned left = LINKS_MAX;

	return resolve_path(dataset, directory, path, &left, ret);
}

/* --- keys ---------------------------------------------------------------------------------- */

static bool is_ascii(const char *name, size_t len)
{
	unsigned char all = 0;

	for (size_t i = 0; i < len; i++)
		all |= (unsigned char)name[i];
	return all < 0x80;
}

/* Writes one character as Python has it; returns the bytes read. `to` has room for three. */
static size_t put_character(const char *from, size_t left, char **to)
{
	uint32_t unused;
	uint8_t byte = (uint8_t)*from;
	size_t len = utf8_decode(from, left, &unused);

	if (len == 0) {
		*(*to)++ = (char)0xed;
		*(*to)++ = (char)(0xb0 + (byte >> 6));
		*(*to)++ = (char)(0x80 + (byte & 0x3f));
		return 1;
	}
	memcpy(*to, from, len);
	*to += len;
	return len;
}

static bool is_decimal(char c)
{
	return c >= '0' && c <= '9';
}

/* A run of digits, after the end of the string before it; returns the bytes read. */
static size_t put_sort_number(const char *from, size_t left, char **to)
{
	size_t end = 0, begin = 0;

	while (end < left && is_decimal(from[end]))
		end++;
	while (begin < end && from[begin] == '0')
		begin++;
	*(*to)++ = '\0';
	*(*to)++ = (char)(end - begin);
	memcpy(*to, from + begin, end - begin);
	*to += end - begin;
	return end;
}

static void put_sort_key(char **to, const char *name, size_t len, bool natural)
{
	for (size_t i = 0; i < len;) {
		if (natural && is_decimal(name[i])) {
			i += put_sort_number(name + i, len - i, to);
		} else if (natural && name[i] >= 'A' && name[i] <= 'Z') {
			*(*to)++ = (char)(name[i++] + 'a' - 'A');
		} else {
			i += put_character(name + i, len - i, to);
		}
	}
}

static int add_key(struct tree_walk *w, struct tree_item *item, bool slash)
{
	struct dataset_child child;
	char *to;

	dataset_child(w->dataset, item->child, &child);
	if (buf_reserve(&w->keys, 3 * child.name_len + 1) < 0)
		return -ENOMEM;
	to = w->keys.data + w->keys.len;
	put_sort_key(&to, child.name, child.name_len, w->order->key == LISTS_NATURAL);
	if (slash && item->directory && !item->own)
		*to++ = '/';
	item->key = w->keys.len;
	item->key_len = (uint32_t)(to - w->keys.data - (ptrdiff_t)w->keys.len);
	w->keys.len += item->key_len;
	return 0;
}

static int compare_keys(const struct tree_walk *w, const struct tree_item *a,
			const struct tree_item *b)
{
	size_t len = a->key_len < b->key_len ? a->key_len : b->key_len;
	int order = memcmp(w->keys.data + a->key, w->keys.data + b->key, len);

	return order ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static int compare_by_key(const void *a, const void *b, void *walk)
{
	const struct tree_item *x = a, *y = b;
	int order = compare_keys(walk, x, y);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int sort_items(struct tree_walk *w, size_t first, bool slash)
{
	size_t keys = w->keys.len;
	bool sorted = true;

	for (size_t i = first; i < w->count; i++) {
		w->items[i].place = (uint32_t)(i - first);
		if (add_key(w, &w->items[i], slash) < 0)
			return -ENOMEM;
		sorted = sorted &&
			 (i == first || compare_keys(w, &w->items[i - 1], &w->items[i]) <= 0);
	}
	if (!sorted)
		qsort_r(w->items + first, w->count - first, sizeof(*w->items), compare_by_key, w);
	for (size_t i = first + 1; i < w->count; i++)
		w->items[i].same = compare_keys(w, &w->items[i - 1], &w->items[i]) == 0;
	w->keys.len = keys;
	return 0;
}

/* --- the walk ------------------------------------------------------------------------------ */

static int push_item(struct tree_walk *w, uint32_t child, uint32_t entry, bool directory)
{
	if (w->count == w->room && lists_grow(&w->items, &w->room, sizeof(*w->items)) < 0)
		return -ENOMEM;
	w->items[w->count++] =
		(struct tree_item){.child = child, .entry = entry, .directory = directory};
	return 0;
}

/* What a child is, links followed. One to outside of the pack may be a file, and keeps its place
 * in the list. */
static enum format_kind what_is(const struct tree_walk *w, uint32_t number,
				const struct dataset_child *child, uint32_t *ret)
{
	struct dataset_child target;
	unsigned left = LINKS_MAX;

	*ret = child->inode;
	if (child->kind != FORMAT_SYMLINK)
		return child->kind;
	if (follow_link(w->dataset, number, &left, ret) < 0) {
		*ret = LISTS_NONE;
		return FORMAT_FILE;
	}
	dataset_child(w->dataset, *ret, &target);
	return target.kind;
}

static bool wants_directory(const struct tree_walk *w, const struct dataset_child *child)
{
	if (w->part == PART_FILES || (w->order->hide && child->name[0] == '.'))
		return false;
	return child->kind != FORMAT_SYMLINK || w->order->links;
}

static bool wants_file(const struct tree_walk *w, const struct dataset_child *child)
{
	struct lists_word name = {child->name, child->name_len};

	return w->part <= PART_FILES && lists_keeps(w->order, w->suffix, name);
}

static int collect_child(struct tree_walk *w, uint32_t number, bool *ascii)
{
	struct dataset_child child;
	uint32_t entry;
	bool directory;

	dataset_child(w->dataset, number, &child);
	directory = what_is(w, number, &child, &entry) == FORMAT_DIRECTORY;
	if (!(directory ? wants_directory(w, &child) : wants_file(w, &child)))
		return 0;
	*ascii = *ascii && is_ascii(child.name, child.name_len);
	if (w->part == PART_HALVES) {
		if (push_item(w, number, entry, true) < 0)
			return -ENOMEM;
		w->items[w->count - 1].own = true;
	}
	return push_item(w, number, entry, directory);
}

/* The index has names sorted by bytes, which suffices for many orders. */
static bool is_sorted(const struct tree_walk *w, size_t first, bool ascii)
{
	enum lists_key key = w->order->key;
	bool directories = false;

	for (size_t i = first; i < w->count && !directories; i++)
		directories = w->items[i].directory;
	return key == LISTS_BYTES || (key == LISTS_STRING && ascii && w->part != PART_HALVES) ||
	       (key == LISTS_PATH && ascii && !directories);
}

/* Pushes the children of those directories that are the items [group, group + count), sorted. */
static int collect(struct tree_walk *w, size_t group, size_t count, enum tree_part part)
{
	bool slash = w->order->key == LISTS_PATH || w->order->key == LISTS_NATURAL ||
		     part == PART_HALVES;
	bool ascii = true;
	size_t first = w->count;
	int r = 0;

	w->part = part;
	for (size_t i = group; i < group + count; i++) {
		struct dataset_entry entry;

		dataset_entry(w->dataset, w->items[i].entry, &entry);
		if (w->visits < entry.children)
			return -E2BIG;
		w->visits -= entry.children;
		for (uint32_t n = 0; n < entry.children && r == 0; n++)
			r = collect_child(w, entry.first_child + n, &ascii);
	}
	return r < 0 || is_sorted(w, first, ascii) ? r : sort_items(w, first, slash);
}

static int walk_group(struct tree_walk *w, size_t group, size_t count);

/* Directories with equal keys go together. */
static int emit_mixed(struct tree_walk *w, size_t first, size_t end)
{
	size_t next;
	int r = 0;

	for (size_t i = first; i < end && r == 0; i = next) {
		next = i + 1;
		if (!w->items[i].directory) {
			r = lists_files_add(w->files, w->items[i].entry);
			continue;
		}
		while (next < end && w->items[next].same)
			next++;
		r = walk_group(w, i, next - i);
	}
	return r;
}

static int emit_files(struct tree_walk *w, size_t first, size_t end)
{
	int r = 0;

	for (size_t i = first; i < end && r == 0; i++)
		if (!w->items[i].directory)
			r = lists_files_add(w->files, w->items[i].entry);
	return r;
}

static int emit_files_first(struct tree_walk *w, size_t first, size_t end)
{
	int r = emit_files(w, first, end);

	for (size_t i = first; i < end && r == 0; i++)
		if (w->items[i].directory)
			r = walk_group(w, i, 1);
	return r;
}

static int emit_own_files(struct tree_walk *w, size_t directory)
{
	size_t first = w->count;
	int r = collect(w, directory, 1, PART_FILES);

	if (r == 0)
		r = emit_files(w, first, w->count);
	w->count = first;
	return r;
}

/* What lies in directories below this one, but not its own files. */
static int emit_below(struct tree_walk *w, size_t directory)
{
	size_t first = w->count, end;
	int r;

	if (++w->depth > DEPTH_MAX)
		return -E2BIG;
	r = collect(w, directory, 1, PART_HALVES);
	end = w->count;
	for (size_t i = first; i < end && r == 0; i++)
		r = w->items[i].own ? emit_own_files(w, i) : emit_below(w, i);
	w->count = first;
	w->depth--;
	return r;
}

static int emit_classes(struct tree_walk *w, size_t first, size_t end)
{
	int r = 0;

	for (size_t i = first; i < end && r == 0; i++) {
		r = emit_own_files(w, i);
		if (r == 0)
			r = emit_below(w, i);
	}
	return r;
}

static int walk_group(struct tree_walk *w, size_t group, size_t count)
{
	static const enum tree_part parts[] = {
		[LISTS_FLAT] = PART_FILES, [LISTS_CLASSES] = PART_DIRECTORIES};
	enum lists_shape shape = w->order->shape;
	size_t first = w->count;
	int r;

	if (++w->depth > DEPTH_MAX)
		return -E2BIG;
	r = collect(w, group, count, parts[shape]);
	if (r == 0 && shape == LISTS_MIXED)
		r = emit_mixed(w, first, w->count);
	else if (r == 0 && shape == LISTS_CLASSES)
		r = emit_classes(w, first, w->count);
	else if (r == 0)
		r = emit_files_first(w, first, w->count);
	w->count = first;
	w->depth--;
	return r;
}

int lists_tree(const struct dataset *dataset, uint32_t directory, const struct lists_order *order,
	       struct lists_word suffix, struct lists_files *files)
{
	struct tree_walk w = {.dataset = dataset,
			      .order = order,
			      .suffix = suffix,
			      .files = files,
			      .visits = (uint64_t)VISITS_EACH * dataset_entries(dataset)};
	int r = push_item(&w, directory, directory, true);

	if (r == 0)
		r = walk_group(&w, 0, 1);
	free(w.items);
	buf_release(&w.keys);
	return r;
}
