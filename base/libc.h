/* What glibc has and other C libraries lack, or declare otherwise: musl before 1.2.5, and later. In
 * their place are calls of the kernel, or nothing. */
#pragma once

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
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

static inline int scandirat(int folder, const char *path, struct dirent ***ret,
			    int (*wanted)(const struct dirent *),
			    int (*compare)(const struct dirent **, const struct dirent **))
{
	char *name;
	int count;

	if (asprintf(&name, "/proc/self/fd/%d/%s", folder, path) < 0)
		return -1;
	count = scandir(name, ret, wanted, compare);
	free(name);
	return count;
}
#endif
