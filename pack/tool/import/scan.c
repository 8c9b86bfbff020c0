#include "pack/tool/import/scan.h"

#include "base/date.h"
#include "base/scope.h"
#include "pack/tool/import/entry_table.h"
#include "pack/tool/import/parallel_for.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct inode_id {
	uint64_t dev, ino;
};

/* The first entry of a file that has several names. */
struct first_name {
	struct inode_id inode;
	uint32_t entry;
};

/* A name of a directory that is being read; becomes an entry once its siblings are sorted. */
struct scan_item {
	struct scan_entry entry; /* its mode with the type */
	struct inode_id inode;
	int error;   /* it cannot be looked at */
	bool linked; /* has other names, maybe in this tree */
	bool wanted; /* for sure: it was asked for */
};

struct scan_items {
	struct scan_item *items;
	size_t count, room;
};

/*	names -> [each looked at: by any thread, in the order of inodes] -> sorted -> entries
 *
 * The table of inodes is read once through where nothing of it is in memory, and a server is
 * asked for many at a time. */
struct scan {
	const struct scan_watch *watch;
	struct scan_entry *entries;
	size_t count, room;
	struct buf names;  /* each NUL-ended; nothing is added while several threads look */
	struct buf firsts; /* struct first_name */
	struct entry_table by_inode; /* a number in firsts, from 1 on */
	uint64_t files, bytes;
	uint64_t unwanted; /* names */
	bool follow;

	struct parallel_for parallel;
	struct scan_item *items; /* that are looked at, each by one thread */
	int directory;		 /* theirs */
	pthread_mutex_t lock;
	struct buf targets; /* each NUL-ended; protected by lock */
};

static void release_items(struct scan_items *items)
{
	free(items->items);
}

static int grow_array(void *array, size_t count, size_t *room, size_t size)
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

static int add_string(struct buf *texts, const char *text, size_t len, uint64_t *ret)
{
	uint64_t at = texts->len;
	int r = buf_reserve(texts, len + 1);

	if (r == 0)
		r = buf_add(texts, text, len);
	if (r == 0)
		r = buf_add(texts, "", 1);
	if (r == 0)
		*ret = at;
	return r;
}

static const char *item_name(const struct scan *scan, const struct scan_item *item)
{
	return scan->names.data + item->entry.name;
}

static int compare_inodes(const void *one, const void *two)
{
	const struct scan_item *a = one, *b = two;

	return (a->inode.ino > b->inode.ino) - (a->inode.ino < b->inode.ino);
}

/* The siblings' order makes the order of their paths: "a-b" < "a/x" < "ab", where a is a
 * directory. */
static int compare_items(const void *one, const void *two, void *names)
{
	const struct scan_entry *a = &((const struct scan_item *)one)->entry;
	const struct scan_entry *b = &((const struct scan_item *)two)->entry;
	const char *name_a = (char *)names + a->name, *name_b = (char *)names + b->name;
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

/* The path of `name` in a directory; NULL: of the directory itself. */
static int path_in(const struct scan *scan, uint32_t directory, const char *name, struct buf *path)
{
	int r = scan_path(scan, directory, path);

	return r < 0 || !name ? r : buf_addf(path, "%s%s", path->len ? "/" : "", name);
}

static int unreadable(struct scan *scan, uint32_t directory, const char *name, int error)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = path_in(scan, directory, name, &path);

	return r < 0 ? r : scan->watch->unreadable(scan->watch->context, path.data, error);
}

static int special_item(struct scan *scan, uint32_t directory, const char *name, mode_t mode)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	const char *what = S_ISFIFO(mode)   ? "a named pipe"
			   : S_ISSOCK(mode) ? "a socket"
					    : "a device";
	int r = path_in(scan, directory, name, &path);

	if (r == 0)
		scan->watch->special(scan->watch->context, path.data, what);
	return r;
}

/* *ret says whether a name is part of the tree. */
static int ask_wanted(struct scan *scan, uint32_t directory, const char *name, bool is_directory,
		      bool *ret)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = path_in(scan, directory, name, &path);

	if (r == 0)
		*ret = scan->watch->wanted(scan->watch->context, path.data, is_directory);
	if (r == 0 && !*ret)
		scan->unwanted++;
	return r;
}

/* --- one directory: its names ------------------------------------------------------------- */

/* Whether a name comes with what it is. */
static bool tells_type(const struct scan *scan, const struct dirent *found)
{
	return found->d_type != DT_UNKNOWN && !(scan->follow && found->d_type == DT_LNK);
}

static int add_item(struct scan *scan, const struct dirent *found, uint32_t parent,
		    struct scan_items *items)
{
	size_t len = strlen(found->d_name);
	struct scan_item *item;
	int r = grow_array(&items->items, items->count, &items->room, sizeof(*items->items));

	if (r < 0)
		return r;
	item = items->items + items->count;
	*item = (struct scan_item){
		.entry = {.parent = parent, .kind = FORMAT_FILE, .name_len = (uint8_t)len},
		.inode = {.ino = found->d_ino},
		.error = format_name_valid(found->d_name, len) ? 0 : -ENAMETOOLONG,
		.wanted = !scan->watch->wanted || tells_type(scan, found),
	};
	r = add_string(&scan->names, found->d_name, len, &item->entry.name);
	items->count += r == 0;
	return r;
}

/* Not to look at what is not wanted spares reading its inode. */
static int take_item(struct scan *scan, const struct dirent *found, uint32_t parent,
		     struct scan_items *items)
{
	bool wanted = true;
	int r = 0;

	if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
		return 0;
	if (scan->watch->wanted && tells_type(scan, found))
		r = ask_wanted(scan, parent, found->d_name, found->d_type == DT_DIR, &wanted);
	return r == 0 && wanted ? add_item(scan, found, parent, items) : r;
}

static int read_names(struct scan *scan, DIR *stream, uint32_t parent, struct scan_items *items)
{
	struct dirent *found;
	int r = 0;

	while (r == 0) {
		errno = 0;
		found = readdir(stream);
		if (!found && errno) {
			items->count = 0;
			return unreadable(scan, parent, NULL, -errno);
		}
		if (!found)
			return 0;
		r = take_item(scan, found, parent, items);
	}
	return r;
}

/* --- what they are ------------------------------------------------------------------------ */

static int read_target(struct scan *scan, struct scan_item *item)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(scan->directory, item_name(scan, item), target, sizeof(target));

	if (len < 0)
		return -errno;
	if (len == sizeof(target))
		return -ENAMETOOLONG;
	item->entry.size = (uint64_t)len;

	SCOPE_LOCK(&scan->lock);
	return add_string(&scan->targets, target, (size_t)len, &item->entry.target);
}

static void look_at_item(void *context, size_t number)
{
	struct scan *scan = context;
	struct scan_item *item = scan->items + number;
	struct stat st;

	if (item->error)
		return;
	if (fstatat(scan->directory, item_name(scan, item), &st,
		    scan->follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0) {
		item->error = -errno;
		return;
	}
	item->entry.mode = (uint16_t)st.st_mode;
	item->entry.mtime = date_of(st.st_mtim);
	item->inode = (struct inode_id){.dev = st.st_dev, .ino = st.st_ino};
	if (S_ISDIR(st.st_mode)) {
		item->entry.kind = FORMAT_DIRECTORY;
	} else if (S_ISREG(st.st_mode)) {
		item->entry.size = (uint64_t)st.st_size;
		item->linked = st.st_nlink > 1 || scan->follow;
	} else if (S_ISLNK(st.st_mode)) {
		item->entry.kind = FORMAT_SYMLINK;
		item->error = read_target(scan, item);
	}
}

static void look_at_all(struct scan *scan, int directory, struct scan_items *items)
{
	if (items->count > 1)
		qsort(items->items, items->count, sizeof(*items->items), compare_inodes);
	scan->items = items->items;
	scan->directory = directory;
	parallel_for_run(&scan->parallel, items->count);
	scan->items = NULL;
}

/* Returns 0 with *ret saying whether it is packed. */
static int check_item(struct scan *scan, uint32_t parent, struct scan_item *item, bool *ret)
{
	const char *name = item_name(scan, item);
	mode_t mode = item->entry.mode;
	int r = 0;

	*ret = false;
	if (item->error)
		return item->error == -ENOMEM ? -ENOMEM
					      : unreadable(scan, parent, name, item->error);
	if (!item->wanted)
		r = ask_wanted(scan, parent, name, S_ISDIR(mode), &item->wanted);
	if (r < 0 || !item->wanted)
		return r;
	if (!S_ISDIR(mode) && !S_ISREG(mode) && !S_ISLNK(mode))
		return special_item(scan, parent, name, mode);
	item->entry.mode = mode & 07777;
	*ret = true;
	return 0;
}

/* Leaves those that are packed. */
static int check_items(struct scan *scan, uint32_t parent, struct scan_items *items)
{
	size_t kept = 0;
	bool packed;
	int r = 0;

	for (size_t i = 0; r == 0 && i < items->count; i++) {
		r = check_item(scan, parent, &items->items[i], &packed);
		if (r == 0 && packed)
			items->items[kept++] = items->items[i];
	}
	items->count = kept;
	return r;
}

/* What is in a directory, in order. */
static int read_items(struct scan *scan, DIR *stream, uint32_t parent, struct scan_items *items)
{
	int r = read_names(scan, stream, parent, items);

	if (r != 0 || items->count == 0)
		return r;
	look_at_all(scan, dirfd(stream), items);
	qsort_r(items->items, items->count, sizeof(*items->items), compare_items, scan->names.data);
	return check_items(scan, parent, items);
}

/* --- entries ------------------------------------------------------------------------------ */

static int append_entry(struct scan *scan, const struct scan_entry *entry, uint32_t *ret)
{
	int r;

	if (scan->count == UINT32_MAX)
		return -EOVERFLOW;
	r = grow_array(&scan->entries, scan->count, &scan->room, sizeof(*scan->entries));
	if (r < 0)
		return r;
	*ret = (uint32_t)scan->count;
	scan->entries[scan->count++] = *entry;
	return 0;
}

/* The entry that the inode was first met as: `entry` itself where it is new. */
static int find_first(struct scan *scan, const struct inode_id *inode, uint32_t entry,
		      uint32_t *ret_first)
{
	/* Inode numbers are dense: a multiplication spreads them well enough. */
	uint32_t hash = (uint32_t)((inode->ino ^ inode->dev << 40) * 0x9e3779b97f4a7c15u >> 32);
	const struct first_name *firsts = (const void *)scan->firsts.data;
	const struct first_name new = {.inode = *inode, .entry = entry};
	uint32_t number;
	size_t at = 0;

	*ret_first = entry;
	while ((number = entry_table_next(&scan->by_inode, hash, &at)) != 0) {
		if (firsts[number - 1].inode.ino == inode->ino &&
		    firsts[number - 1].inode.dev == inode->dev) {
			*ret_first = firsts[number - 1].entry;
			return 0;
		}
	}
	if (buf_add(&scan->firsts, &new, sizeof(new)) < 0)
		return -ENOMEM;
	return entry_table_add(&scan->by_inode, hash, (uint32_t)(scan->firsts.len / sizeof(new)));
}

/* A further name of a file that was met before is a hard link to it. */
static int append_file(struct scan *scan, struct scan_item *item)
{
	uint32_t entry = (uint32_t)scan->count, first = entry;
	int r = item->linked ? find_first(scan, &item->inode, entry, &first) : 0;

	if (r < 0)
		return r;
	if (first != entry) {
		item->entry.kind = FORMAT_HARDLINK;
		item->entry.target = first;
	} else {
		scan->files++;
		scan->bytes += item->entry.size;
	}
	return append_entry(scan, &item->entry, &entry);
}

/* A directory that is being read, and those above it. */
struct scan_level {
	const struct scan_level *above;
	int fd;
	uint32_t self;
	struct inode_id inode;
};

static int scan_directory(struct scan *scan, const struct scan_level *level);

/* A link to a directory above it has no end. */
static bool is_loop(const struct scan_level *level, const struct inode_id *inode)
{
	for (; level; level = level->above)
		if (level->inode.ino == inode->ino && level->inode.dev == inode->dev)
			return true;
	return false;
}

static int append_directory(struct scan *scan, const struct scan_level *above, int parent_fd,
			    const struct scan_item *item)
{
	struct scan_level level = {.above = above, .inode = item->inode};
	uint64_t unwanted = scan->unwanted;
	uint32_t self;
	int fd, r;

	if (scan->follow && is_loop(above, &item->inode))
		return unreadable(scan, above->self, item_name(scan, item), -ELOOP);
	r = append_entry(scan, &item->entry, &self);
	if (r < 0)
		return r;
	fd = openat(parent_fd, scan_name(scan, self),
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | (scan->follow ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return unreadable(scan, self, NULL, -errno);
	level.fd = fd;
	level.self = self;
	r = scan_directory(scan, &level);
	if (scan->count == self + 1u && scan->unwanted > unwanted)
		scan->count = self;
	return r;
}

static void close_stream(DIR **stream)
{
	if (*stream)
		closedir(*stream);
}

/* Appends what is in a directory that has its entry; closes its fd. */
static int scan_directory(struct scan *scan, const struct scan_level *level)
{
	SCOPE(close_stream) DIR *stream = fdopendir(level->fd);
	SCOPE(release_items) struct scan_items items = {0};
	int r;

	if (!stream) {
		close(level->fd);
		return -ENOMEM;
	}
	r = scan->watch->tick(scan->watch->context, scan->count);
	if (r == 0)
		r = read_items(scan, stream, level->self, &items);
	for (size_t i = 0; r == 0 && i < items.count; i++) {
		struct scan_item *item = items.items + i;
		uint32_t entry;

		if (item->entry.kind == FORMAT_DIRECTORY)
			r = append_directory(scan, level, dirfd(stream), item);
		else if (item->entry.kind == FORMAT_FILE)
			r = append_file(scan, item);
		else
			r = append_entry(scan, &item->entry, &entry);
	}
	return r;
}

static int scan_root(struct scan *scan, int root)
{
	struct scan_entry entry = {.kind = FORMAT_DIRECTORY};
	struct scan_level level = {0};
	struct stat st;
	int r = add_string(&scan->names, "", 0, &entry.name);

	if (r < 0)
		return r;
	if (fstat(root, &st) < 0)
		return -errno;
	entry.mode = st.st_mode & 07777;
	entry.mtime = date_of(st.st_mtim);
	level.inode = (struct inode_id){.dev = st.st_dev, .ino = st.st_ino};
	r = append_entry(scan, &entry, &level.self);
	if (r < 0)
		return r;
	/* A descriptor of its own: the caller's keeps its position and stays open. */
	level.fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (level.fd < 0)
		return unreadable(scan, level.self, NULL, -errno);
	return scan_directory(scan, &level);
}

/* What is needed only until the tree is known. */
static void scan_end(struct scan *scan)
{
	entry_table_release(&scan->by_inode);
	buf_release(&scan->firsts);
	scan->watch = NULL;
}

int scan_new(const struct scan_params *params, const struct scan_watch *watch, struct scan **ret)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan)
		return -ENOMEM;
	scan->watch = watch;
	scan->follow = params->follow;
	pthread_mutex_init(&scan->lock, NULL);
	scan->parallel = (struct parallel_for){.threads = params->jobs,
					       .patience_ns = params->patience_ns,
					       .work = look_at_item,
					       .context = scan};
	r = scan_root(scan, params->root);
	scan_end(scan);
	if (r != 0) {
		scan_free(scan);
		return r;
	}
	*ret = scan;
	return 0;
}

void scan_free(struct scan *scan)
{
	if (!scan)
		return;
	pthread_mutex_destroy(&scan->lock);
	buf_release(&scan->names);
	buf_release(&scan->targets);
	free(scan->entries);
	free(scan);
}

void scan_forget(struct scan *scan, uint32_t before)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)scan->entries;
	uintptr_t end = (first + before * sizeof(*scan->entries)) & ~(page - 1);

	first = (first + page - 1) & ~(page - 1);
	if (first < end)
		madvise((void *)first, end - first, MADV_DONTNEED);
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
	return scan->names.data + scan->entries[entry].name;
}

const char *scan_target(const struct scan *scan, uint32_t entry)
{
	return scan->targets.data + scan->entries[entry].target;
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
