/* The threads behind the oracle (order/oracle.h): it is asked now and then, and thinks at idle
 * priority (SCHED_IDLE), so that whatever else wants a processor gets it.
 *
 *	cache_read, cache_opened -> thinker_saw -> oracle_saw
 *	thread: oracle_ask -> oracle_think, by so many threads -> oracle_answer -> look for reads
 *
 * All seeds are tried only where it pays: files are missing in memory, and at the readers' pace the
 * epoch lasts longer than the search. Threads sleep while nobody reads. */
#ifndef CACHE_THINKER_H
#define CACHE_THINKER_H

#include "cache/cache_internal.h"
#include "cache/order/forecast.h"

/* Nothing is guessed with 0 cpus, but an order may be given; more than 64 are as 64. Returns 0 or
 * -ENOMEM. */
int thinker_new(struct cache *cache, unsigned cpus, struct thinker **ret);
void thinker_free(struct thinker *thinker); /* stopped, or never started; NULL is fine */
int thinker_start(struct thinker *thinker); /* 0 or -errno */
void thinker_stop(struct thinker *thinker); /* within a moment, whatever it thinks about */

/* A reader opened the file that begins with this extent, or asked for it. The cache's lock is
 * held. */
void thinker_saw(struct thinker *thinker, uint32_t reader, uint64_t file, bool opened);
/* As oracle_to_push(), oracle_may_push(), oracle_pushed(). The cache's lock is held. */
void thinker_to_push(const struct thinker *thinker, forecast_take_fn *take, void *arg);
bool thinker_may_push(const struct thinker *thinker);
void thinker_pushed(struct thinker *thinker, uint64_t file);
/* As cache_order(). */
int thinker_order(struct thinker *thinker, const uint32_t *files, uint32_t count);
/* The cache's lock is held. */
void thinker_stats(const struct thinker *thinker, struct cache_oracle *ret);

#endif
