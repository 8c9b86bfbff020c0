/* Finds a place in what is sorted. */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#endif
