/* The files that a loader indexes, in the order of its index: what a permutation permutes.
 *
 * A file is known by the number of its first extent; an empty one, which has none, is ORDER_NONE
 * and keeps its place. Immutable once made. */
#ifndef CACHE_ORDER_LIST_H
#define CACHE_ORDER_LIST_H

#include <stdint.h>

#define ORDER_NONE UINT32_MAX

struct order_list {
	char *name; /* for people: "train as ImageFolder" */
	uint32_t count;
	uint32_t *files;    /* by index */
	uint32_t low, high; /* the least file, and behind the greatest */
	uint32_t *indices;  /* of file - low: its first index, or ORDER_NONE */
};

/* Copies name and files, count of which is at least 1. Returns 0 or -ENOMEM. */
int order_list_new(const char *name, const uint32_t *files, uint32_t count,
		   struct order_list **ret);
void order_list_free(struct order_list *list); /* NULL is fine */

/* The index of a file, or ORDER_NONE. */
static inline uint32_t order_list_find(const struct order_list *list, uint64_t file)
{
	return file >= list->low && file < list->high ? list->indices[file - list->low]
						      : ORDER_NONE;
}

#endif
