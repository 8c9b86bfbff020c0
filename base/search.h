/* Sorts by the first field, and finds a place in what is sorted by it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* For qsort(3) and bsearch(3) of items that begin with a uint64_t or a uint32_t. */
static inline int search_compare64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static inline int search_compare32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The last of `count` items whose first field, a uint64_t, is not greater than `value`; the first
 * one where there is none. There is an item, and they are sorted by that field. */
static inline size_t search_last(const void *items, size_t count, size_t item_bytes, uint64_t value)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;
		uint64_t first;

		memcpy(&first, (const char *)items + middle * item_bytes, sizeof(first));
		if (first <= value)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
