/* torch.randperm(n) on the CPU: aten/src/ATen/native/TensorFactories.cpp, randperm_cpu(). Which
 * type the tensor has does not matter. */
#ifndef CACHE_ORDER_PERMUTATION_H
#define CACHE_ORDER_PERMUTATION_H

#include "cache/order/mt19937.h"
#include <stddef.h>
#include <string.h>

/* From here on new versions of torch shuffle in another way: (2^32 - 1) / 20. */
#define PERMUTATION_LARGE 214748364u

/* Fills order[0..n) with the next permutation of n; takes n - 1 outputs of mt (2 n where n is at
 * least `large`: PERMUTATION_LARGE, or SIZE_MAX for torch before 2025). */
void permutation_next(struct mt19937 *mt, uint32_t *order, size_t n, size_t large);

/* That of a generator seeded with `seed`. */
void permutation_of(uint32_t seed, uint32_t *order, size_t n);

/* Its first `count` elements, at most PERMUTATION_HEAD and n, in a time that does not depend on n,
 * which is less than PERMUTATION_LARGE. */
#define PERMUTATION_HEAD 1024
void permutation_head(struct mt19937 *mt, uint32_t n, uint32_t *ret, unsigned count);

/* The same, an element at a time, each made of the next output of any generator: at most
 * PERMUTATION_DEALT and n of them. Values lie at places that no longer have their own number. */
#define PERMUTATION_DEALT 1024
#define PERMUTATION_MARKS 8
struct permutation_deal {
	uint32_t n, count;		   /* of elements dealt */
	uint64_t marks[PERMUTATION_MARKS]; /* a bit for each of the places, and for others */
	uint32_t places[PERMUTATION_DEALT], values[PERMUTATION_DEALT];
};

static inline void permutation_deal_init(struct permutation_deal *deal, uint32_t n)
{
	deal->n = n;
	deal->count = 0;
	memset(deal->marks, 0, sizeof(deal->marks));
}

uint32_t permutation_deal_next(struct permutation_deal *deal, uint32_t output);

#endif
