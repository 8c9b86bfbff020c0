#include "pack/tool/report/bins.h"

#include <math.h>

#define BINS_LEAST 8

static unsigned bin_of(const struct axis *axis, unsigned count, double value)
{
	double at = axis_place(axis, value) * count;

	if (at < 0)
		return 0;
	return at < count ? (unsigned)at : count - 1;
}

/* Twice the root of the number of values: enough to show a shape, few enough to fill them. */
void bins_begin(struct bins *bins, const struct axis *axis, uint64_t values)
{
	double count = 2 * sqrt((double)values);

	*bins = (struct bins){.axis = *axis};
	bins->count = count < BINS_LEAST  ? BINS_LEAST
		      : count > BINS_MOST ? BINS_MOST
					  : (unsigned)count;
}

void bins_add(struct bins *bins, double value)
{
	uint64_t *bar = &bins->bars[bin_of(&bins->axis, bins->count, value)];

	if (++*bar > bins->most)
		bins->most = *bar;
}

void bin_plane_begin(struct bin_plane *plane, const struct axis *x, const struct axis *y)
{
	*plane = (struct bin_plane){.x = *x, .y = *y};
}

void bin_plane_add(struct bin_plane *plane, double x, double y)
{
	uint64_t *cell = &plane->cells[bin_of(&plane->y, BINS_Y, y)][bin_of(&plane->x, BINS_X, x)];

	if (++*cell > plane->most)
		plane->most = *cell;
}

bool bins_range(const struct axis *axis, unsigned count, unsigned number, uint64_t *ret_least,
		uint64_t *ret_most)
{
	double low = ceil(axis_value(axis, (double)number / count));
	double high = ceil(axis_value(axis, (number + 1.0) / count));

	if (low >= high)
		return false;
	*ret_least = (uint64_t)low;
	*ret_most = (uint64_t)high - 1;
	return true;
}
