/* What all shuffles are made of. */
#ifndef CACHE_ORDER_SWAP_H
#define CACHE_ORDER_SWAP_H

#include <stdint.h>

static inline void swap_places(uint32_t *a, uint32_t *b)
{
	uint32_t a_was = *a;

	*a = *b;
	*b = a_was;
}

#endif
