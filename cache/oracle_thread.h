/* The oracle (cache/order/oracle.h) and its thread, which takes what was seen, asks the oracle now
 * and then, and runs its queries on a thread of their own.
 *
 *	oracle_thread_saw, oracle_thread_pushed: the planner knows at once where the readers are
 *	-> a bounded ring, under the cache's lock: what finds it full is dropped, and counted
 *	-> oracle_saw, under a lock of its own -> an order is followed: a copy of its forecast
 *	   takes what is in the ring, and the planner gets the copy
 *	-> oracle_ask -> oracle_run -> oracle_answer -> look for reads
 *
 * Its lock is taken before the cache's, under which forecasts are only given and taken back. What
 * searches take is the rule of idle_work.h. The seeds of usual scripts are tried a second after
 * readers began, whether they wait or not: an order that is known is read faster in this epoch and
 * the next ones. All seeds are tried (seed_search.h) only where it pays: files are missing in
 * memory, and at the readers' pace the epoch lasts longer than the search. The thread sleeps while
 * nobody reads. */
#pragma once

#include "cache/cache.h"

struct oracle_thread;

#define ORACLE_SEEN 8192 /* files of the ring: as long as the slowest step of the oracle, 0.2 s */

/* Nothing is guessed with 0 cpus, but an order may be given; more than 64 are as 64. Returns 0 or
 * -ENOMEM. */
int oracle_thread_new(struct cache *cache, unsigned cpus, struct oracle_thread **ret);
void oracle_thread_free(struct oracle_thread *thread); /* stopped, or never started; NULL is fine */
int oracle_thread_start(struct oracle_thread *thread); /* 0 or -errno */
void oracle_thread_stop(struct oracle_thread *thread); /* within a moment, whatever query runs */

/* A reader opened the file that begins with this extent, or asked for it; the kernel was given it
 * before anybody asked. The cache's lock is held. */
void oracle_thread_saw(struct oracle_thread *thread, uint32_t reader, uint64_t file, bool opened);
void oracle_thread_pushed(struct oracle_thread *thread, uint64_t file);

/* Whether what was read so far may show an order soon. The cache's lock is held. */
bool oracle_thread_expects(const struct oracle_thread *thread);

/* As cache_order(). */
int oracle_thread_order(struct oracle_thread *thread, const uint32_t *files, uint32_t count);
/* The cache's lock is held. */
void oracle_thread_stats(struct oracle_thread *thread, struct cache_oracle *ret);
