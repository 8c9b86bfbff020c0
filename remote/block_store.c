#include "remote/block_store.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fstype.h"
#include "base/io.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#define FREE_PART 20 /* this part of the filesystem stays free: a twentieth */
#define SECTOR	  512

struct block_store {
	char *path;
	int fd;		  /* of the folder with the copies */
	int index;	  /* of that with index files; below 0: there is none */
	char indexes[32]; /* its path */
	bool shared;
	bool alone; /* the group would share it, but another user owns it */
	uint64_t most;
	bool hides_holes; /* the filesystem does not tell them from data */
};

#define WAY_OUT "; let '--cache-dir' name a folder of this user on a local disk"

/* --- opening ---------------------------------------------------------------------------------- */

static int open_top(struct block_store *store, struct err *err)
{
	struct statfs fs;
	struct stat st;

	/* In a folder with a set group, one that is writable for it would be shared. */
	if (mkdir(store->path, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: cannot be made: %s" WAY_OUT, store->path,
			       strerror(errno));
	store->fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->fd < 0 || fstat(store->fd, &st) < 0)
		return err_set(err, -errno, "%s: %s" WAY_OUT, store->path, strerror(errno));
	if (st.st_mode & S_ISGID && st.st_mode & S_IWGRP && !(st.st_mode & S_IWOTH)) {
		store->shared = st.st_uid == 0 || st.st_uid == geteuid();
		store->alone = !store->shared;
	}
	if (store->shared && faccessat(store->fd, ".", W_OK, AT_EACCESS) < 0)
		return err_set(err, -errno,
			       "%s: its group shares it, and this user is not of that group",
			       store->path);
	if (fstatfs(store->fd, &fs) == 0 && fstype_is_remote(&fs))
		return err_set(err, -EINVAL,
			       "%s: on storage that other machines share, or on FUSE; the disk "
			       "cache must be on a local disk",
			       store->path);
	return 0;
}

/* What a link leads to is not the store's. Returns a descriptor or -1. */
static int open_folder(const struct block_store *store, const char *name)
{
	return openat(store->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int enter_private(struct block_store *store, struct err *err)
{
	struct stat st;
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "uid-%u", geteuid());
	if (mkdirat(store->fd, name, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno,
			       "%s: this user cannot make a folder there (%s): 'chmod 1777' lets "
			       "each user have his own, 'chmod 2770' has the group share it",
			       store->path, strerror(errno));
	fd = open_folder(store, name);
	if (fd < 0)
		return err_set(err, -errno, "%s/%s: %s" WAY_OUT, store->path, name,
			       strerror(errno));
	scope_close(&store->fd);
	store->fd = fd;
	if (fstat(store->fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM, "%s/%s: is another user's; use another folder",
			       store->path, name);
	if (st.st_mode & 077)
		return err_set(err, -EPERM, "%s/%s: open to other users; 'chmod 700' closes it",
			       store->path, name);
	return 0;
}

/* Opens a folder of the store, and creates it if it is missing. Returns a descriptor or -errno. */
static int enter(const struct block_store *store, const char *name)
{
	mode_t mode = store->shared ? 02770 : 0700;
	SCOPE_CLOSE int fd = -1;
	bool made = mkdirat(store->fd, name, mode) == 0;

	if (!made && errno != EEXIST)
		return -errno;
	fd = open_folder(store, name);
	return fd < 0 || (made && io_set_mode(fd, mode) < 0) ? -errno : steal_fd(&fd);
}

int block_store_open(const char *spec, struct block_store **ret, struct err *err)
{
	struct block_store *store = calloc(1, sizeof(*store));
	const char *comma =
		strrchr(spec, ','); /* the last one separates SIZE: DIR may have others */
	int r = 0;

	if (!store)
		return -ENOMEM;
	store->fd = store->index = -1;
	store->path = strndup(spec, comma ? (size_t)(comma - spec) : strlen(spec));
	if (!store->path)
		r = -ENOMEM;
	else if (comma && (size_parse(comma + 1, &store->most) < 0 || store->most == 0))
		r = err_set(err, -EINVAL, "%s: '%s' is not a size; DIR,SIZE is wanted", spec,
			    comma + 1);
	if (r == 0)
		r = open_top(store, err);
	if (r == 0 && !store->shared)
		r = enter_private(store, err);
	if (r < 0) {
		block_store_free(store);
		return r;
	}
	store->hides_holes = blocks_hides_holes(store->fd);
	store->index = enter(store, "index");
	snprintf(store->indexes, sizeof(store->indexes), "/proc/self/fd/%d", store->index);
	*ret = store;
	return 0;
}

int block_store_folder(const struct block_store *store)
{
	return store->fd;
}

const char *block_store_indexes(const struct block_store *store)
{
	return store->index < 0 ? NULL : store->indexes;
}

void block_store_notice(const struct block_store *store, void (*notice)(const char *line))
{
	SCOPE_FREE char *line = NULL;

	if (notice && store->alone &&
	    asprintf(&line,
		     "%s: not shared with its group, since another user owns it, neither root nor "
		     "this one: copies are this user's own",
		     store->path) >= 0)
		notice(line);
}

void block_store_free(struct block_store *store)
{
	if (!store)
		return;
	scope_close(&store->fd);
	scope_close(&store->index);
	free(store->path);
	free(store);
}

/* --- copies ----------------------------------------------------------------------------------- */

#define PLACE_DIGITS DIGEST_DIGITS
#define NAME_LEN     (PLACE_DIGITS + 1 + DIGEST_DIGITS)
#define TIMES	     5 /* that a copy is removed while it is opened */

int block_store_blocks(struct block_store *store, const char *place, const char *state,
		       uint64_t size, struct blocks **ret)
{
	char name[NAME_LEN + 1];
	int r = store->hides_holes ? -EOPNOTSUPP : -ENOENT;

	digest_text(place, name);
	snprintf(name + PLACE_DIGITS, sizeof(name) - PLACE_DIGITS, "-%s", state);
	for (unsigned i = 0; r == -ENOENT && i < TIMES; i++) {
		SCOPE_CLOSE int folder = enter(store, name);

		r = folder < 0 ? folder
			       : blocks_open(folder, size, store->shared ? 0660 : 0600, ret);
		if (r == 0)
			futimens(folder, NULL); /* notes when it was opened last */
	}
	return r;
}

struct copy {
	char name[NAME_LEN + 1];
	uint64_t opened; /* last, ns */
	uint64_t used;	 /* bytes of the disk */
};

static int compare_ages(const void *a, const void *b)
{
	const struct copy *one = a, *other = b;

	return one->opened < other->opened ? -1 : one->opened > other->opened;
}

/* The copies whose names begin so, the one opened longest ago first. */
static size_t list_copies(const struct block_store *store, const char *begin, struct buf *all)
{
	SCOPE_CLOSE int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t count;

	if (dir)
		steal_fd(&fd);
	while (dir && (entry = readdir(dir))) {
		struct copy one = {0};
		char data[NAME_LEN + sizeof("/data")];
		struct stat st;

		if (strlen(entry->d_name) != NAME_LEN ||
		    strspn(entry->d_name, "0123456789abcdef-") != NAME_LEN ||
		    strncmp(entry->d_name, begin, strlen(begin)) != 0 ||
		    fstatat(store->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		memcpy(one.name, entry->d_name, sizeof(one.name));
		one.opened =
			(uint64_t)st.st_mtim.tv_sec * CLOCK_SECOND + (uint64_t)st.st_mtim.tv_nsec;
		snprintf(data, sizeof(data), "%s/data", one.name);
		if (fstatat(store->fd, data, &st, AT_SYMLINK_NOFOLLOW) == 0)
			one.used = (uint64_t)st.st_blocks * SECTOR;
		if (buf_add(all, &one, sizeof(one)) < 0)
			break;
	}
	count = BUF_COUNT(all, struct copy);
	if (count)
		qsort(all->data, count, sizeof(struct copy), compare_ages);
	return count;
}

int block_store_find(struct block_store *store, const char *place, struct reader **ret)
{
	SCOPE(buf_release) struct buf copies = BUF_INIT;
	SCOPE(reader_release) struct reader *copy = NULL;
	SCOPE_CLOSE int folder = -1;
	char begin[PLACE_DIGITS + 1];
	size_t count;
	int r;

	digest_text(place, begin);
	count = list_copies(store, begin, &copies);
	if (count == 0)
		return -ENOENT;
	folder = open_folder(store, BUF_ITEMS(&copies, struct copy)[count - 1].name);
	r = folder < 0 ? -errno : blocks_open_complete(folder, &copy);
	if (r == 0)
		r = reader_set_place(copy, place);
	if (r == 0)
		*ret = steal_ptr(&copy);
	return r;
}

/* --- room ------------------------------------------------------------------------------------- */

/* Bytes; below 0, so many are to be freed before there is any. */
static int64_t room_now(const struct block_store *store)
{
	SCOPE(buf_release) struct buf copies = BUF_INIT;
	size_t count = store->most ? list_copies(store, "", &copies) : 0;
	int64_t room, bound = store->most ? (int64_t)store->most : INT64_MAX;
	struct statvfs fs;

	if (fstatvfs(store->fd, &fs) < 0)
		return 0;
	room = ((int64_t)fs.f_bavail - (int64_t)(fs.f_blocks / FREE_PART)) * (int64_t)fs.f_frsize;
	for (size_t i = 0; i < count; i++)
		bound -= (int64_t)BUF_ITEMS(&copies, const struct copy)[i].used;
	return room < bound ? room : bound;
}

/* Removes a copy, unless somebody has it open. */
static bool remove_copy(const struct block_store *store, const struct copy *copy)
{
	SCOPE_CLOSE int folder = open_folder(store, copy->name);

	if (folder < 0 || blocks_in_use(folder))
		return false;
	unlinkat(folder, "data", 0);
	return unlinkat(store->fd, copy->name, AT_REMOVEDIR) == 0;
}

/* `all`: less than wanted is of no use. */
static uint64_t evict_copies(const struct block_store *store, uint64_t wanted, bool all)
{
	SCOPE(buf_release) struct buf copies = BUF_INIT;
	int64_t room = room_now(store), most = (int64_t)min(wanted, INT64_MAX), unused = 0;
	size_t count = room < most ? list_copies(store, "", &copies) : 0;
	const struct copy *next = BUF_ITEMS(&copies, const struct copy);

	/* What copies take that nobody has open. */
	for (size_t i = 0; all && i < count; i++) {
		SCOPE_CLOSE int folder = open_folder(store, next[i].name);

		if (folder >= 0 && !blocks_in_use(folder))
			unused += (int64_t)next[i].used;
	}
	if (all && room + unused < most)
		count = 0;
	for (size_t i = 0; room < most && i < count; i++)
		if (remove_copy(store, &next[i]))
			room = room_now(store);
	return room < 0 ? 0 : min((uint64_t)room, wanted);
}

uint64_t block_store_room(struct block_store *store, uint64_t wanted)
{
	return evict_copies(store, wanted, false);
}

bool block_store_has_room(struct block_store *store, uint64_t bytes)
{
	return evict_copies(store, bytes, true) >= bytes;
}
