#include "base/reader_file.h"
#include "base/cached.h"
#include "base/date.h"
#include "base/fstype.h"
#include "base/huge.h"
#include "base/io.h"
#include "base/libc.h"
#include "base/limits.h"
#include "base/outage.h"
#include "base/scope.h"
#include "base/statx.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#define LOOK_SECONDS 1
#define MARK	     ((off_t)1 << 62) /* the byte that each mount locks, far beyond the end */

/* After this many refused direct reads in a row, no more are tried: a filesystem may claim to have
 * them and refuse all. A single one may be refused for another reason. */
#define REFUSALS_MAX 8

struct reader_file {
	struct reader reader;
	int fd;			  /* buffered */
	bool borrowed;		  /* fd is the caller's */
	int direct_fd;		  /* below 0: none */
	bool memory;		  /* a filesystem in memory: no read waits */
	bool remote;		  /* a filesystem of other machines */
	bool keep;		  /* do not drop what was read from the page cache */
	bool marked;		  /* holds the lock on MARK */
	atomic_uint refusals;	  /* direct reads refused, in a row */
	atomic_bool no_nowait;	  /* the filesystem has no RWF_NOWAIT */
	atomic_bool no_cachestat; /* the kernel has no cachestat(2) */
	atomic_bool shared;	  /* another mount of this machine reads the file */
	_Atomic int64_t looked;	  /* time of the last look for one, s */
	struct outage *outage;	  /* NULL: reads are not repeated, and the next two are of no use */
	char *path;
	struct reader_identity identity; /* of the file there, when it was opened */
};

static struct reader_file *file_of(struct reader *reader)
{
	return (struct reader_file *)reader;
}

/* --- gaps ------------------------------------------------------------------------------------- */

/* The kernel wants memory for them, too. Nobody looks at it, so that all files and threads share
 * it: 2 MiB a process, and not for each of a thousand packs. */
static struct {
	pthread_once_t once;
	char *memory;
} gaps = {.once = PTHREAD_ONCE_INIT};

static void map_gaps(void)
{
	gaps.memory = huge_map(READER_GAP_MAX);
}

/* Returns 0, or -EINVAL: a gap is longer than the memory for it. */
static int fill_gaps(struct iovec *iov, int count)
{
	for (int i = 0; i < count; i++) {
		if (iov[i].iov_base)
			continue;
		if (iov[i].iov_len > READER_GAP_MAX)
			return -EINVAL;
		iov[i].iov_base = gaps.memory;
	}
	return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Returns a descriptor or -errno. Where many files are open, it is done without. Asks the
 * filesystem whether it works; if that does not answer (before Linux 6.1), tries a read. */
static int find_direct(int fd)
{
	SCOPE_CLOSE int direct = io_open_again(fd, O_RDONLY | O_DIRECT);
	SCOPE_FREE char *page = aligned_alloc(READER_PAGE, READER_PAGE);
	uint32_t memory, offset;
	bool works;

	if (direct < 0 && direct != -EMFILE)
		return -EOPNOTSUPP;
	if (direct < 0 || limits_is_spare(direct))
		return -EMFILE;
	if (statx_direct_io(direct, &memory, &offset) == 0)
		works = offset && offset <= READER_PAGE && memory <= READER_PAGE;
	else
		works = page && pread(direct, page, READER_PAGE, 0) >= 0;
	return works ? steal_fd(&direct) : -EOPNOTSUPP;
}

static struct flock mark(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = MARK, .l_len = 1};
}

/* Undoes file_prepare(). */
static void file_reset(struct reader_file *file)
{
	struct flock lock = mark(F_UNLCK);

	if (file->marked)
		fcntl(file->fd, F_OFD_SETLK, &lock);
	file->marked = false;
	scope_close(&file->direct_fd);
	file->direct_fd = -1;
	atomic_store(&file->refusals, 0);
	atomic_store(&file->shared, false);
	atomic_store(&file->looked, 0);
}

static int file_prepare(struct reader *reader, enum reader_io io)
{
	struct reader_file *file = file_of(reader);
	struct flock lock = mark(F_RDLCK);

	file_reset(file);
	outage_allow(file->outage, true);
	file->keep = io == READER_BUFFERED;
	if (io != READER_BUFFERED)
		file->direct_fd = file->memory ? -EOPNOTSUPP : find_direct(file->fd);
	if (io == READER_DIRECT && file->direct_fd < 0)
		return file->direct_fd;
	file->marked = !file->remote && fcntl(file->fd, F_OFD_SETLK, &lock) == 0;
	/* The caller plans what is read next: no readahead of the kernel. */
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM);
	pthread_once(&gaps.once, map_gaps);
	return gaps.memory ? 0 : -ENOMEM;
}

static void file_free(struct reader *reader)
{
	struct reader_file *file = file_of(reader);

	file_reset(file);
	outage_free(file->outage);
	free(file->path);
	if (!file->borrowed)
		scope_close(&file->fd);
	free(file);
}

static void file_cancel(struct reader *reader)
{
	outage_allow(file_of(reader)->outage, false);
}

/* --- how to read ------------------------------------------------------------------------------ */

/* Each mount holds a read lock on MARK. If a write lock would not be granted, there is another
 * mount. Not done on remote filesystems, where a lock is a request that may hang. */
static void look_for_others(struct reader_file *file)
{
	struct flock lock = mark(F_WRLCK);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (file->remote || now.tv_sec - atomic_load(&file->looked) < LOOK_SECONDS)
		return;
	atomic_store(&file->looked, now.tv_sec);
	if (fcntl(file->fd, F_OFD_GETLK, &lock) == 0)
		atomic_store(&file->shared, lock.l_type != F_UNLCK);
}

static bool is_direct(const struct reader_file *file)
{
	return file->direct_fd >= 0 && !atomic_load(&file->shared) &&
	       atomic_load_explicit(&file->refusals, memory_order_relaxed) < REFUSALS_MAX;
}

static void file_hints(const struct reader *reader, struct reader_hints *ret)
{
	const struct reader_file *file = (const struct reader_file *)reader;

	*ret = (struct reader_hints){.shared = file->remote, .direct = is_direct(file)};
}

static int identity_of(int fd, struct reader_identity *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct reader_identity){.size = (uint64_t)st.st_size,
					.written = (uint64_t)date_of(st.st_mtim),
					.touched = (uint64_t)date_of(st.st_ctim)};
	return 0;
}

static int file_identity(struct reader *reader, struct reader_identity *ret)
{
	return identity_of(file_of(reader)->fd, ret);
}

/* --- failures that pass ----------------------------------------------------------------------- */

/* Other threads may be reading: the descriptors stay, and lead to what is now at the path. */
static void open_again(struct reader_file *file)
{
	SCOPE_CLOSE int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	SCOPE_CLOSE int direct = -1;
	struct reader_identity now;

	if (fd < 0 || identity_of(fd, &now) < 0 || !reader_identity_same(&now, &file->identity))
		return;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	dup3(fd, file->fd, O_CLOEXEC);
	if (file->direct_fd >= 0 && (direct = io_open_again(fd, O_RDONLY | O_DIRECT)) >= 0)
		dup3(direct, file->direct_fd, O_CLOEXEC);
}

/* Whether the beginning of the file can be read, from storage. */
static bool works(const struct reader_file *file)
{
	char byte;

	posix_fadvise(file->fd, 0, READER_PAGE, POSIX_FADV_DONTNEED);
	return pread(file->fd, &byte, 1, 0) >= 0;
}

static bool is_to_repeat(struct reader_file *file, struct outage_tries *tries, int error)
{
	if (!outage_again(file->outage, tries, error))
		return false;
	open_again(file);
	tries->works = works(file);
	return true;
}

void reader_file_retry(struct reader *reader, const char *path, uint64_t seconds,
		       void (*notice)(const char *line))
{
	struct reader_file *file = file_of(reader);

	if (!file->remote || !seconds || identity_of(file->fd, &file->identity) < 0)
		return;
	file->path = realpath(path, NULL);
	if (file->path && outage_new(path, seconds, notice, &file->outage) < 0)
		file->outage = NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* What is left to read. */
struct remaining {
	struct iovec *iov;
	int count;
	uint64_t begin, offset;
	uint64_t reads; /* so far */
};

/* Makes one system call. Returns its bytes or -errno. A refused direct read, and all that follows,
 * is repeated as a buffered one. */
static ssize_t read_some(struct reader_file *file, int *fd, const struct remaining *left, int flags)
{
	ssize_t n = preadv2(*fd, left->iov, left->count, (off_t)left->offset, flags);

	if (*fd != file->direct_fd)
		return n < 0 ? -errno : n;
	if (n < 0 && errno == EINVAL) {
		atomic_fetch_add_explicit(&file->refusals, 1, memory_order_relaxed);
		*fd = file->fd;
		return -EINTR; /* once more */
	}
	if (n > 0 && atomic_load_explicit(&file->refusals, memory_order_relaxed))
		atomic_store_explicit(&file->refusals, 0, memory_order_relaxed);
	return n < 0 ? -errno : n;
}

/* Counts complete reads only, because a refused one is repeated. */
static int read_all(struct reader_file *file, int *fd, struct remaining *left, uint64_t needed,
		    int flags)
{
	/* The file may end before its last page does. */
	while (left->offset - left->begin < needed) {
		ssize_t n = read_some(file, fd, left, flags);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? (int)n : -ENODATA;
		left->reads++;
		left->offset += (size_t)n;
		io_skip(&left->iov, &left->count, (size_t)n);
	}
	atomic_fetch_add_explicit(&file->reader.reads, left->reads, memory_order_relaxed);
	atomic_fetch_add_explicit(&file->reader.bytes, left->offset - left->begin,
				  memory_order_relaxed);
	return 0;
}

/* Pages of the system, which may be larger than READER_PAGE. */
struct pages {
	uint64_t begin, len; /* bytes */
	uint64_t count;
};

static struct pages pages_of(uint64_t offset, uint64_t size)
{
	uint64_t page = (uint64_t)getpagesize();
	uint64_t begin = offset / page * page;
	uint64_t count = (offset + size - begin + page - 1) / page;

	return (struct pages){.begin = begin, .len = count * page, .count = count};
}

static int file_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		     uint64_t needed)
{
	struct reader_file *file = file_of(reader);
	struct remaining left = {.iov = iov, .count = count, .begin = offset, .offset = offset};
	struct outage_tries tries = {0};
	int fd, r;

	look_for_others(file);
	r = fill_gaps(iov, count);
	if (r < 0)
		return r;
	do {
		fd = is_direct(file) ? file->direct_fd : file->fd;
		r = read_all(file, &fd, &left, needed, 0);
	} while (is_to_repeat(file, &tries, r));
	/* The caller keeps these bytes, so the page cache need not. The kernel drops whole pages.
	 */
	if (fd == file->fd && !file->keep && !atomic_load(&file->shared)) {
		struct pages pages = pages_of(offset, needed);

		posix_fadvise(fd, (off_t)pages.begin, (off_t)pages.len, POSIX_FADV_DONTNEED);
	}
	if (r < 0)
		atomic_fetch_add_explicit(&reader->errors, 1, memory_order_relaxed);
	return r;
}

static bool is_cached(struct reader_file *file, uint64_t offset, uint64_t size)
{
	struct pages pages = pages_of(offset, size);
	int64_t cached;

	if (atomic_load_explicit(&file->no_cachestat, memory_order_relaxed))
		return false;
	cached = cached_pages(file->fd, offset, size);
	if (cached < 0)
		atomic_store_explicit(&file->no_cachestat, true, memory_order_relaxed);
	return cached >= (int64_t)pages.count;
}

/* Not on filesystems of other machines: what the kernel may ask them first waits if they are dead.
 * If reads are direct, first asks the kernel what is cached: RWF_NOWAIT would begin to read the
 * rest, and leave a copy. */
static int file_read_now(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			 uint64_t needed)
{
	struct reader_file *file = file_of(reader);
	struct remaining left = {.iov = iov, .count = count, .begin = offset, .offset = offset};
	int fd = file->fd, r;

	r = fill_gaps(iov, count);
	if (r < 0)
		return r;
	if (file->memory)
		return read_all(file, &fd, &left, needed, 0) < 0 ? -EAGAIN : 0;
	if (file->remote || atomic_load_explicit(&file->no_nowait, memory_order_relaxed) ||
	    (is_direct(file) && !is_cached(file, offset, needed)))
		return -EAGAIN;
	r = read_all(file, &fd, &left, needed, RWF_NOWAIT);
	if (r == -EOPNOTSUPP)
		atomic_store_explicit(&file->no_nowait, true, memory_order_relaxed);
	/* The read that waits will report any error. */
	return r < 0 ? -EAGAIN : 0;
}

static ssize_t file_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct reader_file *file = file_of(reader);
	struct outage_tries tries = {0};
	ssize_t n;

	do
		n = io_pread(file->fd, buf, len, offset);
	while (is_to_repeat(file, &tries, n < 0 ? (int)n : 0));
	return n;
}

static void file_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	posix_fadvise(file_of(reader)->fd, (off_t)offset, (off_t)len, POSIX_FADV_WILLNEED);
}

/* --- making one ------------------------------------------------------------------------------- */

static const struct reader_ops file_ops = {
	.prepare = file_prepare,
	.read = file_read,
	.read_now = file_read_now,
	.cancel = file_cancel,
	.get = file_get,
	.will_get = file_will_get,
	.identity = file_identity,
	.hints = file_hints,
	.free = file_free,
};

int reader_file_borrow(int fd, struct reader **ret)
{
	struct reader_file *file = calloc(1, sizeof(*file));
	struct statfs fs;

	if (!file)
		return -ENOMEM;
	file->reader.ops = &file_ops;
	file->fd = fd;
	file->borrowed = true;
	file->direct_fd = -1;
	if (fstatfs(fd, &fs) == 0) {
		file->memory = fstype_is_memory(&fs);
		file->remote = fstype_is_remote(&fs);
	}
	*ret = &file->reader;
	return 0;
}

int reader_file_open(const char *path, struct reader **ret)
{
	/* O_NONBLOCK: do not wait for the writer of a pipe. */
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	r = reader_file_borrow(fd, ret);
	if (r < 0)
		return r;
	file_of(*ret)->borrowed = false;
	steal_fd(&fd);
	return 0;
}

int reader_file_open_again(int fd, struct reader **ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return reader_file_open(path, ret);
}

int reader_file_fd(const struct reader *reader)
{
	return ((const struct reader_file *)reader)->fd;
}
