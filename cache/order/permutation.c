#include "cache/order/permutation.h"

_Static_assert(PERMUTATION_HEAD <= PERMUTATION_DEALT, "a head is dealt");

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t a_was = *a;

	*a = *b;
	*b = a_was;
}

/* Fisher and Yates, forward: what is at a place is final once it was the turn of that place. */
static void shuffle(struct mt19937 *mt, uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = 0; i + 1 < n; i++)
		swap(&order[i], &order[i + mt19937_next(mt) % (uint32_t)(n - i)]);
}

/* The same, inside out. */
static void shuffle_large(struct mt19937 *mt, uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t z = mt19937_next64(mt) % (i + 1);

		order[i] = (uint32_t)i;
		order[i] = order[z];
		order[z] = (uint32_t)i;
	}
}

void permutation_next(struct mt19937 *mt, uint32_t *order, size_t n, size_t large)
{
	if (n < large)
		shuffle(mt, order, n);
	else
		shuffle_large(mt, order, n);
}

void permutation_of(uint32_t seed, uint32_t *order, size_t n)
{
	struct mt19937 mt;

	mt19937_init(&mt, seed);
	permutation_next(&mt, order, n, PERMUTATION_LARGE);
}

static uint64_t mark_of(uint32_t place)
{
	return (uint64_t)1 << (place * 2654435769u >> 26);
}

static uint64_t *marks_of(struct permutation_deal *deal, uint32_t place)
{
	return &deal->marks[place % PERMUTATION_MARKS];
}

/* Places that are not among those swapped away have their own number; of the first hundred hardly
 * any is looked for in vain (Bloom, 1970). The latest swap counts. */
static uint32_t value_at(struct permutation_deal *deal, uint32_t place)
{
	if (!(*marks_of(deal, place) & mark_of(place)))
		return place;
	for (uint32_t i = deal->count; i-- > 0;)
		if (deal->places[i] == place)
			return deal->values[i];
	return place;
}

uint32_t permutation_deal_next(struct permutation_deal *deal, uint32_t output)
{
	uint32_t here = deal->count;
	uint32_t there = here + output % (deal->n - here);
	uint32_t value = value_at(deal, there);

	deal->values[here] = value_at(deal, here);
	deal->places[here] = there;
	*marks_of(deal, there) |= mark_of(there);
	deal->count++;
	return value;
}

void permutation_head(struct mt19937 *mt, uint32_t n, uint32_t *ret, unsigned count)
{
	struct permutation_deal deal;

	permutation_deal_init(&deal, n);
	for (unsigned i = 0; i < count; i++)
		ret[i] = permutation_deal_next(&deal, i + 1 < n ? mt19937_next(mt) : 0);
}
