/* What is counted, and decided, when somebody asks for an extent and when it was served: whether it
 * was there, whether the pool or the kernel keeps it, and which copies the kernel is to drop. */
#pragma once

#include "base/bits.h"
#include "cache/cache.h"
#include <stdatomic.h>

struct served {
	_Atomic uint64_t bytes;
	uint8_t *set;		 /* a bit for each extent once served in full, */
	uint64_t distinct_bytes; /* and of these */
	uint64_t hits, misses;
};

static inline bool served_has(const struct served *served, uint64_t extent)
{
	return bit_get(served->set, extent);
}

/* Extents of which the kernel is to drop its copy, collected under the lock. */
struct drops {
	unsigned count;
	uint64_t extents[2 * CACHE_READ_EXTENTS]; /* of each that was served, and a probe with it */
};

/* Somebody reads of a pinned extent; `begins`: its beginning. What was read ahead has found its
 * use. Lock held. */
void served_asked(struct cache *cache, struct pool_extent *extent, bool begins);

/* Some of it was served: the kernel keeps its copy, or it is added to the drops. Lock held. */
void served_range(struct cache *cache, struct pool_extent *extent, uint32_t from, uint32_t size,
		  struct drops *drops);

void drops_add(struct drops *drops, uint64_t extent);
/* Without the lock. */
void drops_send(const struct cache *cache, const struct drops *drops);
