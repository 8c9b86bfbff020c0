/* Reads of one file into scattered memory, counted. Thread-safe. */
#ifndef CACHE_DEVICE_H
#define CACHE_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct device {
	int fd;		       /* borrowed */
	bool memory;	       /* a filesystem in memory: no read waits */
	atomic_bool no_nowait; /* RWF_NOWAIT is not known here */
	_Atomic uint64_t reads, bytes, errors;
};

void device_init(struct device *device, int fd);

/* Fills all of iov (which is changed) from offset.
 * Returns 0, -ENODATA (the file ends before), or what the read gave. */
int device_read(struct device *device, struct iovec *iov, int count, uint64_t offset);

/* The same if it need not wait for the device, else -EAGAIN. */
int device_read_now(struct device *device, struct iovec *iov, int count, uint64_t offset);

#endif
