/* From a demand to fills of what the planner hopes will be asked for next. */
#ifndef CACHE_AHEAD_H
#define CACHE_AHEAD_H

#include "cache/cache_internal.h"
#include "cache/fill.h"

/* Tells the planner that extents first.. were asked for, and appends to the list *fills what it
 * wants read ahead, whose extents are added to the pool. Lock held. */
void ahead_plan(struct cache *cache, uint64_t first, unsigned count, struct fill **fills);

#endif
