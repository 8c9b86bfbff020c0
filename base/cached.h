/* How much of a file is in the page cache. */
#ifndef BASE_CACHED_H
#define BASE_CACHED_H

#include <stddef.h>
#include <stdint.h>

/* The number of pages of a range of the file that are in the page cache. Returns -errno where the
 * kernel does not say: cachestat(2) needs Linux 6.5, and permission to write the file. RWF_NOWAIT
 * instead would make the kernel read what is missing.
 */
int64_t cached_pages(int fd, uint64_t offset, uint64_t len);

#endif
