/* Fisher and Yates' shuffle, forward:
 *
 *	for i in 0 .. n - 2: swap order[i] with order[i + output % (n - i)]
 *
 * Place i never changes after step i, so that the first elements can be dealt without an array of
 * n: an element that no swap has moved is its own place, and only the moved ones are kept. */
#include "cache/order/permutation.h"

void permutation_next(struct mt19937 *mt, uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = 0; i + 1 < n; i++) {
		size_t other = i + mt19937_next(mt) % (uint32_t)(n - i);
		uint32_t was = order[i];

		order[i] = order[other];
		order[other] = was;
	}
}

void permutation_of(uint32_t seed, uint32_t *order, size_t n)
{
	struct mt19937 mt;

	mt19937_init(&mt, seed);
	permutation_next(&mt, order, n);
}

/* A bit of 64: the golden ratio spreads neighbouring places. */
static uint64_t mark_of(uint32_t place)
{
	return (uint64_t)1 << (place * 2654435769u >> 26);
}

static uint64_t *marks_of(struct permutation_deal *deal, uint32_t place)
{
	return &deal->marks[place % PERMUTATION_MARKS];
}

/* The filter answers for nearly all of the first hundred elements. The latest swap counts. */
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
	uint32_t there = here + output % (deal->n - here); /* NOLINT: here < n */
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
