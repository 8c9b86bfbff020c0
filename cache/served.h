/* What is counted, and decided, when somebody asks for an extent and when it was served: whether it
 * was there, whether the pool or the kernel keeps it, and which copies the kernel is to drop. */
#pragma once

#include "cache/cache_internal.h"

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
