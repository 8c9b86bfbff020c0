/* The files that a loader may number: what a permutation permutes.
 *
 * A file is known by the number of its first extent; an empty one, which has none, is ORDER_NONE
 * and keeps its index. Immutable: any thread may read it. */
#ifndef CACHE_ORDER_LIST_H
#define CACHE_ORDER_LIST_H

#include "cache/order/index.h"
#include <stdint.h>

struct order_list {
	char *name; /* for people: "train as ImageFolder" */
	uint32_t count;
	uint32_t *files; /* by index */
	struct order_index indices;
};

/* Copies name and files, count of which is at least 1. Returns 0 or -ENOMEM. */
int order_list_new(const char *name, const uint32_t *files, uint32_t count,
		   struct order_list **ret);
void order_list_free(struct order_list *list); /* NULL is fine */

/* The first index of a file, or ORDER_NONE. */
static inline uint32_t order_list_find(const struct order_list *list, uint64_t file)
{
	return order_index_find(&list->indices, file);
}

#endif
