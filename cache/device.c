#include "cache/device.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

void device_init(struct device *device, int fd)
{
	struct statfs fs;

	*device = (struct device){.fd = fd};
	if (fstatfs(fd, &fs) == 0)
		device->memory = fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
	/* What comes next is the planner's business; the kernel's guess would only add bytes. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

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

/* Counts when all is there: a read that was refused half-way is done again from its start. */
static int read_all(struct device *device, struct iovec *iov, int count, uint64_t offset, int flags)
{
	uint64_t reads = 0, start = offset;

	while (count) {
		ssize_t n = preadv2(device->fd, iov, count, (off_t)offset, flags);

		if (n < 0 && errno == EINTR)
			continue;
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

int device_read(struct device *device, struct iovec *iov, int count, uint64_t offset)
{
	int r = read_all(device, iov, count, offset, 0);

	if (r < 0)
		atomic_fetch_add_explicit(&device->errors, 1, memory_order_relaxed);
	return r;
}

int device_read_now(struct device *device, struct iovec *iov, int count, uint64_t offset)
{
	int r;

	if (device->memory)
		return read_all(device, iov, count, offset, 0) < 0 ? -EAGAIN : 0;
	if (atomic_load_explicit(&device->no_nowait, memory_order_relaxed))
		return -EAGAIN;
	r = read_all(device, iov, count, offset, RWF_NOWAIT);
	if (r == -EOPNOTSUPP)
		atomic_store_explicit(&device->no_nowait, true, memory_order_relaxed);
	/* Whatever went wrong, the waiting read will find out and say. */
	return r < 0 ? -EAGAIN : 0;
}
