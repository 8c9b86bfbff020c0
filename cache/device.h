/* Reads of one file into scattered memory, counted. Thread-safe.
 *
 * Direct reads (O_DIRECT) go from the device into the memory given: one copy less, and the
 * kernel keeps no second one. Buffered reads go through the kernel's page cache: where the
 * filesystem wants it so, or where another mount reads the same file, so that both pay once. */
#ifndef CACHE_DEVICE_H
#define CACHE_DEVICE_H

#include "cache/cache.h"
#include "cache/page.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

/* Where bytes go that nobody wants, and that are cheaper to read than to leave out. */
#define DEVICE_TRASH ((uint64_t)2 << 20)

struct device {
	int fd;			  /* borrowed; buffered */
	int direct_fd;		  /* -1: none */
	bool memory;		  /* a filesystem in memory: no read waits */
	bool remote;		  /* a filesystem of other machines' */
	bool keep;		  /* buffered by the user's wish */
	atomic_bool no_direct;	  /* a direct read was refused */
	atomic_bool no_nowait;	  /* RWF_NOWAIT is not known here */
	atomic_bool no_cachestat; /* nor cachestat(2) */
	atomic_bool shared;	  /* another mount of this machine reads the file, too */
	_Atomic int64_t looked;	  /* for those, s */
	char *trash;		  /* DEVICE_TRASH bytes, whose contents mean nothing */
	_Atomic uint64_t reads, bytes, errors;
};

/* Returns 0, -EINVAL where direct reads are wanted and cannot be had, or -ENOMEM. */
int device_init(struct device *device, int fd, enum cache_io io);
void device_release(struct device *device);

/* How it is read now. */
bool device_is_direct(const struct device *device);

/* Fills iov (which is changed) from offset, both multiples of CACHE_PAGE; the file must have
 * the first `needed` of these bytes.
 * Returns 0, -ENODATA (the file ends before), or what the read gave. */
int device_read(struct device *device, struct iovec *iov, int count, uint64_t offset,
		uint64_t needed);

/* The same if it need not wait for the device, else -EAGAIN. */
int device_read_now(struct device *device, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed);

#endif
