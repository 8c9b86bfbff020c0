/* Where a number stands in an array: a file's index in a list, or its place in an order.
 *
 * A table from the least number to the greatest, four bytes each, as the files of a list lie
 * together. Immutable: any thread may read it. */
#ifndef CACHE_ORDER_INDEX_H
#define CACHE_ORDER_INDEX_H

#include <stdint.h>

#define ORDER_NONE UINT32_MAX /* no number, or no place */

struct order_index {
	uint32_t low, high; /* the least number, and the greatest plus 1 */
	uint32_t *places;   /* of number - low: the first one, or ORDER_NONE */
};

/* Of `count` numbers, 1 or more, which are not kept. Returns 0 or -ENOMEM. */
int order_index_init(struct order_index *index, const uint32_t *numbers, uint32_t count);
void order_index_release(struct order_index *index); /* all zero is fine */

/* The first place of a number, or ORDER_NONE. */
static inline uint32_t order_index_find(const struct order_index *index, uint64_t number)
{
	return number >= index->low && number < index->high ? index->places[number - index->low]
							    : ORDER_NONE;
}

#endif
