/* What the kernel holds of a file in memory. */
#ifndef BASE_CACHED_H
#define BASE_CACHED_H

#include <stddef.h>
#include <stdint.h>

/* The number of pages of a range of the file that are in memory, whoever read them. Returns -errno
 * where the kernel does not tell: cachestat(2) came with Linux 6.5, and is only for those who may
 * write the file. Trying with RWF_NOWAIT instead would make the kernel read what it does not have.
 */
int64_t cached_pages(int fd, uint64_t offset, uint64_t len);

#endif
