/* Requests under way. cache_read, cache_cancel and
 * cache_give_up of cache.h are here too. */
#pragma once

#include "cache/cache_internal.h"
#include "cache/fill.h"

/* What the I/O threads do: read a fill, answer the requests that waited for it, admit the starved.
 */
extern const struct work_ops request_work;
