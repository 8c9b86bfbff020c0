#include "pack/foreign/folder.h"
#include "base/cached.h"
#include "base/date.h"
#include "base/fstype.h"
#include "base/io.h"
#include "base/outage.h"
#include "base/scope.h"
#include "base/uapi.h"
#include "base/workers.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SCAN_JOBS 16
#define AT_ONCE	  32 /* files, where they are on other machines, */
#define WANTED	  4  /* and of these, for what somebody waits for */

/* linux/openat2.h, which older headers lack. */
struct how {
	uint64_t flags, mode, resolve;
};
#define NO_SYMLINKS 0x04
#define BENEATH	    0x08
#define CACHED	    0x20 /* -EAGAIN where a name must be asked of storage; from Linux 5.12 on */

struct folder {
	struct members members; /* first */
	int root;
	bool memory; /* a filesystem in memory: no read waits */
	bool keep;   /* what is read stays in the page cache */
	atomic_bool no_openat2, no_direct, no_now;

	/* Where the filesystem is one of other machines: */
	uint64_t type; /* of struct statfs */
	struct outage *outage;
	struct workers workers;
	/* What follows is protected by their lock: */
	struct folder_read *first, **last;
	bool cancelled; /* what is ahead is not read any more */
	uint64_t under_way;
	unsigned ahead; /* of these, what a thread reads ahead */
};

/* A read that waits for a thread. */
struct folder_read {
	struct folder_read *next;
	struct member member;
	const struct iovec *iov;
	int count;
	uint64_t offset, needed;
	const atomic_bool *ahead;
	reader_done_fn *done;
	void *arg;
	char path[]; /* of the member */
};

static struct folder *folder_of(struct members *members)
{
	return (struct folder *)(void *)members;
}

/* --- opening a file --------------------------------------------------------------------------- */

/* Of the last call. Who reads takes ESTALE for a file that is another than was listed. */
static int failure(void)
{
	return errno == ESTALE ? -EREMOTEIO : -errno;
}

/* Folder by folder, where the kernel cannot do it at once. */
static int walk(int root, const char *path, int flags)
{
	SCOPE_CLOSE int above = -1;
	char name[FORMAT_NAME_MAX + 1];

	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		size_t len = (size_t)(slash - path);
		int next;

		if (len >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		next = openat(above < 0 ? root : above, name,
			      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return failure();
		scope_close(&above);
		above = next;
	}
	flags = openat(above < 0 ? root : above, path, flags | O_NOFOLLOW);
	return flags < 0 ? failure() : flags;
}

/* O_NONBLOCK: a named pipe that has taken the file's place must not hang. */
static int open_below(struct folder *folder, const char *path, int flags, uint64_t resolve)
{
	const struct how how = {.flags = (uint64_t)(flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK),
				.resolve = NO_SYMLINKS | BENEATH | resolve};
	long fd = -1;

	if (!atomic_load_explicit(&folder->no_openat2, memory_order_relaxed)) {
		fd = syscall(SYS_openat2, folder->root, path, &how, sizeof(how));
		if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
			return fd < 0 ? failure() : (int)fd;
		atomic_store(&folder->no_openat2, true);
	}
	return resolve ? -EAGAIN : walk(folder->root, path, (int)how.flags);
}

/* Directly, unless the filesystem does not do that. */
static int open_file(struct folder *folder, const char *path)
{
	int fd = -EINVAL;

	if (folder->members.direct && !atomic_load(&folder->no_direct)) {
		fd = open_below(folder, path, O_DIRECT, 0);
		if (fd == -EINVAL)
			atomic_store(&folder->no_direct, true);
	}
	if (fd == -EINVAL)
		fd = open_below(folder, path, 0, 0);
	/* A link, or a way outside: it was neither when it was listed. */
	if (fd == -ELOOP || fd == -EXDEV)
		return -ESTALE;
	return fd == -ENOTDIR ? -ENOENT : fd;
}

/* `r`, or -ESTALE where the file is another than was listed. */
static int explain(int fd, const struct member *member, int r)
{
	const struct stat listed = {.st_mode = S_IFREG,
				    .st_size = (off_t)member->size,
				    .st_mtim = date_time(member->mtime)};
	int changed = io_unchanged(fd, &listed);

	return changed < 0 ? changed : r;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Makes one call, for the pieces up to the next gap. A direct read that is refused, as what follows
 * a short one, is done again by the page cache. */
static ssize_t read_some(int fd, struct iovec *iov, int count, uint64_t offset, int flags)
{
	int pieces = 1, mode;
	ssize_t n;

	if (!iov->iov_base)
		return (ssize_t)iov->iov_len;
	while (pieces < count && iov[pieces].iov_base)
		pieces++;
	n = preadv2(fd, iov, pieces, (off_t)offset, flags);
	if (n >= 0 || errno == EINTR)
		return n < 0 ? -EINTR : n;
	if (errno != EINVAL)
		return failure();
	mode = fcntl(fd, F_GETFL);
	return mode & O_DIRECT && fcntl(fd, F_SETFL, mode & ~O_DIRECT) == 0 ? -EINTR : -EINVAL;
}

static int read_all(int fd, struct iovec *iov, int count, uint64_t offset, uint64_t needed,
		    int flags)
{
	uint64_t done = 0;

	while (done < needed) {
		ssize_t n = read_some(fd, iov, count, offset + done, flags);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? (int)n : -ENODATA;
		done += (uint64_t)n;
		io_skip(&iov, &count, (size_t)n);
	}
	return 0;
}

static int folder_read(struct members *members, const struct member *member, struct iovec *iov,
		       int count, uint64_t offset, uint64_t needed)
{
	struct folder *folder = folder_of(members);
	SCOPE_CLOSE int fd = open_file(folder, member->path);
	int r;

	if (fd < 0)
		return fd;
	r = explain(fd, member, read_all(fd, iov, count, offset, needed, 0));
	/* The caller keeps these bytes, so the page cache need not. */
	if (!folder->keep && !folder->memory && (fcntl(fd, F_GETFL) & O_DIRECT) == 0)
		posix_fadvise(fd, (off_t)offset, (off_t)needed, POSIX_FADV_DONTNEED);
	return r;
}

/* As base/reader_file.c. */
static int folder_read_now(struct members *members, const struct member *member, struct iovec *iov,
			   int count, uint64_t offset, uint64_t needed)
{
	struct folder *folder = folder_of(members);
	SCOPE_CLOSE int fd = -1;
	int64_t pages = (int64_t)((needed + READER_PAGE - 1) / READER_PAGE);

	if (atomic_load_explicit(&folder->no_now, memory_order_relaxed))
		return -EAGAIN;
	fd = open_below(folder, member->path, 0, CACHED);
	if (fd == -EINVAL)
		atomic_store(&folder->no_now, true);
	if (fd < 0 || (!folder->memory && cached_pages(fd, offset, needed) < pages))
		return -EAGAIN;
	return explain(fd, member,
		       read_all(fd, iov, count, offset, needed, folder->memory ? 0 : RWF_NOWAIT));
}

/* --- side by side ----------------------------------------------------------------------------- */

/* The first that somebody waits for, or else the first, unless that would leave no thread to the
 * others where storage hangs. Lock held. */
static struct folder_read *take(struct folder *folder)
{
	struct folder_read **at = &folder->first, *read;

	while (*at && atomic_load_explicit((*at)->ahead, memory_order_relaxed))
		at = &(*at)->next;
	if (!*at && folder->ahead < AT_ONCE - WANTED)
		at = &folder->first;
	read = *at;
	if (read) {
		*at = read->next;
		if (!*at)
			folder->last = at;
	}
	return read;
}

/* Whether the folder is there, and not the one below its mount. Other threads may be reading: what
 * is there now takes its place. */
static bool works(struct folder *folder)
{
	SCOPE_CLOSE int root =
		open(folder->members.place, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	struct statfs fs;

	return root >= 0 && fstatfs(root, &fs) == 0 && (uint64_t)fs.f_type == folder->type &&
	       dup3(root, folder->root, O_CLOEXEC) >= 0;
}

static int read_one(struct folder *folder, const struct folder_read *read, bool cancelled)
{
	size_t size = (size_t)read->count * sizeof(*read->iov);
	SCOPE_FREE struct iovec *iov = malloc(size);
	struct outage_tries tries = {0};
	bool again;
	int r;

	if (!iov)
		return -ENOMEM;
	if (cancelled && atomic_load(read->ahead))
		return -ECANCELED;
	do {
		memcpy(iov, read->iov, size);
		r = folder_read(&folder->members, &read->member, iov, read->count, read->offset,
				read->needed);
		again = r != -ESTALE && outage_again(folder->outage, &tries, r);
		tries.works = again && works(folder);
	} while (again);
	return r;
}

static bool read_next(void *context)
{
	struct folder *folder = context;
	struct folder_read *read = take(folder);
	bool cancelled = folder->cancelled, ahead = read && atomic_load(read->ahead);
	int r;

	if (!read)
		return false;
	folder->ahead += ahead;
	pthread_mutex_unlock(&folder->workers.lock);
	r = read_one(folder, read, cancelled);
	read->done(read->arg, r);
	free(read);
	pthread_mutex_lock(&folder->workers.lock);
	folder->under_way--;
	folder->ahead -= ahead;
	return true;
}

static void folder_submit(struct members *members, const struct member *member,
			  const struct iovec *iov, int count, uint64_t offset, uint64_t needed,
			  const atomic_bool *ahead, reader_done_fn *done, void *arg)
{
	struct folder *folder = folder_of(members);
	size_t room = strlen(member->path) + 1;
	struct folder_read *read = malloc(sizeof(*read) + room);
	int r;

	if (!read) {
		done(arg, -ENOMEM);
		return;
	}
	*read = (struct folder_read){.member = *member,
				     .iov = iov,
				     .count = count,
				     .offset = offset,
				     .needed = needed,
				     .ahead = ahead,
				     .done = done,
				     .arg = arg};
	memcpy(read->path, member->path, room);
	read->member.path = read->path;
	read->member.tag = "";
	pthread_mutex_lock(&folder->workers.lock);
	r = workers_begin(&folder->workers);
	r = folder->workers.started ? 0 : r;
	if (r == 0) {
		*folder->last = read;
		folder->last = &read->next;
		folder->under_way++;
		pthread_cond_signal(&folder->workers.changed);
	}
	pthread_mutex_unlock(&folder->workers.lock);
	if (r < 0) {
		free(read);
		done(arg, r);
	}
}

static void folder_cancel(struct members *members)
{
	struct folder *folder = folder_of(members);

	outage_allow(folder->outage, false);
	SCOPE_LOCK(&folder->workers.lock);
	folder->cancelled = true;
}

static void folder_rest(struct members *members)
{
	workers_rest(&folder_of(members)->workers);
}

static void folder_stats(struct members *members, struct reader_stats *ret)
{
	struct folder *folder = folder_of(members);

	SCOPE_LOCK(&folder->workers.lock);
	ret->under_way = folder->under_way;
}

/* --- the folder ------------------------------------------------------------------------------- */

static int folder_prepare(struct members *members, enum reader_io io)
{
	struct folder *folder = folder_of(members);

	members->direct = io != READER_BUFFERED && !folder->memory;
	folder->keep = io == READER_BUFFERED;
	outage_allow(folder->outage, true);
	SCOPE_LOCK(&folder->workers.lock);
	folder->cancelled = false;
	return 0;
}

static void folder_free(struct members *members)
{
	struct folder *folder = folder_of(members);

	workers_release(&folder->workers);
	outage_free(folder->outage);
	scope_close(&folder->root);
	free(members->place);
	free(folder);
}

#define FOLDER_OPS .prepare = folder_prepare, .free = folder_free

static const struct members_ops near_ops = {FOLDER_OPS, .read = folder_read,
					    .read_now = folder_read_now};
static const struct members_ops far_ops = {FOLDER_OPS, .submit = folder_submit,
					   .cancel = folder_cancel, .rest = folder_rest,
					   .stats = folder_stats};

int folder_open(const char *path, uint64_t retry, void (*notice)(const char *line),
		struct members **ret)
{
	SCOPE_CLOSE int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_FREE char *place = realpath(path, NULL);
	struct folder *folder;
	struct statfs fs;

	if (root < 0 || !place || fstatfs(root, &fs) < 0)
		return -errno;
	folder = calloc(1, sizeof(*folder));
	if (!folder)
		return -ENOMEM;
	workers_init(&folder->workers, AT_ONCE, read_next, folder);
	folder->last = &folder->first;
	folder->type = (uint64_t)fs.f_type;
	folder->memory = fstype_is_memory(&fs);
	folder->members = (struct members){.ops = fstype_is_remote(&fs) ? &far_ops : &near_ops,
					   .place = steal_ptr(&place)};
	folder->root = steal_fd(&root);
	if (folder->members.ops == &far_ops &&
	    outage_new(path, retry, notice, &folder->outage) < 0) {
		folder_free(&folder->members);
		return -ENOMEM;
	}
	*ret = &folder->members;
	return 0;
}

int folder_scan(const struct members *folder, const struct scan_watch *watch,
		const struct scan_into *into, struct err *err)
{
	const struct scan_params params = {
		.root = ((const struct folder *)(const void *)folder)->root,
		.jobs = SCAN_JOBS,
		.patience_ns = SCAN_PATIENCE_NS,
		.watch = watch,
		.into = *into};
	struct scan_counts counts;

	return scan_add(&params, &counts, err);
}
