/* What glibc has and other C libraries lack, or declare otherwise: musl before 1.2.5, and later. In
 * their place are calls of the kernel, or nothing. */
#pragma once

#include <malloc.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8

static inline ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return syscall(SYS_preadv2, fd, iov, (long)count, offset, 0L, flags);
}
#endif

#ifdef __GLIBC__
typedef unsigned long libc_ioctl_request;
#else
typedef int libc_ioctl_request;

/* These tune an allocator that is not there. */
#define M_TRIM_THRESHOLD 0
#define M_MMAP_THRESHOLD 0
#define M_ARENA_MAX	 0

static inline int mallopt(int name, int value)
{
	(void)name;
	(void)value;
	return 1;
}

static inline int malloc_trim(size_t kept)
{
	(void)kept;
	return 0;
}
#endif
