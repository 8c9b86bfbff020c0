#include "pack/tool/scan.h"

#include "base/date.h"
#include "base/scope.h"
#include "pack/tool/inodes.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

struct scan {
	const struct scan_watch *watch;
	struct scan_entry *entries;
	size_t count, room;
	struct buf texts; /* names and targets, each NUL-ended */
	struct inodes inodes;
	uint64_t files, bytes;
	uint64_t unwanted; /* names */
};

/* A name of a directory that is being read; becomes an entry once its siblings are sorted. */
struct item {
	struct scan_entry entry;
	struct inode_id inode;
	bool linked; /* has other names, maybe in this tree */
};

struct items {
	struct item *items;
	size_t count, room;
};

static void release_items(struct items *items)
{
	free(items->items);
}

static int grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *bigger;

	if (count < *room)
		return 0;
	bigger = realloc(*(void **)array, more * size);
	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	*room = more;
	return 0;
}

static int add_text(struct scan *scan, const char *text, size_t len, uint64_t *ret)
{
	uint64_t at = scan->texts.len;
	int r = buf_reserve(&scan->texts, len + 1);

	if (r == 0)
		r = buf_add(&scan->texts, text, len);
	if (r == 0)
		r = buf_add(&scan->texts, "", 1);
	if (r == 0)
		*ret = at;
	return r;
}

/* The siblings' order makes the order of their paths: "a-b" < "a/x" < "ab", where a is a
 * directory. */
static int compare_items(const void *one, const void *two, void *texts)
{
	const struct scan_entry *a = &((const struct item *)one)->entry;
	const struct scan_entry *b = &((const struct item *)two)->entry;
	const char *name_a = (char *)texts + a->name, *name_b = (char *)texts + b->name;
	size_t common = a->name_len < b->name_len ? a->name_len : b->name_len;
	int r = memcmp(name_a, name_b, common), next_a, next_b;

	if (r != 0)
		return r;
	next_a = a->kind == FORMAT_DIRECTORY ? '/' : 0;
	next_b = b->kind == FORMAT_DIRECTORY ? '/' : 0;
	if (a->name_len > common)
		next_a = (unsigned char)name_a[common];
	if (b->name_len > common)
		next_b = (unsigned char)name_b[common];
	return next_a - next_b;
}

/* Tells the watch, with the path of `name` in a directory (NULL: of the directory itself). */
static int unreadable(struct scan *scan, uint32_t directory, const char *name, int error)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = scan_path(scan, directory, &path);

	if (r == 0 && name)
		r = buf_addf(&path, "%s%s", path.len ? "/" : "", name);
	return r < 0 ? r : scan->watch->unreadable(scan->watch->context, path.data, error);
}

static int special(struct scan *scan, uint32_t directory, const char *name, mode_t mode)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	const char *what = S_ISFIFO(mode)   ? "a named pipe"
			   : S_ISSOCK(mode) ? "a socket"
					    : "a device";
	int r = scan_path(scan, directory, &path);

	if (r == 0)
		r = buf_addf(&path, "%s%s", path.len ? "/" : "", name);
	if (r == 0)
		scan->watch->special(scan->watch->context, path.data, what);
	return r;
}

static int read_target(struct scan *scan, int fd, const char *name, struct scan_entry *entry)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, name, target, sizeof(target));

	if (len < 0)
		return -errno;
	if (len == sizeof(target))
		return -ENAMETOOLONG;
	entry->size = (uint64_t)len;
	return add_text(scan, target, (size_t)len, &entry->target);
}

/* *ret says whether a name is part of the tree. */
static int ask_wanted(struct scan *scan, uint32_t directory, const char *name, bool is_directory,
		      bool *ret)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = scan_path(scan, directory, &path);

	if (r == 0)
		r = buf_addf(&path, "%s%s", path.len ? "/" : "", name);
	if (r == 0)
		*ret = scan->watch->wanted(scan->watch->context, path.data, is_directory);
	if (r == 0 && !*ret)
		scan->unwanted++;
	return r;
}

/* Looks at one name. Returns 0 with *ret_kept saying whether it is packed. */
static int look_at(struct scan *scan, int fd, uint32_t parent, const struct dirent *found,
		   struct item *item, bool *ret_kept)
{
	const char *name = found->d_name;
	bool wanted = true;
	struct stat st;
	int r = 0;

	*ret_kept = false;
	/* Not to look at what is not wanted spares reading its inode. */
	if (scan->watch->wanted && found->d_type != DT_UNKNOWN)
		r = ask_wanted(scan, parent, name, found->d_type == DT_DIR, &wanted);
	if (r < 0 || !wanted)
		return r;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return unreadable(scan, parent, name, -errno);
	if (scan->watch->wanted && found->d_type == DT_UNKNOWN)
		r = ask_wanted(scan, parent, name, S_ISDIR(st.st_mode), &wanted);
	if (r < 0 || !wanted)
		return r;
	*item = (struct item){
		.entry = {.parent = parent,
			  .mode = st.st_mode & 07777,
			  .mtime = date_of(st.st_mtim)},
		.inode = {.dev = st.st_dev, .ino = st.st_ino},
	};
	if (!format_name_valid(name, strlen(name)))
		return unreadable(scan, parent, name, -ENAMETOOLONG);
	if (S_ISDIR(st.st_mode)) {
		item->entry.kind = FORMAT_DIRECTORY;
	} else if (S_ISREG(st.st_mode)) {
		item->entry.kind = FORMAT_FILE;
		item->entry.size = (uint64_t)st.st_size;
		item->linked = st.st_nlink > 1;
	} else if (S_ISLNK(st.st_mode)) {
		item->entry.kind = FORMAT_SYMLINK;
		r = read_target(scan, fd, name, &item->entry);
		if (r < 0)
			return r == -ENOMEM ? r : unreadable(scan, parent, name, r);
	} else {
		return special(scan, parent, name, st.st_mode);
	}
	item->entry.name_len = (uint8_t)strlen(name);
	*ret_kept = true;
	return add_text(scan, name, strlen(name), &item->entry.name);
}

/* The names of one directory. The stream takes the descriptor over. */
static int read_items(struct scan *scan, DIR *stream, uint32_t parent, struct items *items)
{
	struct dirent *name;
	bool kept;
	int r;

	for (;;) {
		errno = 0;
		name = readdir(stream);
		if (!name && errno) {
			items->count = 0;
			return unreadable(scan, parent, NULL, -errno);
		}
		if (!name)
			return 0;
		if (strcmp(name->d_name, ".") == 0 || strcmp(name->d_name, "..") == 0)
			continue;
		r = grow(&items->items, items->count, &items->room, sizeof(*items->items));
		if (r == 0)
			r = look_at(scan, dirfd(stream), parent, name, items->items + items->count,
				    &kept);
		if (r != 0)
			return r;
		items->count += kept;
	}
}

static int append(struct scan *scan, const struct scan_entry *entry, uint32_t *ret)
{
	int r;

	if (scan->count == UINT32_MAX)
		return -EOVERFLOW;
	r = grow(&scan->entries, scan->count, &scan->room, sizeof(*scan->entries));
	if (r < 0)
		return r;
	*ret = (uint32_t)scan->count;
	scan->entries[scan->count++] = *entry;
	return 0;
}

/* A further name of a file that was met before is a hard link to it. */
static int append_file(struct scan *scan, struct item *item)
{
	uint32_t entry = (uint32_t)scan->count, first = entry;
	int r = item->linked ? inodes_first(&scan->inodes, &item->inode, entry, &first) : 0;

	if (r < 0)
		return r;
	if (first != entry) {
		item->entry.kind = FORMAT_HARDLINK;
		item->entry.target = first;
	} else {
		scan->files++;
		scan->bytes += item->entry.size;
	}
	return append(scan, &item->entry, &entry);
}

static int scan_directory(struct scan *scan, int fd, uint32_t self);

static int append_directory(struct scan *scan, int parent_fd, const struct item *item)
{
	uint64_t unwanted = scan->unwanted;
	uint32_t self;
	int fd, r = append(scan, &item->entry, &self);

	if (r < 0)
		return r;
	fd = openat(parent_fd, scan_name(scan, self),
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return unreadable(scan, self, NULL, -errno);
	r = scan_directory(scan, fd, self);
	if (scan->count == self + 1u && scan->unwanted > unwanted)
		scan->count = self;
	return r;
}

static void close_stream(DIR **stream)
{
	if (*stream)
		closedir(*stream);
}

/* Appends what is in a directory that has its entry; closes fd. */
static int scan_directory(struct scan *scan, int fd, uint32_t self)
{
	SCOPE(close_stream) DIR *stream = fdopendir(fd);
	SCOPE(release_items) struct items items = {0};
	int r;

	if (!stream) {
		close(fd);
		return -ENOMEM;
	}
	r = scan->watch->tick(scan->watch->context, scan->count);
	if (r == 0)
		r = read_items(scan, stream, self, &items);
	if (r == 0 && items.count > 1)
		qsort_r(items.items, items.count, sizeof(*items.items), compare_items,
			scan->texts.data);
	for (size_t i = 0; r == 0 && i < items.count; i++) {
		struct item *item = items.items + i;
		uint32_t entry;

		if (item->entry.kind == FORMAT_DIRECTORY)
			r = append_directory(scan, dirfd(stream), item);
		else if (item->entry.kind == FORMAT_FILE)
			r = append_file(scan, item);
		else
			r = append(scan, &item->entry, &entry);
	}
	return r;
}

static int scan_root(struct scan *scan, int root)
{
	struct scan_entry entry = {.kind = FORMAT_DIRECTORY};
	struct stat st;
	uint32_t self;
	int fd, r = add_text(scan, "", 0, &entry.name);

	if (r < 0)
		return r;
	if (fstat(root, &st) < 0)
		return -errno;
	entry.mode = st.st_mode & 07777;
	entry.mtime = date_of(st.st_mtim);
	r = append(scan, &entry, &self);
	if (r < 0)
		return r;
	/* A descriptor of its own: the caller's keeps its position and stays open. */
	fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return unreadable(scan, self, NULL, -errno);
	return scan_directory(scan, fd, self);
}

int scan_new(int root, const struct scan_watch *watch, struct scan **ret)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan)
		return -ENOMEM;
	scan->watch = watch;
	r = scan_root(scan, root);
	if (r != 0) {
		scan_free(scan);
		return r;
	}
	inodes_release(&scan->inodes);
	scan->watch = NULL;
	*ret = scan;
	return 0;
}

void scan_free(struct scan *scan)
{
	if (!scan)
		return;
	inodes_release(&scan->inodes);
	buf_release(&scan->texts);
	free(scan->entries);
	free(scan);
}

void scan_forget_names(struct scan *scan)
{
	buf_release(&scan->texts);
}

uint32_t scan_entries(const struct scan *scan)
{
	return (uint32_t)scan->count;
}

uint64_t scan_files(const struct scan *scan)
{
	return scan->files;
}

uint64_t scan_bytes(const struct scan *scan)
{
	return scan->bytes;
}

const struct scan_entry *scan_entry(const struct scan *scan, uint32_t entry)
{
	return scan->entries + entry;
}

const char *scan_name(const struct scan *scan, uint32_t entry)
{
	return scan->texts.data + scan->entries[entry].name;
}

const char *scan_target(const struct scan *scan, uint32_t entry)
{
	return scan->texts.data + scan->entries[entry].target;
}

static int add_path(const struct scan *scan, uint32_t entry, struct buf *path)
{
	uint32_t parent = scan->entries[entry].parent;
	int r;

	if (entry == SCAN_ROOT)
		return 0;
	r = add_path(scan, parent, path);
	if (r == 0 && parent != SCAN_ROOT)
		r = buf_add(path, "/", 1);
	return r < 0 ? r : buf_add(path, scan_name(scan, entry), scan->entries[entry].name_len);
}

int scan_path(const struct scan *scan, uint32_t entry, struct buf *path)
{
	int r = add_path(scan, entry, path);

	return r < 0 ? r : buf_adds(path, "");
}
