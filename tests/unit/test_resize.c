/* Making images smaller: pack/tool/image/bitmap.h. */
#include "base/scope.h"
#include "pack/tool/image/bitmap.h"
#include "tests/unit/test.h"
#include <string.h>

static struct pixels image(uint32_t width, uint32_t height, uint32_t channels)
{
	struct pixels pixels;

	assert_int_equal(pixels_init(&pixels, width, height, channels), 0);
	return pixels;
}

static struct pixels resized(const struct pixels *from, uint32_t width, uint32_t height)
{
	const struct resize how = {.from_width = from->width,
				   .from_height = from->height,
				   .shrink = 1,
				   .width = width,
				   .height = height};
	struct pixels to;

	assert_int_equal(resize(&how, from, &to), 0);
	assert_int_equal(to.width, width);
	assert_int_equal(to.height, height);
	assert_int_equal(to.channels, from->channels);
	return to;
}

static void fill_random(struct pixels *pixels)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < pixels->height * pixels_stride(pixels); i++) {
		seed = seed * 1664525u + 1013904223u;
		pixels->data[i] = (uint8_t)(seed >> 24);
	}
}

/* What PIL's resize() gives, filter BILINEAR, for the numbers of fill_random(). */
TEST(the_pixels_are_those_of_pil)
{
	static const uint8_t expected[] = {152, 133, 150, 136, 159, 100, 114, 143, 87,
					   136, 116, 107, 92,  139, 152, 124, 147, 135,
					   136, 123, 127, 141, 98,  107, 122, 124, 119,
					   170, 126, 113, 145, 117, 108, 115, 115, 122};
	SCOPE(pixels_release) struct pixels from = image(11, 7, 3);
	SCOPE(pixels_release) struct pixels to = {0};

	fill_random(&from);
	to = resized(&from, 4, 3);
	assert_memory_equal(to.data, expected, sizeof(expected));
}

/* Whatever the sides, weights come to 1: nothing wraps around at white. */
TEST(white_stays_white)
{
	static const uint32_t sides[][2] = {{65500, 1}, {65500, 3},  {65500, 256}, {65500, 65499},
					    {2, 1},	{1000, 999}, {333, 7},	   {1, 1}};

	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		SCOPE(pixels_release) struct pixels from = image(sides[i][0], 1, 1);
		SCOPE(pixels_release) struct pixels to = {0};

		memset(from.data, 255, sides[i][0]);
		to = resized(&from, sides[i][1], 1);
		for (uint32_t x = 0; x < sides[i][1]; x++)
			assert_int_equal(to.data[x], 255);
	}
}

/* 9 pixels decoded at a half are 5, the last of which only half is wanted of: their centres are 1,
 * 3, 5, 7, 9 of 9. Of 2, at 2.25 and 6.75, the triangles reach 4.5. */
TEST(the_border_of_a_shrunk_image_counts_in_part)
{
	const struct resize how = {
		.from_width = 9, .from_height = 1, .shrink = 2, .width = 2, .height = 1};
	SCOPE(pixels_release) struct pixels from = image(5, 1, 1);
	SCOPE(pixels_release) struct pixels to = {0};
	const double weights[] = {4.5 - 5.75, 4.5 - 3.75, 4.5 - 1.75, 4.5 - 0.25, 4.5 - 2.25};
	double sum = weights[1] + weights[2] + weights[3] + weights[4];

	memcpy(from.data, "\0\0\0\0\xff", 5);
	assert_int_equal(resize(&how, &from, &to), 0);
	assert_int_equal(to.data[0], 0);
	assert_int_equal(to.data[1], (int)(255 * weights[4] / sum + 0.5));
}
