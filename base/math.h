/* Arithmetic on sizes that does not wrap around. */
#pragma once

#include <stdint.h>

/* a - b, or 0 if b is greater. */
static inline uint64_t sub_sat(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static inline uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
	return max(least, min(value, most));
}
