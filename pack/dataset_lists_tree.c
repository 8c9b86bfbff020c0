/* One walk makes all orders: the names of a directory are collected, given keys whose bytes compare
 * as the program at hand compares the names, and sorted where the index has them otherwise.
 *
 * Keys. Python compares code points, which for UTF-8 is comparing bytes; bytes that are not UTF-8
 * become U+DC80..U+DCFF, which stand before U+E000, and here three bytes of the form ED B2 80. In
 * sorted paths a directory's name is followed by a slash, before which "-" and "." stand: b-1.jpg,
 * b/x.jpg. In natural order a path is a list of strings and numbers in turn; a string ends with
 * a zero byte, so that a shorter one comes first, and a number is the count of its digits and its
 * digits. The name of a directory ends with a slash, in the middle of a string that what lies
 * below goes on with. So names of one directory sort as whole paths do, but that directories with
 * equal keys (B and b, 1 and 01) are one: their children are sorted together. Letters beyond ASCII
 * stay as they are, which suffices for names of files.
 *
 * ImageFolder sorts what os.walk() gives by the paths of the directories, which have no slash at
 * their end: b/sub, b/sub-1, b/sub/x. So a subdirectory has two places among its siblings: its own
 * files stand at "sub", and what is in directories below it at "sub/". */
#include "pack/dataset_lists_tree.h"
#include "base/scope.h"
#include <string.h>
#include <strings.h>

#define DEPTH_MAX   64
#define LINKS_MAX   40 /* as Linux follows for a path */
#define VISITS_EACH 8  /* of an entry, by all ways that links lead to it */

struct item {
	uint64_t key; /* where it begins */
	uint32_t key_len;
	uint32_t child; /* whose name it has */
	uint32_t entry; /* the file or directory that this is */
	uint32_t place; /* before sorting: the order of equal keys */
	enum item_kind { ITEM_FILE, ITEM_DIRECTORY, ITEM_OWN_FILES } kind;
	bool same; /* key as the item before */
};

/* Items and keys are stacks: each directory on the way has its own on top of its parent's. */
struct walk {
	const struct index *index;
	const struct lists_order *order;
	struct lists_word suffix;
	struct lists_files *files;
	struct item *items;
	size_t count, room;
	struct buf keys;
	uint64_t visits; /* left */
	unsigned depth;
};

/* What of a directory is collected. */
enum part { PART_FILES = 1, PART_DIRECTORIES = 2, PART_HALVES = 4 };

void lists_files_release(struct lists_files *files)
{
	free(files->entries);
	*files = (struct lists_files){0};
}

static int grow(void *array, size_t *room, size_t size)
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
	    grow(&files->entries, &files->room, sizeof(*files->entries)) < 0)
		return -ENOMEM;
	files->entries[files->count++] = entry;
	return 0;
}

/* --- which files --------------------------------------------------------------------------- */

static const char *const torchvision_suffixes[] = {".jpg", ".jpeg", ".png",  ".ppm",  ".bmp",
						   ".pgm", ".tif",  ".tiff", ".webp", NULL};
static const char *const timm_suffixes[] = {".jpg", ".jpeg", ".png", NULL};
static const char *const dali_suffixes[] = {".jpg",  ".jpeg", ".png", ".gif", ".bmp", ".tif",
					    ".tiff", ".pnm",  ".ppm", ".pgm", ".pbm", ".jp2",
					    ".webp", ".flac", ".ogg", ".wav", NULL};

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

/* os.path.splitext() finds no suffix behind dots only: ".jpg". */
static bool has_stem(const char *name, size_t len)
{
	const char *dot = memrchr(name, '.', len);

	for (const char *c = name; dot && c < dot; c++)
		if (*c != '.')
			return true;
	return false;
}

bool lists_keeps(const struct lists_order *order, struct lists_word suffix, const char *name,
		 size_t len)
{
	if (order->flags & LISTS_HIDE && name[0] == '.')
		return false;
	switch (order->keep) {
	case LISTS_ALL:
		return true;
	case LISTS_TORCHVISION:
		return ends_in_one_of(name, len, torchvision_suffixes);
	case LISTS_TIMM:
		return ends_in_one_of(name, len, timm_suffixes) && has_stem(name, len);
	case LISTS_DALI:
		return ends_in_one_of(name, len, dali_suffixes);
	case LISTS_SUFFIX:
		if (order->flags & LISTS_FOLD)
			return ends_in(name, len, suffix.text, suffix.len);
		return len >= suffix.len &&
		       memcmp(name + len - suffix.len, suffix.text, suffix.len) == 0;
	}
	return false;
}

/* --- links --------------------------------------------------------------------------------- */

static uint32_t parent_of(const struct index *index, uint32_t entry)
{
	return (uint32_t)index_get(index, SECTION_PARENT, entry);
}

static int find(const struct index *index, uint32_t at, struct lists_word path, unsigned *left,
		uint32_t *ret);

/* `left` counts the links of the whole way, not of one branch: no target makes it long. */
static int follow(const struct index *index, uint32_t link, unsigned *left, uint32_t *ret)
{
	struct lists_word target = {.text = (const char *)index->sections[SECTION_TARGETS].data +
					    index_get(index, SECTION_START, link),
				    .len = index_get(index, SECTION_SIZE, link)};

	if (*left == 0)
		return -ELOOP;
	--*left;
	if (target.text[0] == '/')
		return -ENOENT;
	return find(index, parent_of(index, link), target, left, ret);
}

/* One component of a path, from the directory in *at. */
static int step(const struct index *index, struct lists_word name, unsigned *left, uint32_t *at)
{
	uint32_t found;
	int r;

	if (index_kind(index, *at) != FORMAT_DIRECTORY)
		return -ENOENT;
	if (name.len == 0 || (name.len == 1 && name.text[0] == '.'))
		return 0;
	if (name.len == 2 && memcmp(name.text, "..", 2) == 0) {
		if (*at == 0)
			return -ENOENT; /* leads out of the pack */
		*at = parent_of(index, *at);
		return 0;
	}
	r = index_lookup(index, *at, name.text, name.len, &found);
	if (r == 0 && index_kind(index, found) == FORMAT_SYMLINK)
		r = follow(index, found, left, &found);
	if (r == 0)
		*at = index_inode(index, found);
	return r;
}

static int find(const struct index *index, uint32_t at, struct lists_word path, unsigned *left,
		uint32_t *ret)
{
	const char *end = path.text + path.len, *stop;
	int r = 0;

	for (const char *name = path.text; name < end && r == 0; name = stop + 1) {
		stop = memchr(name, '/', (size_t)(end - name));
		if (!stop)
			stop = end;
		r = step(index, (struct lists_word){name, (size_t)(stop - name)}, left, &at);
	}
	if (r == 0)
		*ret = at;
	return r;
}

int lists_find(const struct index *index, uint32_t directory, struct lists_word path, uint32_t *ret)
{
	unsigned left = LINKS_MAX;

	return find(index, directory, path, &left, ret);
}

/* --- keys ---------------------------------------------------------------------------------- */

static bool is_ascii(const char *name, size_t len)
{
	unsigned char all = 0;

	for (size_t i = 0; i < len; i++)
		all |= (unsigned char)name[i];
	return all < 0x80;
}

/* Bytes of the UTF-8 sequence that s begins with; 0: it is none. */
static size_t sequence_len(const uint8_t *s, size_t left)
{
	uint8_t low = 0x80, high = 0xbf; /* of the second byte: no overlong forms, no surrogates */
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] > 0xf4 || len > left)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (len > 1 && (s[1] < low || s[1] > high))
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/* Writes one character as Python has it; returns the bytes read. `to` has room for three. */
static size_t put_character(const char *from, size_t left, char **to)
{
	const uint8_t *s = (const uint8_t *)from;
	size_t len = sequence_len(s, left);

	if (len == 0) {
		*(*to)++ = (char)0xed;
		*(*to)++ = (char)(0xb0 + (s[0] >> 6));
		*(*to)++ = (char)(0x80 + (s[0] & 0x3f));
		return 1;
	}
	memcpy(*to, from, len);
	*to += len;
	return len;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A run of digits, behind the end of the string before it; returns the bytes read. */
static size_t put_number(const char *from, size_t left, char **to)
{
	size_t end = 0, begin = 0;

	while (end < left && is_digit(from[end]))
		end++;
	while (begin < end && from[begin] == '0')
		begin++;
	*(*to)++ = '\0';
	*(*to)++ = (char)(end - begin);
	memcpy(*to, from + begin, end - begin);
	*to += end - begin;
	return end;
}

static void put_key(char **to, const char *name, size_t len, bool natural)
{
	for (size_t i = 0; i < len;) {
		if (natural && is_digit(name[i])) {
			i += put_number(name + i, len - i, to);
		} else if (natural && name[i] >= 'A' && name[i] <= 'Z') {
			*(*to)++ = (char)(name[i++] + 'a' - 'A');
		} else {
			i += put_character(name + i, len - i, to);
		}
	}
}

static int add_key(struct walk *w, struct item *item, bool slash)
{
	size_t len;
	const char *name = index_name(w->index, item->child, &len);
	char *to;

	if (buf_reserve(&w->keys, 3 * len + 1) < 0)
		return -ENOMEM;
	to = w->keys.data + w->keys.len;
	put_key(&to, name, len, w->order->key == LISTS_NATURAL);
	if (slash && item->kind == ITEM_DIRECTORY)
		*to++ = '/';
	item->key = w->keys.len;
	item->key_len = (uint32_t)(to - w->keys.data - (ptrdiff_t)w->keys.len);
	w->keys.len += item->key_len;
	return 0;
}

static int compare_keys(const struct walk *w, const struct item *a, const struct item *b)
{
	size_t len = a->key_len < b->key_len ? a->key_len : b->key_len;
	int order = memcmp(w->keys.data + a->key, w->keys.data + b->key, len);

	return order ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static int compare_items(const void *a, const void *b, void *walk)
{
	const struct item *x = a, *y = b;
	int order = compare_keys(walk, x, y);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int sort_items(struct walk *w, size_t first, bool slash)
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
		qsort_r(w->items + first, w->count - first, sizeof(*w->items), compare_items, w);
	for (size_t i = first + 1; i < w->count; i++)
		w->items[i].same = compare_keys(w, &w->items[i - 1], &w->items[i]) == 0;
	w->keys.len = keys;
	return 0;
}

/* --- the walk ------------------------------------------------------------------------------ */

static int add_item(struct walk *w, uint32_t child, uint32_t entry, enum item_kind kind)
{
	if (w->count == w->room && grow(&w->items, &w->room, sizeof(*w->items)) < 0)
		return -ENOMEM;
	w->items[w->count++] = (struct item){.child = child, .entry = entry, .kind = kind};
	return 0;
}

/* A link to outside of the pack may be one to a file: it keeps its place in the index. */
static enum item_kind what_is(const struct walk *w, uint32_t child, uint32_t *ret)
{
	enum format_kind kind = index_kind(w->index, child);
	unsigned left = LINKS_MAX;

	*ret = index_inode(w->index, child);
	if (kind == FORMAT_SYMLINK && follow(w->index, child, &left, ret) < 0)
		*ret = LISTS_NONE;
	return *ret != LISTS_NONE && index_kind(w->index, *ret) == FORMAT_DIRECTORY ? ITEM_DIRECTORY
										    : ITEM_FILE;
}

static int collect_directory(struct walk *w, uint32_t child, uint32_t entry, unsigned parts)
{
	size_t len;
	int r = 0;

	if (entry != child && !(w->order->flags & LISTS_LINKS))
		return 0;
	if (w->order->flags & LISTS_HIDE && index_name(w->index, child, &len)[0] == '.')
		return 0;
	if (parts & PART_HALVES)
		r = add_item(w, child, entry, ITEM_OWN_FILES);
	return r < 0 ? r : add_item(w, child, entry, ITEM_DIRECTORY);
}

static int collect_child(struct walk *w, uint32_t child, unsigned parts, bool *ascii)
{
	uint32_t entry;
	size_t len, before = w->count;
	const char *name;
	int r = 0;

	if (index_kind(w->index, child) == FORMAT_FILE && !(parts & PART_FILES))
		return 0;
	name = index_name(w->index, child, &len);
	if (what_is(w, child, &entry) == ITEM_DIRECTORY) {
		if (parts & (PART_DIRECTORIES | PART_HALVES))
			r = collect_directory(w, child, entry, parts);
	} else if (parts & PART_FILES && lists_keeps(w->order, w->suffix, name, len)) {
		r = add_item(w, child, entry, ITEM_FILE);
	}
	if (w->count > before && !is_ascii(name, len))
		*ascii = false;
	return r;
}

/* Pushes the children of those directories that are the items [group, group + count), sorted. */
static int collect(struct walk *w, size_t group, size_t count, unsigned parts)
{
	enum lists_key key = w->order->key;
	bool slash = key == LISTS_PATH || key == LISTS_NATURAL || parts & PART_HALVES;
	size_t first = w->count;
	bool ascii = true, directories = false;
	int r = 0;

	for (size_t i = group; i < group + count; i++) {
		uint32_t entry = w->items[i].entry;
		uint32_t child = (uint32_t)index_get(w->index, SECTION_START, entry);
		uint32_t children = (uint32_t)index_get(w->index, SECTION_SIZE, entry);

		if (w->visits < children)
			return -E2BIG;
		w->visits -= children;
		for (uint32_t end = child + children; child < end && r == 0; child++)
			r = collect_child(w, child, parts, &ascii);
	}
	for (size_t i = first; i < w->count && !directories; i++)
		directories = w->items[i].kind != ITEM_FILE;
	if (r == 0 &&
	    (key == LISTS_NATURAL || (slash && directories) || (!ascii && key != LISTS_BYTES)))
		r = sort_items(w, first, slash);
	return r;
}

static int emit_files(struct walk *w, size_t first, size_t end)
{
	int r = 0;

	for (size_t i = first; i < end && r == 0; i++)
		if (w->items[i].kind == ITEM_FILE)
			r = lists_files_add(w->files, w->items[i].entry);
	return r;
}

static int own_files(struct walk *w, size_t directory)
{
	size_t first = w->count;
	int r = collect(w, directory, 1, PART_FILES);

	if (r == 0)
		r = emit_files(w, first, w->count);
	w->count = first;
	return r;
}

static int walk_group(struct walk *w, size_t group, size_t count);

/* The directories that are equal to this one go with it. */
static int mixed(struct walk *w, size_t first, size_t end)
{
	size_t next;
	int r = 0;

	for (size_t i = first; i < end && r == 0; i = next) {
		next = i + 1;
		if (w->items[i].kind == ITEM_FILE) {
			r = lists_files_add(w->files, w->items[i].entry);
			continue;
		}
		while (next < end && w->items[next].same)
			next++;
		r = walk_group(w, i, next - i);
	}
	return r;
}

static int files_first(struct walk *w, size_t first, size_t end)
{
	bool reverse = w->order->shape == LISTS_LAST_FIRST;
	int r = emit_files(w, first, end);

	for (size_t i = 0; i < end - first && r == 0; i++) {
		size_t at = reverse ? end - 1 - i : first + i;

		if (w->items[at].kind == ITEM_DIRECTORY)
			r = walk_group(w, at, 1);
	}
	return r;
}

/* What lies in directories below this one, its own files not. */
static int below(struct walk *w, size_t directory)
{
	size_t first = w->count, end;
	int r;

	if (++w->depth > DEPTH_MAX)
		return -E2BIG;
	r = collect(w, directory, 1, PART_HALVES);
	end = w->count;
	for (size_t i = first; i < end && r == 0; i++)
		r = w->items[i].kind == ITEM_OWN_FILES ? own_files(w, i) : below(w, i);
	w->count = first;
	w->depth--;
	return r;
}

static int deep(struct walk *w, size_t directory)
{
	int r = own_files(w, directory);

	return r < 0 ? r : below(w, directory);
}

static int classes(struct walk *w, size_t first, size_t end)
{
	int r = 0;

	for (size_t i = first; i < end && r == 0; i++)
		r = w->order->shape == LISTS_CLASSES_DEEP ? deep(w, i) : own_files(w, i);
	return r;
}

static unsigned parts_of(enum lists_shape shape)
{
	switch (shape) {
	case LISTS_FLAT:
		return PART_FILES;
	case LISTS_CLASSES:
	case LISTS_CLASSES_DEEP:
		return PART_DIRECTORIES;
	default:
		return PART_FILES | PART_DIRECTORIES;
	}
}

static int walk_group(struct walk *w, size_t group, size_t count)
{
	enum lists_shape shape = w->order->shape;
	size_t first = w->count;
	int r;

	if (++w->depth > DEPTH_MAX)
		return -E2BIG;
	r = collect(w, group, count, parts_of(shape));
	if (r == 0 && (shape == LISTS_CLASSES || shape == LISTS_CLASSES_DEEP))
		r = classes(w, first, w->count);
	else if (r == 0 && shape == LISTS_MIXED)
		r = mixed(w, first, w->count);
	else if (r == 0)
		r = files_first(w, first, w->count);
	w->count = first;
	w->depth--;
	return r;
}

int lists_tree(const struct index *index, uint32_t directory, const struct lists_order *order,
	       struct lists_word suffix, struct lists_files *files)
{
	struct walk w = {.index = index,
			 .order = order,
			 .suffix = suffix,
			 .files = files,
			 .visits = (uint64_t)VISITS_EACH * index->entries};
	int r = add_item(&w, directory, directory, ITEM_DIRECTORY);

	if (r == 0)
		r = order->shape == LISTS_DEEP ? deep(&w, 0) : walk_group(&w, 0, 1);
	free(w.items);
	buf_release(&w.keys);
	return r;
}
