/* What comes next in a known order goes to the kernel before its reader asks: the reader finds it
 * in the page cache, and no request is sent.
 *
 *	read ahead, demand foreseen -> push_wake -> cache_push_next -> the kernel -> cache_push_done
 *
 * One file in PUSH_ASKED is left out, so that its reader asks for it, and shows where it is. */
#ifndef CACHE_PUSH_H
#define CACHE_PUSH_H

#include "cache/cache_internal.h"

/* Something may be there to push. */
void push_wake(struct cache *cache);
/* The same, with the cache's lock held. */
void push_wake_locked(struct cache *cache);

#endif
