/* Between the threads that serve and the oracle (order/oracle.h), which has a lock of its own:
 *
 *	feed_saw, feed_pushed  -> the planner knows at once where the readers are
 *	(the cache's lock)     -> a ring (seen.h)
 *
 *	feed_listen            the ring -> oracle_saw -> an order is followed: a copy of its
 *	(the feed's lock)      forecast takes what is in the ring, and the planner gets the copy
 *
 * The feed's lock is taken before the cache's, under which forecasts are only given and taken back.
 */
#pragma once

#include "cache/order/oracle.h"
#include "cache/seen.h"
#include <pthread.h>

struct cache;

#define FEED_WAKE 64 /* events that are worth waking up for */

struct oracle_feed {
	struct cache *cache;
	/* Protected by the cache's lock: */
	struct seen seen;
	bool watching;		/* there is something to be seen for */
	bool asleep;		/* until something is seen */
	unsigned begun, opened; /* files of late that were seen by a READ; and else */
	pthread_cond_t wake;
	struct oracle_state shown;

	pthread_mutex_t lock;
	/* Protected by lock: */
	struct oracle *oracle;
	uint64_t taken; /* events that the oracle has */
};

/* Returns 0 or -ENOMEM. */
int feed_init(struct oracle_feed *feed, struct cache *cache, bool watching);
void feed_release(struct oracle_feed *feed);

/* A reader opened the file that begins with this extent, or asked for it; the kernel was given it
 * before anybody asked. The cache's lock is held. */
void feed_saw(struct oracle_feed *feed, uint32_t reader, uint64_t file, bool opened);
void feed_pushed(struct oracle_feed *feed, uint64_t file);

/* Tells the oracle all that was seen until now. */
void feed_listen(struct oracle_feed *feed);
/* Notes the oracle's state for the stats. The feed's lock is held. */
void feed_show(struct oracle_feed *feed);
/* As cache_order(). */
int feed_order(struct oracle_feed *feed, const uint32_t *files, uint32_t count);
