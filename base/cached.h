/* How much of a file is in the page cache. */
#pragma once

#include <stdint.h>

/* How many pages of a range of the file are in the page cache, or -errno: cachestat(2) needs Linux
 * 6.5, and permission to write the file. Asking with RWF_NOWAIT instead would make the kernel read
 * what is missing. */
int64_t cached_pages(int fd, uint64_t offset, uint64_t len);
