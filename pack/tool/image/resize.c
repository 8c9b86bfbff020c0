/* A new pixel x of a row of `to` lies at (x + 1/2) * from / to in the old row, in units of old
 * pixels; old pixel i lies at i + 1/2. The filter is a triangle around the former, from / to wide
 * to each side, so that each old pixel counts as much as any other. The weight of i is
 *
 *	1 - |(i + 1/2) - (x + 1/2) * from / to| / (from / to)
 *
 * and times 2 * from that is a whole number:
 *
 *	2 * from - |(2 * i + 1) * to - (2 * x + 1) * from|
 *
 * No rounding anywhere but in the sum to 1: each machine makes the same image. Where the pixels
 * are those of an image shrunk by s, old pixel i lies at (i + 1/2) * s, which puts to * s in the
 * place of `to`. (PIL computes the same in floating point and rounds the same way: weights to
 * 22 bits, and pixels to 8 after each of the two passes.)
 *
 * Written here, not taken from a library: stb_image_resize 0.97, which is Debian 12's, aborts
 * by an assertion on 500x375 to 341x256 under this filter, takes 3.5 times as long without it,
 * differs from PIL, and has another interface in its next release. */
#include "pack/tool/image/bitmap.h"

#include "base/scope.h"

#define WEIGHT_BITS 22
#define HALF	    (1 << (WEIGHT_BITS - 1))

/* Which old pixels make a new one. */
struct window {
	uint32_t from, count;
	const int32_t *weights; /* count of them, 1 << WEIGHT_BITS together */
};

/* One of the two directions. */
struct axis {
	uint32_t from; /* pixels of the image that is shown */
	uint32_t have; /* pixels that are there: from / shrink, and the rest as one more */
	uint32_t to;
	uint64_t step; /* to * shrink */
	struct window *windows;
	int32_t *weights;
};

static void axis_release(struct axis *axis)
{
	free(axis->windows);
	free(axis->weights);
}

static int64_t weight(const struct axis *axis, uint32_t x, uint64_t i)
{
	int64_t distance =
		(int64_t)((2 * i + 1) * axis->step) - (int64_t)((2 * (uint64_t)x + 1) * axis->from);
	int64_t rest = 2 * (int64_t)axis->from - (distance < 0 ? -distance : distance);

	return rest > 0 ? rest : 0;
}

/* The old pixels with a weight, and at most one more at each end: the triangle reaches from
 * 2 * x - 1 to 2 * x + 3 halves of from / step. */
static struct window weights_of(const struct axis *axis, uint32_t x)
{
	uint64_t begin = 0, end;

	if (x > 0)
		begin = (2 * (uint64_t)x - 1) * axis->from / axis->step / 2;
	end = ((2 * (uint64_t)x + 3) * axis->from / axis->step + 2) / 2;
	if (end > axis->have)
		end = axis->have;
	return (struct window){.from = (uint32_t)begin, .count = (uint32_t)(end - begin)};
}

static void weigh(const struct axis *axis, uint32_t x, const struct window *window,
		  int32_t *weights)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < window->count; i++)
		sum += weight(axis, x, window->from + i);
	for (uint32_t i = 0; i < window->count; i++) {
		int64_t one = weight(axis, x, window->from + i) << WEIGHT_BITS;

		weights[i] = (int32_t)((one + sum / 2) / sum); /* NOLINT: some weigh more than 0 */
	}
}

static int axis_init(struct axis *axis, uint32_t from, uint32_t have, uint32_t to, uint32_t shrink)
{
	size_t most = 0;
	int32_t *weights;

	*axis = (struct axis){.from = from, .have = have, .to = to, .step = (uint64_t)to * shrink};
	axis->windows = calloc(to, sizeof(*axis->windows));
	if (!axis->windows)
		return -ENOMEM;
	for (uint32_t x = 0; x < to; x++) {
		axis->windows[x] = weights_of(axis, x);
		most += axis->windows[x].count;
	}
	weights = axis->weights = calloc(most, sizeof(*weights));
	if (!weights)
		return -ENOMEM;
	for (uint32_t x = 0; x < to; x++) {
		weigh(axis, x, &axis->windows[x], weights);
		axis->windows[x].weights = weights;
		weights += axis->windows[x].count;
	}
	return 0;
}

/* Weights are rounded: those of very many pixels may come to a little more than 1. */
static uint8_t rounded(int32_t sum)
{
	int32_t value = sum >> WEIGHT_BITS;

	return (uint8_t)(value < UINT8_MAX ? value : UINT8_MAX);
}

/* Inlined with a constant for `channels`. */
static inline void row_across(const struct axis *axis, const uint8_t *from, uint8_t *to,
			      uint32_t channels)
{
	for (uint32_t x = 0; x < axis->to; x++) {
		const struct window *window = &axis->windows[x];
		const uint8_t *pixel = from + (size_t)window->from * channels;
		int32_t sum[4] = {HALF, HALF, HALF, HALF};

		for (uint32_t i = 0; i < window->count; i++, pixel += channels)
			for (uint32_t c = 0; c < channels; c++)
				sum[c] += window->weights[i] * pixel[c];
		for (uint32_t c = 0; c < channels; c++)
			*to++ = rounded(sum[c]);
	}
}

static void across(const struct axis *axis, const struct pixels *from, struct pixels *to)
{
	for (uint32_t y = 0; y < to->height; y++) {
		const uint8_t *row = pixels_row(from, y);

		switch (to->channels) {
		case 1:
			row_across(axis, row, pixels_row(to, y), 1);
			break;
		case 3:
			row_across(axis, row, pixels_row(to, y), 3);
			break;
		default:
			row_across(axis, row, pixels_row(to, y), 4);
		}
	}
}

/* A row after the other, so that the inner loop runs along memory. */
static void row_down(const struct window *window, const struct pixels *from, int32_t *sum,
		     uint8_t *to)
{
	size_t stride = pixels_stride(from);

	for (size_t i = 0; i < stride; i++)
		sum[i] = HALF;
	for (uint32_t k = 0; k < window->count; k++) {
		const uint8_t *row = pixels_row(from, window->from + k);
		int32_t by = window->weights[k];

		for (size_t i = 0; i < stride; i++)
			sum[i] += by * row[i];
	}
	for (size_t i = 0; i < stride; i++)
		to[i] = rounded(sum[i]);
}

int resize(const struct resize *how, const struct pixels *from, struct pixels *ret)
{
	SCOPE(axis_release) struct axis x = {0};
	SCOPE(axis_release) struct axis y = {0};
	SCOPE(pixels_release) struct pixels narrow = {0};
	SCOPE(pixels_release) struct pixels done = {0};
	SCOPE_FREE int32_t *sum = NULL;
	int r = axis_init(&x, how->from_width, from->width, how->width, how->shrink);

	if (r == 0)
		r = axis_init(&y, how->from_height, from->height, how->height, how->shrink);
	if (r == 0)
		r = pixels_init(&narrow, how->width, from->height, from->channels);
	if (r == 0)
		r = pixels_init(&done, how->width, how->height, from->channels);
	if (r < 0)
		return r;
	sum = calloc(pixels_stride(&narrow), sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	across(&x, from, &narrow);
	for (uint32_t row = 0; row < done.height; row++)
		row_down(&y.windows[row], &narrow, sum, pixels_row(&done, row));
	*ret = done;
	done = (struct pixels){0};
	return 0;
}
