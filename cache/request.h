/* Requests under way. cache_read and cache_cancel of cache.h are here too. */
#ifndef CACHE_REQUEST_H
#define CACHE_REQUEST_H

#include "cache/cache_internal.h"
#include "cache/fill.h"

/* What the I/O threads do: read a fill, answer who waited for it, admit those who were starved. */
extern const struct work_ops request_work;

/* The kernel was given an extent that nobody has asked for; it is pinned. Returns whether it is to
 * keep it. Lock held. */
bool request_pushed(struct cache *cache, struct pool_extent *extent);
/* It is to let go of it. Without the lock. */
void request_drop(const struct cache *cache, uint64_t extent);

#endif
