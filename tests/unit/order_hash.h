/* FNV-1a of the elements of an order, low byte first: golden values are written down as this. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint32_t order_hash(const uint32_t *order, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		for (unsigned b = 0; b < 32; b += 8)
			h = (h ^ (order[i] >> b & 0xff)) * 16777619u;
	return h;
}
