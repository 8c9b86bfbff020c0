/* What the kernel holds of a file in memory. */
#ifndef BASE_CACHED_H
#define BASE_CACHED_H

#include <stddef.h>
#include <stdint.h>

/* The pages of a stretch of the file that are in memory, whoever read them, or -errno where that
 * cannot be told: cachestat(2) is of Linux 6.5, and only for who may write the file. Asking by
 * RWF_NOWAIT instead would have the kernel begin to read what it has not. */
int64_t cached_pages(int fd, uint64_t offset, uint64_t len);

#endif
