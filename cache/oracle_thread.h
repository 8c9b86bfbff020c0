/* The oracle's thread (order/oracle.h): it takes what was seen, asks the oracle now and then, and
 * runs its queries on a thread of their own.
 *
 *	feed_listen -> oracle_ask -> oracle_run -> oracle_answer -> look for reads
 *
 * What searches take is the rule of idle_work.h. All seeds are tried (seed_search.h) only where it
 * pays: files are missing in memory, and at the readers' pace the epoch lasts longer than the
 * search. The thread sleeps while nobody reads. */
#pragma once

#include "cache/cache.h"

struct oracle_feed;
struct oracle_thread;

/* Nothing is guessed with 0 cpus, but an order may be given; more than 64 are as 64. Returns 0 or
 * -ENOMEM. */
int oracle_thread_new(struct cache *cache, unsigned cpus, struct oracle_thread **ret);
void oracle_thread_free(struct oracle_thread *thread); /* stopped, or never started; NULL is fine */
int oracle_thread_start(struct oracle_thread *thread); /* 0 or -errno */
void oracle_thread_stop(struct oracle_thread *thread); /* within a moment, whatever query runs */

/* Through which it learns what was seen. */
struct oracle_feed *oracle_thread_feed(struct oracle_thread *thread);
/* The cache's lock is held. */
void oracle_thread_stats(struct oracle_thread *thread, struct cache_oracle *ret);
