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
