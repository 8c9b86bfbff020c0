/* std::shuffle of libstdc++ with std::mt19937, whose seeded state is torch's, and with
 * std::mt19937_64: bits/stl_algo.h, shuffle(), and bits/uniform_int_dist.h. */
#ifndef CACHE_ORDER_STD_SHUFFLE_H
#define CACHE_ORDER_STD_SHUFFLE_H

#include "cache/order/mt19937.h"
#include <stddef.h>

enum std_uniform {
	STD_DIVIDE,   /* uniform_int_distribution of GCC 10 and before: two divisions */
	STD_MULTIPLY, /* since GCC 11: Lemire's, nearly without division */
};

/* Shuffles order[0..n), n below 2^32. Two places are drawn by one output where n * n fits into 32
 * bits: GCC 7 and later. */
void std_shuffle(struct mt19937 *mt, enum std_uniform uniform, uint32_t *order, size_t n);

/* With a new std::mt19937_64 of that seed, since GCC 11. */
void std_shuffle_64(uint64_t seed, uint32_t *order, size_t n);

#endif
