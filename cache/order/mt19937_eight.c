#include "cache/order/mt19937_eight.h"

typedef uint32_t small __attribute__((vector_size(4 * sizeof(uint32_t)))); /* SSE2, NEON */

_Static_assert(_Alignof(struct mt19937_eight) >= sizeof(mt19937_lanes), "aligned loads");

void mt19937_eight_init(struct mt19937_eight *eight, const uint32_t seeds[MT19937_LANES])
{
	for (unsigned lane = 0; lane < MT19937_LANES; lane++) {
		struct mt19937 mt;

		mt19937_init(&mt, seeds[lane]);
		for (unsigned i = 0; i < MT19937_WORDS; i++)
			eight->words[i][lane] = mt.state[i];
	}
	eight->wanted = eight->hit = (mt19937_lanes){0};
}

/* A macro, for a function with each width: a vector that the processor does not have GCC takes to
 * pieces, word by word. */
#define STEP(i, next, near)                                                                     \
	do {                                                                                    \
		__typeof__(hit) mixed =                                                         \
			(words[(i)*parts] & 0x80000000u) | (words[(next)*parts] & 0x7fffffffu); \
                                                                                                \
		words[(i)*parts] = words[(near)*parts] ^ (mixed >> 1) ^                         \
				   (-(words[(next)*parts] & 1u) & MT19937_TWIST);               \
		hit |= (__typeof__(hit))(words[(i)*parts] == wanted);                           \
	} while (0)

/* NOLINTBEGIN(bugprone-macro-parentheses): a type, and what stands in front of a function. */
#define NEXT_BLOCK(name, vector, attributes)                                                 \
	attributes static void name(struct mt19937_eight *eight)                             \
	{                                                                                    \
		const unsigned parts = sizeof(mt19937_lanes) / sizeof(vector);               \
		const unsigned last = MT19937_WORDS - 1, far = MT19937_WORDS - MT19937_NEAR; \
                                                                                             \
		for (unsigned part = 0; part < parts; part++) {                              \
			vector *words = (vector *)eight->words + part;                       \
			vector wanted = ((vector *)&eight->wanted)[part], hit = {0};         \
                                                                                             \
			for (unsigned i = 0; i < far; i++)                                   \
				STEP(i, i + 1, i + MT19937_NEAR);                            \
			for (unsigned i = far; i < last; i++)                                \
				STEP(i, i + 1, i - far);                                     \
			STEP(last, 0, MT19937_NEAR - 1);                                     \
			((vector *)&eight->hit)[part] = hit;                                 \
		}                                                                            \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

NEXT_BLOCK(next_block_small, small, )
#ifdef __x86_64__
NEXT_BLOCK(next_block_avx2, mt19937_lanes, __attribute__((target("avx2"))))
#endif

void mt19937_eight_next(struct mt19937_eight *eight)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		next_block_avx2(eight);
		return;
	}
#endif
	next_block_small(eight);
}

bool mt19937_eight_hit(const struct mt19937_eight *eight)
{
	uint32_t any = 0;

	for (unsigned lane = 0; lane < MT19937_LANES; lane++)
		any |= eight->hit[lane];
	return any;
}
