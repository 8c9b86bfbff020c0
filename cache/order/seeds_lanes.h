/* Not an interface but a part of seeds.c: what it does for SEEDS_LANES seeds side by side. Included
 * once for each width of vectors, with
 *
 *	LANES_BYTES	the width
 *	LANES_NAME(f)	what f is called at that width
 *	LANES_TARGET	the attribute of functions for processors that have such vectors
 *
 * Vector types, not loops that a compiler may vectorize: gcc and clang both compile these as they
 * are written, at any level of optimization. */
#ifdef LANES_BYTES

#define LANES_VECTOR LANES_NAME(vector)
typedef uint32_t LANES_VECTOR __attribute__((vector_size(LANES_BYTES), may_alias));

#define LANES_COUNT ((unsigned)(SEEDS_LANES * sizeof(uint32_t) / LANES_BYTES))
_Static_assert(LANES_COUNT % SEEDS_FLIGHT == 0 && SEEDS_FLIGHT % SEEDS_BLOCK == 0, "whole ones");

/* From each word in `from` makes the word numbers_end - numbers steps later. */
LANES_TARGET
static void LANES_NAME(grow)(const uint32_t *from, uint32_t *to, const uint32_t *numbers,
			     const uint32_t *numbers_end)
{
	const LANES_VECTOR *in = (const LANES_VECTOR *)from, zero = {0};
	LANES_VECTOR *out = (LANES_VECTOR *)to, word[SEEDS_FLIGHT];

	for (unsigned first = 0; first < LANES_COUNT; first += SEEDS_FLIGHT) {
#pragma GCC unroll 12
		for (unsigned i = 0; i < SEEDS_FLIGHT; i++)
			word[i] = in[first + i];
		for (const uint32_t *number = numbers; number < numbers_end; number++) {
			LANES_VECTOR add = zero + *number;

#pragma GCC unroll 12
			for (unsigned i = 0; i < SEEDS_FLIGHT; i++)
				word[i] = MT19937_FACTOR * (word[i] ^ (word[i] >> 30)) + add;
		}
#pragma GCC unroll 12
		for (unsigned i = 0; i < SEEDS_FLIGHT; i++)
			out[first + i] = word[i];
	}
}

/* mt19937_twist() and mt19937_temper(). */
LANES_TARGET
static inline LANES_VECTOR LANES_NAME(output)(const LANES_VECTOR *word, const LANES_VECTOR *next,
					      const LANES_VECTOR *near)
{
	LANES_VECTOR mixed = (*word & 0x80000000u) | (*next & 0x7fffffffu);
	LANES_VECTOR y = *near ^ (mixed >> 1) ^ (-(*next & 1u) & MT19937_TWIST);

	y ^= y >> 11;
	y ^= (y << 7) & 0x9d2c5680u;
	y ^= (y << 15) & 0xefc60000u;
	return y ^ (y >> 18);
}

/* For each quotient of a block: may it be that of one of the firsts? */
LANES_TARGET
static inline void LANES_NAME(pass)(const struct sieve *sieve, const LANES_VECTOR *quotients,
				    LANES_VECTOR *passed)
{
	const unsigned shift = sieve->shift;

	for (unsigned k = 0; k < sieve->count; k++)
#pragma GCC unroll 4
		for (unsigned i = 0; i < SEEDS_BLOCK; i++) {
			LANES_VECTOR q = quotients[i] - sieve->firsts[k];

			if (shift)
				q = q >> shift | q << (32 - shift);
			passed[i] |= (LANES_VECTOR)(q <= sieve->limit);
		}
}

/* Sets those of `hits` whose output may give one of the firsts, and returns whether any does. */
LANES_TARGET
static bool LANES_NAME(sieve)(const struct sieve *sieve, const uint32_t *words,
			      const uint32_t *nexts, const uint32_t *nears, uint32_t *hits)
{
	const LANES_VECTOR *word = (const LANES_VECTOR *)words;
	const LANES_VECTOR *next = (const LANES_VECTOR *)nexts;
	const LANES_VECTOR *near = (const LANES_VECTOR *)nears;
	LANES_VECTOR *hit = (LANES_VECTOR *)hits, any = {0};
	uint32_t found = 0;

	for (unsigned first = 0; first < LANES_COUNT; first += SEEDS_BLOCK) {
		LANES_VECTOR q[SEEDS_BLOCK], passed[SEEDS_BLOCK] = {0};

#pragma GCC unroll 4
		for (unsigned i = 0; i < SEEDS_BLOCK; i++)
			q[i] = sieve->inverse * LANES_NAME(output)(word + first + i,
								   next + first + i,
								   near + first + i);
		LANES_NAME(pass)(sieve, q, passed);
#pragma GCC unroll 4
		for (unsigned i = 0; i < SEEDS_BLOCK; i++) {
			hit[first + i] = passed[i];
			any |= passed[i];
		}
	}
	for (unsigned i = 0; i < LANES_BYTES / sizeof(uint32_t); i++)
		found |= any[i];
	return found != 0;
}

#undef LANES_VECTOR
#undef LANES_COUNT
#undef LANES_BYTES
#undef LANES_NAME
#undef LANES_TARGET
#endif
