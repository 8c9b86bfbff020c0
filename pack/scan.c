#include "pack/scan.h"

#include "base/buf.h"
#include "base/number_table.h"
#include "base/parallel_for.h"
#include "base/scope.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

struct inode_id {
	uint64_t dev, ino;
};

/* The first entry of a file that has several names. */
struct first_name {
	struct inode_id inode;
	uint32_t entry;
};

/* A name of a directory that is being read. */
struct scan_item {
	char *name;
	char *target; /* of a symbolic link */
	struct inode_id inode;
	uint64_t size;
	struct timespec mtime;
	mode_t mode; /* with the type; 0: not known yet */
	int error;   /* it cannot be looked at */
	bool linked; /* may have other names in this tree */
	bool wanted; /* this is known */
};

/* A directory that is being read, and those above it. If not everything is wanted, it becomes an
 * entry with the first entry in it. */
struct scan_level {
	struct scan_level *above;
	const struct scan_item *item;
	int fd;
	uint32_t id;	/* or NOT_ADDED */
	unsigned depth; /* of the root: 0 */
};

#define NOT_ADDED UINT32_MAX

/* names -> [each looked at: by any thread, in the order of inodes] -> sorted -> entries
 *
 * So the table of inodes on a disk is read once, from front to back, and a server is asked for many
 * inodes at the same time. */
struct scan {
	const struct scan_params *params;
	struct filter *filter; /* NULL: everything is wanted */
	struct err *err;
	struct scan_counts counts;
	uint64_t unwanted;	      /* names */
	struct buf firsts;	      /* struct first_name */
	struct number_table by_inode; /* a number in firsts, from 1 on */

	struct parallel_for parallel;
	struct scan_item *items; /* to look at, each by one thread */
	int directory;		 /* theirs */
};

static void release_items(struct buf *items)
{
	struct scan_item *all = BUF_ITEMS(items, struct scan_item);

	for (size_t i = 0; i < BUF_COUNT(items, *all); i++) {
		free(all[i].name);
		free(all[i].target);
	}
	buf_release(items);
}

static int compare_inodes(const void *one, const void *two)
{
	const struct scan_item *a = one, *b = two;

	return (a->inode.ino > b->inode.ino) - (a->inode.ino < b->inode.ino);
}

/* The character at `i`, where the name of a directory ends in '/'. */
static int key_at(const struct scan_item *item, size_t i)
{
	return item->name[i] || !S_ISDIR(item->mode) ? (unsigned char)item->name[i] : '/';
}

/* This order of siblings gives the order of their paths: "a-b" < "a/x" < "ab", where a is a
 * directory. */
static int compare_items(const void *one, const void *two)
{
	const struct scan_item *a = one, *b = two;
	size_t i = 0;

	while (a->name[i] && a->name[i] == b->name[i])
		i++;
	return key_at(a, i) - key_at(b, i);
}

/* The path of `name` in a directory; NULL: of the directory itself. */
static int path_in(const struct scan_level *level, const char *name, struct buf *path)
{
	int r = level->above ? path_in(level->above, level->item->name, path) : buf_adds(path, "");

	return r < 0 || !name ? r : buf_addf(path, "%s%s", path->len ? "/" : "", name);
}

static int bad_name(const struct scan *scan, const struct scan_level *level, const char *name,
		    int error)
{
	const struct scan_watch *watch = scan->params->watch;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = path_in(level, name, &path);

	return r < 0 ? r : watch->bad(watch->context, path.data, strerror(-error));
}

/* *ret says whether a name is part of the tree. */
static int ask_wanted(struct scan *scan, const struct scan_level *level, const char *name,
		      bool is_directory, bool *ret)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = path_in(level, name, &path);

	if (r == 0)
		*ret = filter_wants(scan->filter, path.data, is_directory);
	if (r == 0 && !*ret)
		scan->unwanted++;
	return r;
}

/* --- one directory: its names ------------------------------------------------------------- */

/* Whether the filesystem told the type with the name. */
static bool knows_type(const struct scan *scan, const struct dirent *found)
{
	return found->d_type != DT_UNKNOWN && !(scan->params->follow && found->d_type == DT_LNK);
}

/* 0; 1 if the directory cannot be read to its end, which was reported; or a failure. */
static int read_names(struct scan *scan, DIR *stream, const struct scan_level *level,
		      struct buf *items)
{
	for (;;) {
		struct scan_item item = {.wanted = true};
		struct dirent *found;
		const char *name;
		int r = 0;

		errno = 0;
		found = readdir(stream);
		if (!found && errno) {
			r = bad_name(scan, level, NULL, -errno);
			return r < 0 ? r : 1;
		}
		if (!found)
			return 0;
		name = found->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		/* What is not wanted is skipped here, before its inode is read. */
		if (scan->filter && knows_type(scan, found)) {
			r = ask_wanted(scan, level, name, found->d_type == DT_DIR, &item.wanted);
			if (r < 0)
				return r;
			if (!item.wanted)
				continue;
		} else if (scan->filter) {
			item.wanted = false; /* as far as is known */
		}
		item.name = strdup(name);
		item.inode.ino = found->d_ino;
		if (!format_name_valid(name, strlen(name)))
			item.error = -ENAMETOOLONG;
		if (!item.name || buf_add(items, &item, sizeof(item)) < 0) {
			free(item.name);
			return -ENOMEM;
		}
	}
}

/* --- what they are ------------------------------------------------------------------------ */

static void look_at_item(void *context, size_t number)
{
	const struct scan *scan = context;
	struct scan_item *item = scan->items + number;
	bool follow = scan->params->follow;
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (item->error)
		return;
	if (fstatat(scan->directory, item->name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0) {
		item->error = -errno;
		return;
	}
	item->mode = st.st_mode;
	item->mtime = st.st_mtim;
	item->size = (uint64_t)st.st_size;
	item->inode = (struct inode_id){.dev = st.st_dev, .ino = st.st_ino};
	item->linked = st.st_nlink > 1 || follow;
	if (!S_ISLNK(st.st_mode))
		return;
	len = readlinkat(scan->directory, item->name, target, sizeof(target));
	if (len < 0 || len == sizeof(target)) {
		item->error = len < 0 ? -errno : -ENAMETOOLONG;
		return;
	}
	item->size = (uint64_t)len;
	item->target = strndup(target, (size_t)len);
	item->error = item->target ? 0 : -ENOMEM;
}

/* --- entries ------------------------------------------------------------------------------ */

/* The entry that the inode was first met as: `entry` itself where it is new. */
static int find_first(struct scan *scan, const struct inode_id *inode, uint32_t entry,
		      uint32_t *ret_first)
{
	/* Inode numbers are dense: a multiplication spreads them well enough. */
	uint32_t hash = (uint32_t)((inode->ino ^ inode->dev << 40) * 0x9e3779b97f4a7c15u >> 32);
	const struct first_name *firsts = BUF_ITEMS(&scan->firsts, const struct first_name);
	const struct first_name new = {.inode = *inode, .entry = entry};
	uint32_t number;
	size_t at = 0;

	*ret_first = entry;
	while ((number = number_table_next(&scan->by_inode, hash, &at)) != 0) {
		if (firsts[number - 1].inode.ino == inode->ino &&
		    firsts[number - 1].inode.dev == inode->dev) {
			*ret_first = firsts[number - 1].entry;
			return 0;
		}
	}
	if (buf_add(&scan->firsts, &new, sizeof(new)) < 0)
		return -ENOMEM;
	return number_table_add(&scan->by_inode, hash, (uint32_t)BUF_COUNT(&scan->firsts, new));
}

static int add_level(struct scan *scan, struct scan_level *level);

/* Adds an entry; `entry` already has the fields that depend on its kind. */
static int append_entry(struct scan *scan, struct scan_level *level, const struct scan_item *item,
			struct pack_entry *entry, uint32_t *ret)
{
	int r = add_level(scan, level);

	if (r < 0)
		return r;
	entry->parent = level->id;
	entry->name = item->name;
	entry->name_len = strlen(item->name);
	entry->mode = item->mode & 07777;
	entry->mtime = item->mtime;
	scan->counts.entries++;
	return scan->params->into.add(scan->params->into.context, entry, ret, scan->err);
}

static int add_level(struct scan *scan, struct scan_level *level)
{
	struct pack_entry entry = {.kind = FORMAT_DIRECTORY};

	return level->id != NOT_ADDED
		       ? 0
		       : append_entry(scan, level->above, level->item, &entry, &level->id);
}

/* A further name of a file is a hard link to it. */
static int append_file(struct scan *scan, struct scan_level *level, const struct scan_item *item)
{
	struct pack_entry entry = {.kind = FORMAT_FILE, .size = item->size};
	uint32_t id, first;
	int r = add_level(scan, level);

	id = first = (uint32_t)scan->counts.entries;
	if (r == 0 && item->linked)
		r = find_first(scan, &item->inode, id, &first);
	if (r < 0)
		return r;
	if (first != id) {
		entry.kind = FORMAT_HARDLINK;
		entry.link_to = first;
	} else {
		scan->counts.files++;
		scan->counts.bytes += item->size;
	}
	return append_entry(scan, level, item, &entry, &id);
}

static int scan_directory(struct scan *scan, struct scan_level *level);

static int append_directory(struct scan *scan, struct scan_level *above,
			    const struct scan_item *item)
{
	struct scan_level level = {
		.above = above, .item = item, .id = NOT_ADDED, .depth = above->depth + 1};
	bool follow = scan->params->follow;
	uint64_t unwanted = scan->unwanted;
	int r;

	/* A link to a directory above it would never end. */
	for (const struct scan_level *at = above; follow && at; at = at->above)
		if (at->item->inode.ino == item->inode.ino &&
		    at->item->inode.dev == item->inode.dev)
			return bad_name(scan, above, item->name, -ELOOP);
	if (level.depth > FORMAT_DEPTH_MAX)
		return bad_name(scan, above, item->name, -ENAMETOOLONG);
	level.fd = openat(above->fd, item->name,
			  O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	r = level.fd < 0 ? bad_name(scan, &level, NULL, -errno) : scan_directory(scan, &level);
	return r == 0 && scan->unwanted == unwanted ? add_level(scan, &level) : r;
}

/* Appends what is packed of an item; why something is not is reported. */
static int append_item(struct scan *scan, struct scan_level *level, struct scan_item *item)
{
	const struct scan_watch *watch = scan->params->watch;
	struct pack_entry link = {
		.kind = FORMAT_SYMLINK, .target = item->target, .target_len = item->size};
	SCOPE(buf_release) struct buf path = BUF_INIT;
	mode_t mode = item->mode;
	uint32_t id;
	int r = 0;

	if (item->error)
		return item->error == -ENOMEM ? -ENOMEM
					      : bad_name(scan, level, item->name, item->error);
	if (!item->wanted)
		r = ask_wanted(scan, level, item->name, S_ISDIR(mode), &item->wanted);
	if (r < 0 || !item->wanted)
		return r;
	if (S_ISDIR(mode))
		return append_directory(scan, level, item);
	if (S_ISREG(mode))
		return append_file(scan, level, item);
	if (S_ISLNK(mode))
		return append_entry(scan, level, item, &link, &id);
	r = path_in(level, item->name, &path);
	if (r == 0)
		watch->special(watch->context, path.data,
			       S_ISFIFO(mode)	? "a named pipe"
			       : S_ISSOCK(mode) ? "a socket"
						: "a device");
	return r;
}

/* Appends what is in a directory; closes its fd. */
static int scan_directory(struct scan *scan, struct scan_level *level)
{
	const struct scan_watch *watch = scan->params->watch;
	SCOPE_DIR DIR *stream = fdopendir(level->fd);
	SCOPE(release_items) struct buf items = BUF_INIT; /* struct scan_item */
	int r;

	if (!stream) {
		close(level->fd);
		return -ENOMEM;
	}
	r = watch->tick(watch->context, scan->counts.entries);
	if (r == 0)
		r = read_names(scan, stream, level, &items);
	if (r != 0)
		return r < 0 ? r : 0;
	buf_sort(&items, sizeof(*scan->items), compare_inodes);
	scan->items = BUF_ITEMS(&items, struct scan_item);
	scan->directory = level->fd;
	parallel_for_run(&scan->parallel, BUF_COUNT(&items, *scan->items));
	buf_sort(&items, sizeof(*scan->items), compare_items);
	for (size_t i = 0; r == 0 && i < BUF_COUNT(&items, struct scan_item); i++)
		r = append_item(scan, level, &BUF_ITEMS(&items, struct scan_item)[i]);
	return r;
}

int scan_add(const struct scan_params *params, struct scan_counts *ret, struct err *err)
{
	struct filter *filter = params->filter;
	struct scan scan = {
		.params = params,
		.filter = filter && !filter_wants_all(filter) ? filter : NULL,
		.err = err,
		.counts.entries = 1,
		.parallel = {.threads = params->jobs,
			     .patience_ns = params->patience_ns,
			     .work = look_at_item,
			     .context = &scan},
	};
	struct scan_item root = {.name = (char[]){""}};
	struct scan_level level = {.item = &root, .id = PACK_ROOT};
	struct stat st;
	int r;

	if (fstat(params->root, &st) < 0)
		return -errno;
	root.inode = (struct inode_id){.dev = st.st_dev, .ino = st.st_ino};
	params->into.root(params->into.context, st.st_mode, st.st_mtim);
	/* A descriptor of its own: the caller's keeps its position and stays open. */
	level.fd = openat(params->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = level.fd < 0 ? bad_name(&scan, &level, NULL, -errno) : scan_directory(&scan, &level);
	number_table_release(&scan.by_inode);
	buf_release(&scan.firsts);
	if (r == 0)
		*ret = scan.counts;
	return r;
}
