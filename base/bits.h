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

/* The same of a large set with few members, in which most words are empty: `words` is the set of
 * those that are not. */
static inline void bits_add(uint8_t *bits, uint8_t *words, uint64_t at)
{
	bit_set(bits, at);
	bit_set(words, at / 64);
}

static inline void bits_remove(uint8_t *bits, uint8_t *words, uint64_t at)
{
	bit_clear(bits, at);
	if (le_get64(bits + at / 64 * 8) == 0)
		bit_clear(words, at / 64);
}

static inline uint64_t bits_next_few(const uint8_t *bits, const uint8_t *words, uint64_t from,
				     uint64_t n)
{
	uint64_t word = from / 64;
	uint64_t found = from < n ? bits_next(bits + word * 8, from % 64, 64) : UINT64_MAX;

	if (found == UINT64_MAX) {
		word = bits_next(words, word + 1, n / 64 + 1);
		if (word == UINT64_MAX)
			return word;
		found = bits_next(bits + word * 8, 0, 64);
	}
	return word * 64 + found;
}

static inline uint64_t bits_before_few(const uint8_t *bits, const uint8_t *words, uint64_t until)
{
	uint64_t word = until / 64, found = bits_before(bits + word * 8, until % 64);

	if (found == UINT64_MAX) {
		word = bits_before(words, word);
		if (word == UINT64_MAX)
			return word;
		found = bits_before(bits + word * 8, 64);
	}
	return word * 64 + found;
}
