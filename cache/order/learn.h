/* The index of a Subset or a custom Dataset, from an epoch whose seed is known from elsewhere.
 *
 *	history -> epoch: the files of each worker -> deal: place -> file  \
 *	conventions -> pass of that epoch, and of the one after it          > index -> file
 *	                (seed 0, 1, ...; words of manual_seed(42))         /
 *
 * What was asked for in the order of the first permutation is the index, permuted: element i of
 * the permutation is the index of the i-th file. Whether a permutation was the one, the next
 * epoch's beginning tells: the files that the next permutation has first are among those seen.
 * It is believed by the same odds as in guess.h. */
#ifndef CACHE_ORDER_LEARN_H
#define CACHE_ORDER_LEARN_H

#include "cache/order/guess.h"
#include "cache/order/history.h"

/* From the beginnings of the present epoch, as watch_beginnings() tells them, to a course over a
 * list that is made for it, and the caller's. Takes some seconds at most. False where the order is
 * not known, or no memory. */
bool learn(const struct history *history, const struct watch_access *begun, unsigned count,
	   const struct guess_hooks *hooks, struct order_list **ret_list, struct course *ret);

#endif
