/* What comes next in a known order goes to the kernel before its reader asks, and what was read
 * ahead when it is opened: the reader finds it in the page cache, and no request is sent.
 *
 *	read ahead, demand foreseen -> push_wake -> cache_push_next -> the kernel -> cache_push_done
 *	read ahead, opened                       -> cache_opened    -> the kernel -> cache_push_done
 *
 * Of the former one file in PUSH_ASKED is left out, so that its reader asks for it, and shows where
 * it is. */
#pragma once

#include "cache/cache.h"
#include <pthread.h>

struct push {
	pthread_cond_t wake; /* something may be there to push, or stopping */
	bool waits;	     /* for that */
	unsigned vain;	     /* looks in a row that found nothing */
	unsigned skip;	     /* wakes until the next look */
};

/* Something may be there to push. Costs next to nothing where no order is known. Lock held. */
void push_wake(struct cache *cache);
/* The cache stops: cache_push_next() is to return. */
void push_end(struct cache *cache);
