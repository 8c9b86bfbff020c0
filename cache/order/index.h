/* Where a number stands in an array, by the number: of a file its index in a list, or its place in
 * an order.
 *
 * It takes four bytes for each number from the least to the greatest, as files of one list lie
 * together. Immutable once made. */
#ifndef CACHE_ORDER_INDEX_H
#define CACHE_ORDER_INDEX_H

#include <stdint.h>

#define ORDER_NONE UINT32_MAX /* in an array: no number; as a place: none */

struct order_index {
	uint32_t low, high; /* the least number, and behind the greatest */
	uint32_t *places;   /* of number - low: the first one, or ORDER_NONE */
};

/* Of `count` numbers, at least 1, which are not kept. Returns 0 or -ENOMEM. */
int order_index_init(struct order_index *index, const uint32_t *numbers, uint32_t count);
void order_index_release(struct order_index *index); /* all zero is fine */

/* The first place of a number, or ORDER_NONE. */
static inline uint32_t order_index_find(const struct order_index *index, uint64_t number)
{
	return number >= index->low && number < index->high ? index->places[number - index->low]
							    : ORDER_NONE;
}

#endif
