/* Files in an order, and the place of each: those that a loader may number, which a permutation
 * permutes, and those of an epoch.
 *
 * A file is known by the number of its first extent; an empty one, which has none, is ORDER_NONE
 * and keeps its place. A table from the least number to the greatest has the places, four bytes
 * each, as the files of a list lie together.
 *
 * Immutable: any thread may read it. Counted, as those who follow readers and those who plan reads
 * share one under locks of their own. */
#pragma once

#include <stdint.h>

#define ORDER_NONE UINT32_MAX /* no file, or no place */

struct order_list {
	unsigned users; /* atomic */
	char *name;	/* for people: "train as ImageFolder"; NULL: of an epoch */
	uint32_t count;
	uint32_t classes;   /* that a loader makes of them, for a model; 0: not known */
	uint32_t *files;    /* by place */
	uint32_t low, high; /* the least file, and the greatest plus 1 */
	uint32_t *places;   /* of file - low: the first one, or ORDER_NONE */
};

/* `files`, count of which is at least 1, are from malloc and taken over, but not on failure; the
 * name (NULL: none) is copied. It has one user. Returns 0 or -ENOMEM. */
int order_list_new(const char *name, uint32_t *files, uint32_t count, struct order_list **ret);
/* The same from files that are copied. */
int order_list_copy(const char *name, const uint32_t *files, uint32_t count,
		    struct order_list **ret);
/* One more user. */
struct order_list *order_list_share(struct order_list *list);
/* One less; the last one frees it. NULL is fine. */
void order_list_free(struct order_list *list);

/* The first place of a file, or ORDER_NONE. */
static inline uint32_t order_list_find(const struct order_list *list, uint64_t file)
{
	return file >= list->low && file < list->high ? list->places[file - list->low] : ORDER_NONE;
}
