#include "remote/block_store.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fstype.h"
#include "base/io.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#define FREE_PART 20 /* this part of the filesystem stays free: a twentieth */
#define SECTOR	  512
#define NAMES	  "names"

/* How long another process may have the lock: until that is said, until it is done without, and
 * until that process is waited for again. */
#define SAID_NS	    (2 * CLOCK_SECOND)
#define PATIENCE_NS (6 * CLOCK_SECOND)
#define AGAIN_NS    (60 * CLOCK_SECOND)
#define NAP_NS	    1000000

struct block_store {
	char *path;
	int fd;		  /* of the folder with the copies */
	int index;	  /* of that with index files; below 0: there is none */
	char indexes[32]; /* its path */
	bool shared;
	bool alone; /* the group would share it, but another user owns it */
	uint64_t most;
	void (*notice)(const char *line);
	pthread_mutex_t lock;
	pthread_cond_t left;  /* not busy any more */
	bool busy;	      /* protected by lock: a thread has the lock on the folder */
	uint64_t stuck_until; /* whoever is busy: until then another process is not waited for */
};

/* --- opening ---------------------------------------------------------------------------------- */

static int open_top(struct block_store *store, struct err *err)
{
	struct statfs fs;
	struct stat st;

	/* In a folder with a set group, one that is writable for it would be shared. */
	if (mkdir(store->path, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: cannot be made: %s", store->path, strerror(errno));
	store->fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->fd < 0 || fstat(store->fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", store->path, strerror(errno));
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

static int check_private(const struct block_store *store, const char *name, struct err *err)
{
	struct stat st;

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

static int enter_private(struct block_store *store, struct err *err)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "uid-%u", geteuid());
	if (mkdirat(store->fd, name, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno,
			       "%s: this user cannot make a folder there (%s): 'chmod 1777' lets "
			       "each user have his own, 'chmod 2770' has the group share it",
			       store->path, strerror(errno));
	fd = openat(store->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "%s/%s: %s", store->path, name, strerror(errno));
	scope_close(&store->fd);
	store->fd = fd;
	return check_private(store, name, err);
}

/* The last comma separates SIZE: DIR may have others. */
static int parse_spec(struct block_store *store, const char *spec, struct err *err)
{
	const char *comma = strrchr(spec, ',');

	store->path = strndup(spec, comma ? (size_t)(comma - spec) : strlen(spec));
	if (!store->path)
		return -ENOMEM;
	if (comma && (size_parse(comma + 1, &store->most) < 0 || store->most == 0))
		return err_set(err, -EINVAL, "%s: '%s' is not a size; DIR,SIZE is wanted", spec,
			       comma + 1);
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
	fd = openat(store->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || (made && io_set_mode(fd, mode) < 0) ? -errno : steal_fd(&fd);
}

int block_store_open(const char *spec, struct block_store **ret, struct err *err)
{
	struct block_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	store->fd = store->index = -1;
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->left, NULL);
	r = parse_spec(store, spec, err);
	if (r == 0)
		r = open_top(store, err);
	if (r == 0 && !store->shared)
		r = enter_private(store, err);
	if (r < 0) {
		block_store_free(store);
		return r;
	}
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

void block_store_notice(struct block_store *store, void (*notice)(const char *line))
{
	SCOPE_FREE char *line = NULL;

	store->notice = notice;
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
	pthread_cond_destroy(&store->left);
	pthread_mutex_destroy(&store->lock);
	free(store->path);
	free(store);
}

/* --- the lock --------------------------------------------------------------------------------- */

static void say_locked(const struct block_store *store, const char *what)
{
	SCOPE_FREE char *line = NULL;

	if (store->notice &&
	    asprintf(&line, "%s: another process has it locked: %s", store->path, what) >= 0)
		store->notice(line);
}

static void set_busy(struct block_store *store, bool busy)
{
	SCOPE_LOCK(&store->lock);
	while (busy && store->busy)
		pthread_cond_wait(&store->left, &store->lock);
	store->busy = busy;
	pthread_cond_signal(&store->left);
}

/* The lock is held for moments, and while large copies are removed; but whoever holds it may have
 * been stopped, and who may read a shared folder can lock it. */
static bool lock_folder(struct block_store *store)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t since = clock_ns();
	bool said = false;

	while (flock(store->fd, LOCK_EX | LOCK_NB) < 0) {
		uint64_t now = clock_ns();

		if (errno != EWOULDBLOCK)
			return true; /* no locks here, and others see none either */
		if (now < store->stuck_until)
			return false;
		if (now - since > PATIENCE_NS) {
			say_locked(store, "it is done without");
			store->stuck_until = now + AGAIN_NS;
			return false;
		}
		if (!said && now - since > SAID_NS)
			say_locked(store, "waiting");
		said |= now - since > SAID_NS;
		nanosleep(&nap, NULL);
	}
	store->stuck_until = 0;
	return true;
}

/* All threads share the lock on the folder, so only one of them may have it. NULL: it cannot be
 * had. */
static struct block_store *store_lock(struct block_store *store)
{
	set_busy(store, true);
	if (lock_folder(store))
		return store;
	set_busy(store, false);
	return NULL;
}

static void store_unlock(struct block_store **store)
{
	if (!*store)
		return;
	flock((*store)->fd, LOCK_UN);
	set_busy(*store, false);
}

#define SCOPE_STORE(store) \
	struct block_store *locked __attribute__((cleanup(store_unlock))) = store_lock(store)

/* --- copies ----------------------------------------------------------------------------------- */

int block_store_blocks(struct block_store *store, const char *key, uint64_t size,
		       struct blocks **ret)
{
	SCOPE_STORE(store);
	SCOPE_CLOSE int folder = locked ? enter(store, key) : -EBUSY;
	int r;

	if (folder < 0)
		return folder;
	r = blocks_open(folder, size, store->shared ? 0660 : 0600, ret);
	/* Notes when it was opened last. In a shared folder this fails for another's copy. */
	if (r == 0)
		futimens(folder, NULL);
	return r;
}

/* --- room ------------------------------------------------------------------------------------- */

static bool is_key(const char *name)
{
	return strlen(name) == BLOCK_KEY_DIGITS &&
	       strspn(name, "0123456789abcdef") == BLOCK_KEY_DIGITS;
}

static DIR *list(int folder, const char *name)
{
	SCOPE_CLOSE int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		steal_fd(&fd);
	return dir;
}

/* What the files of a copy take on the disk. */
static uint64_t used_by(const struct block_store *store, const char *key)
{
	static const char *const files[] = {"data", "map"};
	uint64_t used = 0;

	for (size_t i = 0; i < 2; i++) {
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "%.32s/%s", key, files[i]);
		if (fstatat(store->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			used += (uint64_t)st.st_blocks * SECTOR;
	}
	return used;
}

/* Bytes; below 0, so many are to be freed before there is any. */
static int64_t room_now(const struct block_store *store)
{
	SCOPE_DIR DIR *dir = store->most ? list(store->fd, ".") : NULL;
	const struct dirent *entry;
	struct statvfs fs;
	int64_t room, bound = store->most ? (int64_t)store->most : INT64_MAX;

	if (fstatvfs(store->fd, &fs) < 0)
		return 0;
	room = ((int64_t)fs.f_bavail - (int64_t)(fs.f_blocks / FREE_PART)) * (int64_t)fs.f_frsize;
	while (dir && (entry = readdir(dir)))
		if (is_key(entry->d_name))
			bound -= (int64_t)used_by(store, entry->d_name);
	return room < bound ? room : bound;
}

/* Reads the key that a link in names/ leads to. */
static bool read_name(int names, const char *name, char key[static BLOCK_KEY_DIGITS + 1])
{
	char target[BLOCK_KEY_DIGITS + 8];
	ssize_t len = readlinkat(names, name, target, sizeof(target) - 1);

	if (len != BLOCK_KEY_DIGITS + 3)
		return false;
	target[len] = '\0';
	memcpy(key, target + 3, BLOCK_KEY_DIGITS + 1);
	return is_key(key);
}

static void forget_names(const struct block_store *store, const char *key)
{
	SCOPE_DIR DIR *dir = list(store->fd, NAMES);
	const struct dirent *entry;
	char other[BLOCK_KEY_DIGITS + 1];

	while (dir && (entry = readdir(dir)))
		if (read_name(dirfd(dir), entry->d_name, other) && strcmp(other, key) == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
}

/* The folder of a copy. A link is none: what it leads to is nobody's copy. */
static int open_copy_folder(const struct block_store *store, const char *key)
{
	return openat(store->fd, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_in_use(int folder)
{
	SCOPE_CLOSE int data =
		openat(folder, "data", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return data >= 0 && flock(data, LOCK_EX | LOCK_NB) < 0;
}

/* Removes a copy, unless somebody has it open. */
static bool remove_copy(const struct block_store *store, const char *key)
{
	SCOPE_CLOSE int folder = open_copy_folder(store, key);

	if (folder < 0 || is_in_use(folder))
		return false;
	unlinkat(folder, "data", 0);
	unlinkat(folder, "map", 0);
	forget_names(store, key);
	return unlinkat(store->fd, key, AT_REMOVEDIR) == 0;
}

struct candidate {
	char key[BLOCK_KEY_DIGITS + 1];
	struct timespec opened;
};

static int compare_ages(const void *a, const void *b)
{
	const struct timespec *one = &((const struct candidate *)a)->opened;
	const struct timespec *other = &((const struct candidate *)b)->opened;

	if (one->tv_sec != other->tv_sec)
		return one->tv_sec < other->tv_sec ? -1 : 1;
	return one->tv_nsec < other->tv_nsec ? -1 : one->tv_nsec > other->tv_nsec;
}

/* The copies, the one opened longest ago first. */
static size_t list_copies(const struct block_store *store, struct buf *all)
{
	SCOPE_DIR DIR *dir = list(store->fd, ".");
	const struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir))) {
		struct candidate one;
		struct stat st;

		if (!is_key(entry->d_name) ||
		    fstatat(store->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		memcpy(one.key, entry->d_name, sizeof(one.key));
		one.opened = st.st_mtim;
		count += buf_add(all, &one, sizeof(one)) == 0;
	}
	if (count)
		qsort(all->data, count, sizeof(struct candidate), compare_ages);
	return count;
}

/* What copies take that nobody has open. */
static uint64_t used_by_unused(const struct block_store *store, const struct candidate *copies,
			       size_t count)
{
	uint64_t used = 0;

	for (size_t i = 0; i < count; i++) {
		SCOPE_CLOSE int folder = open_copy_folder(store, copies[i].key);

		if (folder >= 0 && !is_in_use(folder))
			used += used_by(store, copies[i].key);
	}
	return used;
}

/* `all`: less than wanted is of no use. */
static uint64_t evict_copies(struct block_store *store, uint64_t wanted, bool all)
{
	SCOPE(buf_release) struct buf copies = BUF_INIT;
	SCOPE_STORE(store);
	int64_t room = locked ? room_now(store) : 0, most = (int64_t)min(wanted, INT64_MAX);
	const struct candidate *next;
	size_t count = 0;

	if (locked && room < most)
		count = list_copies(store, &copies);
	next = BUF_ITEMS(&copies, const struct candidate);
	if (all && room + (int64_t)used_by_unused(store, next, count) < most)
		count = 0;
	for (size_t i = 0; room < most && i < count; i++)
		if (remove_copy(store, next[i].key))
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

/* --- names ------------------------------------------------------------------------------------ */

/* If this fails, the copy is just not found by its place. */
void block_store_remember(struct block_store *store, const char *place, const char *key)
{
	char hash[BLOCK_KEY_DIGITS + 1], target[BLOCK_KEY_DIGITS + 8], fresh[64];
	SCOPE_STORE(store);
	SCOPE_CLOSE int names = locked ? enter(store, NAMES) : -EBUSY;

	if (names < 0)
		return;
	digest_text(place, hash);
	snprintf(target, sizeof(target), "../%s", key);
	snprintf(fresh, sizeof(fresh), "%s.new", hash);
	unlinkat(names, fresh, 0);
	if (symlinkat(target, names, fresh) == 0)
		renameat(names, fresh, names, hash);
}

int block_store_find(struct block_store *store, const char *place, struct reader **ret)
{
	char hash[BLOCK_KEY_DIGITS + 1], key[BLOCK_KEY_DIGITS + 1];
	SCOPE_STORE(store);
	SCOPE_CLOSE int names = locked ? enter(store, NAMES) : -EBUSY;
	SCOPE(reader_release) struct reader *copy = NULL;
	SCOPE_CLOSE int folder = -1;
	int r;

	digest_text(place, hash);
	if (names < 0)
		return names;
	if (!read_name(names, hash, key))
		return -ENOENT;
	folder = open_copy_folder(store, key);
	r = folder < 0 ? -errno : blocks_open_complete(folder, &copy);
	if (r == 0)
		r = reader_set_place(copy, place);
	if (r == 0)
		*ret = steal_ptr(&copy);
	return r;
}
