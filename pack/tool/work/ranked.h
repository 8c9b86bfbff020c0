/* Things that are sorted by a rank, and by a number where the rank is equal. */
#pragma once

#include <stdint.h>

struct ranked {
	uint64_t rank, number;
};

/* For qsort(). */
static inline int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}
