/* What torch draws of a generator that was just seeded. */
#pragma once

#include "cache/order/permutation.h"

static inline void permutation_of(uint32_t seed, uint32_t *order, size_t n)
{
	struct mt19937 mt;

	mt19937_init(&mt, seed);
	permutation_next(&mt, order, n);
}

/* The output behind `word` others, which may be the seed of another generator. */
static inline uint32_t output(uint32_t root, uint64_t word)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	mt19937_skip(&mt, word);
	return mt19937_next(&mt);
}
