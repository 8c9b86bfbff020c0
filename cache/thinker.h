/* The threads of the oracle (order/oracle.h): it is asked now and then, and thinks at idle priority
 * (SCHED_IDLE), so that whatever else wants a processor gets it.
 *
 *	feed_listen -> oracle_ask -> oracle_run, by so many threads -> oracle_answer -> look for
 *reads
 *
 * All seeds are tried only where it pays: files are missing in memory, and at the readers' pace the
 * epoch lasts longer than the search. Threads sleep while nobody reads. */
#ifndef CACHE_THINKER_H
#define CACHE_THINKER_H

#include "cache/cache_internal.h"

/* Nothing is guessed with 0 cpus, but an order may be given; more than 64 are as 64. Returns 0 or
 * -ENOMEM. */
int thinker_new(struct cache *cache, unsigned cpus, struct thinker **ret);
void thinker_free(struct thinker *thinker); /* stopped, or never started; NULL is fine */
int thinker_start(struct thinker *thinker); /* 0 or -errno */
void thinker_stop(struct thinker *thinker); /* within a moment, whatever it thinks about */

/* What it hears by. */
struct oracle_feed *thinker_feed(struct thinker *thinker);
/* The cache's lock is held. */
void thinker_stats(struct thinker *thinker, struct cache_oracle *ret);

#endif
