#include "cache/order/mt19937.h"

void mt19937_init(struct mt19937 *mt, uint32_t seed)
{
	mt->state[0] = seed;
	for (unsigned i = 1; i < MT19937_WORDS; i++)
		mt->state[i] = mt19937_grow(mt->state[i - 1], i);
	mt->next = MT19937_WORDS;
}

static void twist_all(struct mt19937 *mt)
{
	const unsigned far = MT19937_WORDS - MT19937_NEAR;
	uint32_t *s = mt->state;

	for (unsigned i = 0; i < far; i++)
		s[i] = mt19937_twist(s[i], s[i + 1], s[i + MT19937_NEAR]);
	for (unsigned i = far; i < MT19937_WORDS - 1; i++)
		s[i] = mt19937_twist(s[i], s[i + 1], s[i - far]);
	s[MT19937_WORDS - 1] = mt19937_twist(s[MT19937_WORDS - 1], s[0], s[MT19937_NEAR - 1]);
	mt->next = 0;
}

uint32_t mt19937_next(struct mt19937 *mt)
{
	if (mt->next == MT19937_WORDS)
		twist_all(mt);
	return mt19937_temper(mt->state[mt->next++]);
}

uint64_t mt19937_next64(struct mt19937 *mt)
{
	uint64_t high = mt19937_next(mt);

	return high << 32 | mt19937_next(mt);
}

void mt19937_skip(struct mt19937 *mt, uint64_t outputs)
{
	while (outputs) {
		uint64_t left;

		if (mt->next == MT19937_WORDS)
			twist_all(mt);
		left = MT19937_WORDS - mt->next;
		if (left > outputs)
			left = outputs;
		mt->next += (unsigned)left;
		outputs -= left;
	}
}
