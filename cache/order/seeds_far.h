/* Seeds whose orders begin far along their generators: what seeds_new_far() has in place of
 * sieves. Not for others than seeds.c; what is not said here is said in seeds.h. */
#ifndef CACHE_ORDER_SEEDS_FAR_H
#define CACHE_ORDER_SEEDS_FAR_H

#include "cache/order/seeds.h"

struct seeds_far;

/* Returns 0 or -ENOMEM. */
int seeds_far_new(const struct seeds_runs *seen, struct seeds_far **ret);
void seeds_far_free(struct seeds_far *far); /* NULL is fine */

unsigned seeds_far_narrow(struct seeds_far *far, unsigned bytes);
bool seeds_far_match(const struct seeds_far *far, uint32_t seed);

/* Tries so many seeds from `from` on, or those that are given. */
unsigned seeds_far_search(const struct seeds_far *far, uint32_t from, uint32_t count,
			  struct seeds_found *ret, unsigned most);
unsigned seeds_far_search_these(const struct seeds_far *far, const uint32_t *these, unsigned count,
				struct seeds_found *ret, unsigned most);

#endif
