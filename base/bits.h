/* Sets of numbers below n: a bit for each, in n / 8 + 1 bytes. */
#pragma once

#include "base/le.h"
#include <stdbool.h>
#include <stdint.h>

static inline bool bit_get(const uint8_t *bits, uint64_t at)
{
	return bits[at / 8] & (1 << at % 8);
}

/* Returns whether it was set before. */
static inline bool bit_set(uint8_t *bits, uint64_t at)
{
	bool was = bit_get(bits, at);

	bits[at / 8] |= (uint8_t)(1 << at % 8);
	return was;
}

static inline void bit_clear(uint8_t *bits, uint64_t at)
{
	bits[at / 8] &= (uint8_t) ~(1 << at % 8);
}

/* The least number of a set that is at least `from`, and the greatest below `until`; UINT64_MAX:
 * there is none. Such a set has n / 64 + 1 words of 8 bytes, each of which is looked at as one. */
static inline uint64_t bits_next(const uint8_t *bits, uint64_t from, uint64_t n)
{
	for (; from < n; from += 64 - from % 64) {
		uint64_t word = le_get64(bits + from / 64 * 8) >> from % 64;

		if (word)
			return from + (uint64_t)__builtin_ctzll(word);
	}
	return UINT64_MAX;
}

static inline uint64_t bits_before(const uint8_t *bits, uint64_t until)
{
	for (; until > 0; until = (until - 1) / 64 * 64) {
		uint64_t at = until - 1, word = le_get64(bits + at / 64 * 8) << (63 - at % 64);

		if (word)
			return at - (uint64_t)__builtin_clzll(word);
	}
	return UINT64_MAX;
}
