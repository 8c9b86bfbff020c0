#include "base/cached.h"
#include "base/uapi.h"
#include <errno.h>
#include <unistd.h>

/* As in linux/mman.h, which may be included here, under names of its own. */
struct cached_range {
	uint64_t off, len;
};
struct cached_result {
	uint64_t cache, dirty, writeback, evicted, recently_evicted;
};

int64_t cached_pages(int fd, uint64_t offset, uint64_t len)
{
	struct cached_range range = {.off = offset, .len = len};
	struct cached_result result;

	if (syscall(SYS_cachestat, fd, &range, &result, 0) < 0)
		return -errno;
	return (int64_t)result.cache;
}
