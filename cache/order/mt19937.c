#include "cache/order/mt19937.h"
#include "base/math.h"
#include <string.h>

void mt19937_init(struct mt19937 *mt, uint32_t seed)
{
	mt->state[0] = seed;
	for (unsigned i = 1; i < MT19937_WORDS; i++)
		mt->state[i] = mt19937_grow(mt->state[i - 1], i);
	mt->next = MT19937_WORDS;
}

/* SSE2, NEON: every processor has vectors of four words. */
typedef uint32_t four __attribute__((vector_size(16)));

static inline four load(const uint32_t *words)
{
	four ret;

	memcpy(&ret, words, sizeof(ret));
	return ret;
}

/* mt19937_twist() of the words up to `end`. The words at `near` are 227 before or 397 after them,
 * so that four in a row do not depend on each other. */
static void twist(uint32_t *word, const uint32_t *end, const uint32_t *near)
{
	for (; word + 4 <= end; word += 4, near += 4) {
		four next = load(word + 1);
		four mixed = (load(word) & 0x80000000u) | (next & 0x7fffffffu);
		four new = load(near) ^ (mixed >> 1) ^ (-(next & 1u) & MT19937_TWIST);

		memcpy(word, &new, sizeof(new));
	}
	for (; word < end; word++, near++)
		*word = mt19937_twist(word[0], word[1], *near);
}

void mt19937_refill(struct mt19937 *mt)
{
	uint32_t *s = mt->state, *last = s + MT19937_WORDS - 1;
	uint32_t *far = s + MT19937_WORDS - MT19937_NEAR;

	twist(s, far, s + MT19937_NEAR);
	twist(far, last, s);
	*last = mt19937_twist(*last, s[0], s[MT19937_NEAR - 1]);
	mt->next = 0;
}

void mt19937_skip(struct mt19937 *mt, uint64_t outputs)
{
	while (outputs) {
		uint64_t left;

		if (mt->next == MT19937_WORDS)
			mt19937_refill(mt);
		left = min(MT19937_WORDS - mt->next, outputs);
		mt->next += (unsigned)left;
		outputs -= left;
	}
}

/* --- eight ------------------------------------------------------------------------------------ */

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

NEXT_BLOCK(next_block_four, four, )
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
	next_block_four(eight);
}

bool mt19937_eight_hit(const struct mt19937_eight *eight)
{
	uint32_t any = 0;

	for (unsigned lane = 0; lane < MT19937_LANES; lane++)
		any |= eight->hit[lane];
	return any;
}
