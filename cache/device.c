#include "cache/device.h"
#include "base/cached.h"
#include "base/fstype.h"
#include "base/scope.h"
#include "cache/huge.h"
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#define LOOK_SECONDS 1
#define MARK	     ((off_t)1 << 62) /* the byte that each mount locks, far behind the end */

/* A second opening of the very file, which may have been renamed meanwhile. */
static int open_direct(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
}

/* Whether it says so, or where it says nothing (before Linux 6.1), whether a read works. */
static bool direct_works(int fd)
{
	SCOPE_FREE char *page = aligned_alloc(CACHE_PAGE, CACHE_PAGE);
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 && st.stx_mask & STATX_DIOALIGN)
		return st.stx_dio_offset_align && st.stx_dio_offset_align <= CACHE_PAGE &&
		       st.stx_dio_mem_align <= CACHE_PAGE;
	return page && pread(fd, page, CACHE_PAGE, 0) >= 0;
}

static int find_direct(struct device *device)
{
	int fd = open_direct(device->fd);

	if (fd >= 0 && !direct_works(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct flock mark(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = MARK, .l_len = 1};
}

int device_init(struct device *device, int fd, enum cache_io io)
{
	struct flock lock = mark(F_RDLCK);
	struct statfs fs;

	*device = (struct device){.fd = fd, .direct_fd = -1, .keep = io == CACHE_IO_BUFFERED};
	if (fstatfs(fd, &fs) == 0) {
		device->memory = fstype_is_memory(fs.f_type);
		device->remote = fstype_is_remote(fs.f_type);
	}
	device->trash = huge_map(DEVICE_TRASH);
	if (!device->trash)
		return -ENOMEM;
	if (io != CACHE_IO_BUFFERED && !device->memory)
		device->direct_fd = find_direct(device);
	if (io == CACHE_IO_DIRECT && device->direct_fd < 0) {
		device_release(device);
		return -EINVAL;
	}
	if (!device->remote)
		fcntl(fd, F_OFD_SETLK, &lock);
	/* What comes next is the planner's business; the kernel's guess would only add bytes. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return 0;
}

void device_release(struct device *device)
{
	struct flock lock = mark(F_UNLCK);

	if (!device->remote)
		fcntl(device->fd, F_OFD_SETLK, &lock);
	if (device->direct_fd >= 0)
		close(device->direct_fd);
	huge_unmap(device->trash, DEVICE_TRASH);
	*device = (struct device){.fd = -1, .direct_fd = -1};
}

/* --- how to read ----------------------------------------------------------------------------- */

static int64_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

/* Each mount holds a read lock on MARK; who asks for a write lock there is told of another's. Not
 * on remote filesystems, where a lock is a request, and one that may hang. */
static void look_for_others(struct device *device)
{
	int64_t now = seconds();
	struct flock lock = mark(F_WRLCK);

	if (device->remote || now - atomic_load(&device->looked) < LOOK_SECONDS)
		return;
	atomic_store(&device->looked, now);
	if (fcntl(device->fd, F_OFD_GETLK, &lock) == 0)
		atomic_store(&device->shared, lock.l_type != F_UNLCK);
}

bool device_is_direct(const struct device *device)
{
	return device->direct_fd >= 0 && !atomic_load(&device->no_direct) &&
	       !atomic_load(&device->shared);
}

/* --- reading --------------------------------------------------------------------------------- */

/* Drops the first `done` bytes of iov; returns the pieces left. */
static int advance(struct iovec **iov, int count, size_t done)
{
	while (count && done >= (*iov)->iov_len) {
		done -= (*iov)->iov_len;
		(*iov)++;
		count--;
	}
	if (count) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + done;
		(*iov)->iov_len -= done;
	}
	return count;
}

/* Counts when all is there: what is refused is read again by somebody. A direct read that is
 * refused, be it half-way, goes on as a buffered one. */
static int read_all(struct device *device, int fd, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed, int flags)
{
	uint64_t reads = 0, start = offset;

	/* The file may end before its last page does. */
	while (offset - start < needed) {
		ssize_t n = preadv2(fd, iov, count, (off_t)offset, flags);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && fd == device->direct_fd) {
			atomic_store(&device->no_direct, true);
			fd = device->fd;
			continue;
		}
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		reads++;
		offset += (uint64_t)n;
		count = advance(&iov, count, (size_t)n);
	}
	atomic_fetch_add_explicit(&device->reads, reads, memory_order_relaxed);
	atomic_fetch_add_explicit(&device->bytes, offset - start, memory_order_relaxed);
	return 0;
}

/* What the pool holds the page cache need not hold as well. The kernel drops whole pages only. */
static void drop_behind(const struct device *device, uint64_t offset, uint64_t size)
{
	uint64_t pages = cache_page_up(size);

	if (!device->keep && !atomic_load(&device->shared))
		posix_fadvise(device->fd, (off_t)offset, (off_t)pages, POSIX_FADV_DONTNEED);
}

int device_read(struct device *device, struct iovec *iov, int count, uint64_t offset,
		uint64_t needed)
{
	int fd, r;

	look_for_others(device);
	fd = device_is_direct(device) ? device->direct_fd : device->fd;
	r = read_all(device, fd, iov, count, offset, needed, 0);
	if (!device_is_direct(device))
		drop_behind(device, offset, needed);
	if (r < 0)
		atomic_fetch_add_explicit(&device->errors, 1, memory_order_relaxed);
	return r;
}

static bool is_cached(struct device *device, uint64_t offset, uint64_t size)
{
	int64_t pages;

	if (atomic_load_explicit(&device->no_cachestat, memory_order_relaxed))
		return false;
	pages = cached_pages(device->fd, offset, size);
	if (pages < 0)
		atomic_store_explicit(&device->no_cachestat, true, memory_order_relaxed);
	return pages >= (int64_t)(cache_page_up(size) / CACHE_PAGE);
}

int device_read_now(struct device *device, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed)
{
	int r;

	if (device->memory)
		return read_all(device, device->fd, iov, count, offset, needed, 0) < 0 ? -EAGAIN
										       : 0;
	if (atomic_load_explicit(&device->no_nowait, memory_order_relaxed) ||
	    (device_is_direct(device) && !is_cached(device, offset, needed)))
		return -EAGAIN;
	r = read_all(device, device->fd, iov, count, offset, needed, RWF_NOWAIT);
	if (r == -EOPNOTSUPP)
		atomic_store_explicit(&device->no_nowait, true, memory_order_relaxed);
	/* Whatever went wrong, the waiting read will find out and say. */
	return r < 0 ? -EAGAIN : 0;
}
