/* Sets of numbers below n: a bit for each, in n / 8 + 1 bytes. */
#pragma once

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
