/* One walk makes all orders: each file gets a key, and the bytes of keys compare as the program
 * compares paths. As long as the walk meets the keys in order, which is the usual case, it
 * remembers only the last one. Otherwise it begins again, keeps all keys, and sorts.
 *
 * The bytes of a key, for each directory on the way, and for the file:
 *
 *	os.walk()		1 name 0	0 name	files first
 *	ImageFolder		/ name		0 name	by folders; a class ends with a 0
 *	sorted paths		name /		name
 *	sorted Path objects	name 0		name	part by part
 *	timm			name /		name	strings and numbers in turn
 *
 * Python compares code points, which for UTF-8 is the same as comparing bytes. Bytes that are not
 * UTF-8 become U+DC80..U+DCFF, which come before U+E000; here they are three bytes of the form ED
 * B2 80. In natural order a string ends with a zero byte, so that a shorter one comes first. A
 * number is the count of its digits, then its digits. Letters beyond ASCII stay as they are, which
 * suffices for file names. For equal keys, sorted() keeps the order of the walk. */
#include "lists/tree.h"
#include "base/bytes.h"
#include "base/scope.h"
#include "base/utf8.h"
#include <string.h>
#include <strings.h>

#define DEPTH_MAX   64
#define LINKS_MAX   40 /* as many as Linux follows for a path */
#define VISITS_EACH 8  /* of an entry, on all ways that links lead to it */

struct tree_item {
	uint64_t key; /* where the key begins in `keys`: those met later begin later */
	uint32_t key_len;
	uint32_t entry;
};

struct tree_walk {
	const struct dataset *dataset;
	const struct lists_order *order;
	struct lists_word suffix;
	struct lists_files *files;
	struct buf key;	 /* of where the walk is */
	struct buf last; /* of the file before */
	uint64_t visits; /* left */
	unsigned depth;

	bool keeps;	  /* files become items, and all keys are kept */
	struct buf items; /* of struct tree_item */
	struct buf keys;  /* end to end */
};

void lists_files_release(struct lists_files *files)
{
	free(files->entries);
	*files = (struct lists_files){0};
}

static int add_file(struct lists_files *files, uint32_t entry)
{
	if (files->count == files->room) {
		size_t room = files->room ? files->room * 2 : 256;
		uint32_t *entries = reallocarray(files->entries, room, sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		files->entries = entries;
		files->room = room;
	}
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

bool lists_keeps(const struct lists_order *order, struct lists_word suffix, struct lists_word name)
{
	const char *dot;

	if (order->hide && name.text[0] == '.')
		return false;
	switch (order->keep) {
	case LISTS_TORCHVISION:
		return ends_in_one_of(name.text, name.len, torchvision_suffixes);
	case LISTS_TIMM: /* for os.path.splitext(), a name like ".jpg" has no suffix */
		dot = memrchr(name.text, '.', name.len);
		return ends_in_one_of(name.text, name.len, timm_suffixes) && dot &&
		       strspn(name.text, ".") < (size_t)(dot - name.text);
	case LISTS_SUFFIX_FOLD:
		return ends_in(name.text, name.len, suffix.text, suffix.len);
	case LISTS_SUFFIX:
		return name.len >= suffix.len &&
		       memcmp(name.text + name.len - suffix.len, suffix.text, suffix.len) == 0;
	}
	return false;
}

/* --- links --------------------------------------------------------------------------------- */

static int follow_link(const struct dataset *dataset, uint32_t entry, unsigned *left,
		       uint32_t *ret);

static int follow_path(const struct dataset *dataset, uint32_t at, struct lists_word path,
		       unsigned *left, uint32_t *ret)
{
	const char *end = path.text + path.len, *stop;
	int r = 0;

	for (const char *name = path.text; name < end && r == 0; name = stop + 1) {
		struct dataset_entry entry;
		size_t len;

		stop = memchr(name, '/', (size_t)(end - name));
		stop = stop ? stop : end;
		len = (size_t)(stop - name);
		entry = dataset_entry(dataset, at);
		if (len == 2 && memcmp(name, "..", 2) == 0 && entry.kind == FORMAT_DIRECTORY) {
			r = at == DATASET_ROOT ? -ENOENT : 0; /* leads out of the pack */
			at = entry.parent;
		} else if (len > 1 || (len == 1 && *name != '.')) {
			r = dataset_lookup(dataset, at, name, len, &at);
			if (r == 0)
				r = follow_link(dataset, at, left, &at);
		} else if (entry.kind != FORMAT_DIRECTORY) {
			r = -ENOTDIR;
		}
	}
	if (r == 0)
		*ret = at;
	return r;
}

/* The inode of an entry, or of what it leads to. `left` counts the links on the whole way, not on
 * one branch, so that no target can make the way long. */
static int follow_link(const struct dataset *dataset, uint32_t entry, unsigned *left, uint32_t *ret)
{
	const struct dataset_entry link = dataset_entry(dataset, entry);
	struct lists_word target;

	*ret = link.inode;
	if (link.kind != FORMAT_SYMLINK)
		return 0;
	target.text = dataset_target(dataset, entry, &target.len);
	if (*left == 0)
		return -ELOOP;
	--*left;
	if (target.text[0] == '/')
		return -ENOENT;
	return follow_path(dataset, link.parent, target, left, ret);
}

/* --- keys ---------------------------------------------------------------------------------- */

/* Writes one character as Python sees it. Returns the bytes read. `to` has room for three bytes. */
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

/* Writes a run of digits, after the end of the string before it. Returns the bytes read. */
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

static void put_name(char **to, const char *name, size_t len, enum lists_key kind)
{
	bool natural = kind == LISTS_NATURAL;
	unsigned char all = 0;

	for (size_t i = 0; i < len; i++)
		all |= (unsigned char)name[i];
	if (kind == LISTS_WALK || (!natural && all < 0x80)) {
		memcpy(*to, name, len);
		*to += len;
		return;
	}
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

static void put_byte(char **to, int byte)
{
	if (byte >= 0)
		*(*to)++ = (char)byte;
}

/* Adds the name of a directory or file to the key of the walk. */
static int add_key(struct tree_walk *w, const struct dataset_child *child, bool directory)
{
	/* Bytes around names; -1: none. */
	static const struct {
		int before_directory, after_directory, before_file;
	} forms[] = {
		[LISTS_FLAT] = {-1, -1, -1},	[LISTS_WALK] = {1, 0, 0},
		[LISTS_CLASSES] = {'/', -1, 0}, [LISTS_PATHS] = {-1, '/', -1},
		[LISTS_PARTS] = {-1, 0, -1},	[LISTS_NATURAL] = {-1, '/', -1},
	};
	enum lists_key kind = w->order->key;
	int before = directory ? forms[kind].before_directory : forms[kind].before_file;
	int after = directory ? forms[kind].after_directory : -1;
	char *to;

	if (directory && kind == LISTS_CLASSES && w->depth == 1)
		after = 0;
	if (buf_reserve(&w->key, 3 * child->name_len + 2) < 0)
		return -ENOMEM;
	to = w->key.data + w->key.len;
	put_byte(&to, before);
	put_name(&to, child->name, child->name_len, kind);
	put_byte(&to, after);
	w->key.len = (size_t)(to - w->key.data);
	return 0;
}

static int compare_tree_items(const void *a, const void *b, void *keys)
{
	const struct tree_item *x = a, *y = b;
	int order =
		bytes_compare((char *)keys + x->key, x->key_len, (char *)keys + y->key, y->key_len);

	return order ? order : (x->key > y->key) - (x->key < y->key);
}

/* --- the walk ------------------------------------------------------------------------------ */

/* Adds a file, whose key is that of the walk. Returns -EAGAIN if keys must be kept. */
static int add_walked(struct tree_walk *w, uint32_t entry)
{
	struct tree_item item;

	if (!w->keeps) {
		if (w->last.len &&
		    bytes_compare(w->key.data, w->key.len, w->last.data, w->last.len) < 0)
			return -EAGAIN;
		w->last.len = 0;
		if (buf_add(&w->last, w->key.data, w->key.len) < 0)
			return -ENOMEM;
		return add_file(w->files, entry);
	}
	item = (struct tree_item){w->keys.len, (uint32_t)w->key.len, entry};
	if (buf_add(&w->items, &item, sizeof(item)) < 0)
		return -ENOMEM;
	return buf_add(&w->keys, w->key.data, w->key.len);
}

static int list_directory(struct tree_walk *w, uint32_t directory);

static int walk_child(struct tree_walk *w, uint32_t number)
{
	struct dataset_child child = dataset_child(w->dataset, number);
	const struct lists_word name = {child.name, child.name_len};
	const struct lists_order *order = w->order;
	bool directory = child.kind == FORMAT_DIRECTORY, wanted;
	unsigned left = LINKS_MAX;
	uint32_t entry = child.inode;
	int r;

	/* A link out of the pack may lead to a file, and keeps its place in the list. */
	if (child.kind == FORMAT_SYMLINK && follow_link(w->dataset, number, &left, &entry) < 0)
		entry = LISTS_NONE;
	else if (child.kind == FORMAT_SYMLINK)
		directory = dataset_child(w->dataset, entry).kind == FORMAT_DIRECTORY;
	if (directory)
		wanted = order->key != LISTS_FLAT && !(order->hide && child.name[0] == '.') &&
			 (child.kind != FORMAT_SYMLINK || order->links);
	else
		wanted = (order->key != LISTS_CLASSES || w->depth > 1) &&
			 lists_keeps(order, w->suffix, name);
	if (!wanted)
		return 0;
	r = add_key(w, &child, directory);
	if (r < 0)
		return r;
	return directory ? list_directory(w, entry) : add_walked(w, entry);
}

static int list_directory(struct tree_walk *w, uint32_t directory)
{
	size_t len = w->key.len;
	const struct dataset_entry entry = dataset_entry(w->dataset, directory);
	int r = 0;

	if (w->depth == DEPTH_MAX || w->visits < entry.children)
		return -E2BIG;
	w->depth++;
	w->visits -= entry.children;
	for (uint32_t n = 0; n < entry.children && r == 0; n++) {
		r = walk_child(w, entry.first_child + n);
		w->key.len = len;
	}
	w->depth--;
	return r;
}

/* Walks all that is below a directory, from the beginning. */
static int walk_all(struct tree_walk *w, uint32_t directory, bool keeps)
{
	w->keeps = keeps;
	w->depth = 0;
	w->key.len = 0;
	w->visits = (uint64_t)VISITS_EACH * dataset_entries(w->dataset);
	return list_directory(w, directory);
}

int lists_tree(const struct dataset *dataset, uint32_t directory, const struct lists_order *order,
	       struct lists_word suffix, struct lists_files *files)
{
	struct tree_walk w = {.dataset = dataset, .order = order, .suffix = suffix, .files = files};
	size_t first = files->count, count;
	struct tree_item *items;
	int r = walk_all(&w, directory, false);

	if (r == -EAGAIN) {
		files->count = first;
		r = walk_all(&w, directory, true);
		items = (struct tree_item *)w.items.data;
		count = BUF_COUNT(&w.items, *items);
		if (r == 0)
			qsort_r(items, count, sizeof(*items), compare_tree_items, w.keys.data);
		for (size_t i = 0; i < count && r == 0; i++)
			r = add_file(files, items[i].entry);
	}
	buf_release(&w.key);
	buf_release(&w.last);
	buf_release(&w.keys);
	buf_release(&w.items);
	return r;
}
