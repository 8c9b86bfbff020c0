#include "cache/order/std_shuffle.h"
#include "cache/order/swap.h"

/* Lemire, Fast Random Integer Generation in an Interval, 2019. */
static uint32_t multiply(struct mt19937 *mt, uint32_t range)
{
	uint64_t product = (uint64_t)mt19937_next(mt) * range;

	if ((uint32_t)product < range) {
		uint32_t unfair = -range % range;

		while ((uint32_t)product < unfair)
			product = (uint64_t)mt19937_next(mt) * range;
	}
	return (uint32_t)(product >> 32);
}

static uint32_t divide(struct mt19937 *mt, uint32_t range)
{
	uint32_t scale = UINT32_MAX / range, y;

	do
		y = mt19937_next(mt);
	while (y >= range * scale);
	return y / scale;
}

/* One of 0..range - 1. */
static uint32_t draw(struct mt19937 *mt, enum std_uniform uniform, uint32_t range)
{
	return uniform == STD_MULTIPLY ? multiply(mt, range) : divide(mt, range);
}

static void shuffle_pairs(struct mt19937 *mt, enum std_uniform uniform, uint32_t *order, uint32_t n)
{
	uint32_t i = 1;

	if (n % 2 == 0) {
		swap_places(&order[i], &order[draw(mt, uniform, 2)]);
		i++;
	}
	for (; i < n; i += 2) {
		uint32_t range = i + 1;
		uint32_t both = draw(mt, uniform, range * (range + 1));

		swap_places(&order[i], &order[both / (range + 1)]);
		swap_places(&order[i + 1], &order[both % (range + 1)]);
	}
}

void std_shuffle(struct mt19937 *mt, enum std_uniform uniform, uint32_t *order, size_t n)
{
	if (n == 0)
		return;
	if (UINT32_MAX / n >= n) {
		shuffle_pairs(mt, uniform, order, (uint32_t)n);
		return;
	}
	for (uint32_t i = 1; i < n; i++)
		swap_places(&order[i], &order[draw(mt, uniform, i + 1)]);
}
