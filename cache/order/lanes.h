/* Which of several versions of a function this processor runs best: they work on vectors of 16
 * and, on x86_64, 32 and 64 bytes. */
#ifndef CACHE_ORDER_LANES_H
#define CACHE_ORDER_LANES_H

enum lanes_width { LANES_16, LANES_32, LANES_64 };

/* The widest that the processor has, of at most `most` bytes. */
static inline enum lanes_width lanes_width(unsigned most)
{
#ifdef __x86_64__
	if (most >= 64 && __builtin_cpu_supports("avx512f"))
		return LANES_64;
	if (most >= 32 && __builtin_cpu_supports("avx2"))
		return LANES_32;
#endif
	(void)most;
	return LANES_16;
}

#endif
