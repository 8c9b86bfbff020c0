/* torch.randperm(n) on the CPU, of n below PERMUTATION_LARGE: randperm_cpu() of
 * aten/src/ATen/native/TensorFactories.cpp. The tensor's type makes no difference.
 * Pure: any thread may call these on data of its own. */
#pragma once

#include "cache/order/mt19937.h"
#include <stddef.h>
#include <string.h>

/* (2^32 - 1) / 20: from here on, torch shuffles in another way since 2025. */
#define PERMUTATION_LARGE 214748364u

/* Fills order[0..n) with the next permutation of n, which takes n - 1 outputs of the generator. */
void permutation_next(struct mt19937 *mt, uint32_t *order, size_t n);

/* The permutation of a generator that was just seeded. */
void permutation_of(uint32_t seed, uint32_t *order, size_t n);

/* Its first `count` elements, at most PERMUTATION_HEAD and n, in a time that does not depend on
 * n. */
#define PERMUTATION_HEAD 1024
void permutation_head(struct mt19937 *mt, uint32_t n, uint32_t *ret, unsigned count);

/* The same, an element at a time, from outputs that the caller draws: at most PERMUTATION_HEAD and
 * n of them. Of the array that is shuffled only what differs from 0, 1, 2, ... is kept. */
#define PERMUTATION_MARKS 8
struct permutation_deal {
	uint32_t n, count;		   /* elements dealt so far */
	uint64_t marks[PERMUTATION_MARKS]; /* a Bloom filter of the places swapped so far */
	uint32_t places[PERMUTATION_HEAD], values[PERMUTATION_HEAD];
};

static inline void permutation_deal_init(struct permutation_deal *deal, uint32_t n)
{
	deal->n = n;
	deal->count = 0;
	memset(deal->marks, 0, sizeof(deal->marks));
}

uint32_t permutation_deal_next(struct permutation_deal *deal, uint32_t output);
