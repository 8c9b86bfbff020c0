/* The search of all seeds (cache/order/seeds.h), by several threads where that is wanted: ranges of
 * seeds are dealt out to them. Each gives way as idle_work.h has it.
 *
 *	query's thread: seed_search() --+-- threads of its own, which end with it
 *	any other: seed_search_hurry(), `part`, meanwhile
 */
#pragma once

#include "cache/idle_work.h"
#include "cache/order/seeds.h"
#include <pthread.h>
#include <stdatomic.h>

#define SEED_SEARCH_THREADS 64

/* One search at a time. */
struct seed_search {
	unsigned threads; /* that take part, with the caller's: 1..SEED_SEARCH_THREADS */
	bool (*over)(void *context);
	void *context;
	atomic_uint part; /* that was searched, per cent */

	pthread_mutex_t lock;
	pthread_t ids[SEED_SEARCH_THREADS]; /* protected by lock */
	unsigned count;			    /* protected by lock: threads beside the caller's */
};

void seed_search_init(struct seed_search *search, unsigned threads, bool (*over)(void *context),
		      void *context);
void seed_search_release(struct seed_search *search);

/* As search_hooks.search. Others help with all seeds; less is done before they would be of use. */
unsigned seed_search(struct seed_search *search, struct idle_work *own, const struct seeds *seeds,
		     uint64_t from, uint64_t to, struct seeds_found *ret, unsigned most);

/* Gives the threads beside the caller's the normal priority: the search is to end. */
void seed_search_hurry(struct seed_search *search);
