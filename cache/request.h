/* Requests under way. cache_read and cache_cancel of cache.h are here too. */
#ifndef CACHE_REQUEST_H
#define CACHE_REQUEST_H

#include "cache/cache_internal.h"
#include "cache/fill.h"

/* work_fn of the I/O threads: reads a fill, answers who waited for it, and admits those who
 * were starved. */
void request_fill(void *context, struct work_item *item);

#endif
