/* What is stored decoded, read again: pack/tool/image/bitmap.h. */
#include "pack/tool/image/bitmap.h"

#include "base/le.h"
#include "tests/unit/test.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void make(struct pixels *pixels, uint32_t width, uint32_t height, uint32_t channels)
{
	assert_int_equal(pixels_init(pixels, width, height, channels), 0);
	for (size_t i = 0; i < height * pixels_stride(pixels); i++)
		pixels->data[i] = (uint8_t)(i * 37 + 11);
}

static uint8_t value_at(const struct pixels *pixels, uint32_t x, uint32_t y, uint32_t channel)
{
	return pixels_row(pixels, y)[x * pixels->channels + channel % pixels->channels];
}

/* The same picture; grey may come back as colour. */
static void expect_same(const struct pixels *a, const struct pixels *b)
{
	assert_int_equal(a->width, b->width);
	assert_int_equal(a->height, b->height);
	for (uint32_t y = 0; y < a->height; y++)
		for (uint32_t x = 0; x < a->width; x++)
			for (uint32_t channel = 0; channel < 3; channel++)
				assert_int_equal(value_at(a, x, y, channel),
						 value_at(b, x, y, channel));
}

/* Written, read, and read again from each shorter file, in memory of just that length. */
static void round_trip(uint32_t width, uint32_t height, uint32_t channels,
		       int (*write)(const struct pixels *pixels, struct buf *out))
{
	struct pixels pixels = {0}, back = {0};
	struct buf file = BUF_INIT;

	make(&pixels, width, height, channels);
	assert_int_equal(write(&pixels, &file), 0);
	assert_int_equal(bitmap_read((const uint8_t *)file.data, file.len, &back), 0);
	expect_same(&pixels, &back);
	pixels_release(&back);
	for (size_t len = 0; len < file.len; len++) {
		uint8_t *cut = malloc(len + !len);

		assert_non_null(cut);
		memcpy(cut, file.data, len);
		assert_int_equal(bitmap_read(cut, len, &back), 1);
		free(cut);
	}
	pixels_release(&pixels);
	buf_release(&file);
}

TEST(what_was_written_comes_back)
{
	for (uint32_t width = 1; width < 6; width++) {
		round_trip(width, 3, 3, bitmap_bmp);
		round_trip(width, 3, 1, bitmap_bmp);
		round_trip(width, 3, 3, bitmap_ppm);
		round_trip(width, 3, 1, bitmap_ppm);
	}
}

static int read_text(const char *text, size_t len, struct pixels *ret)
{
	return bitmap_read((const uint8_t *)text, len, ret);
}

TEST(a_comment_in_a_header_is_passed_over)
{
	static const char file[] = "P5 # by hand\n2\t1 255\nab";
	struct pixels pixels = {0};

	assert_int_equal(read_text(file, sizeof(file) - 1, &pixels), 0);
	assert_int_equal(pixels.width, 2);
	assert_memory_equal(pixels.data, "ab", 2);
	pixels_release(&pixels);
}

TEST(other_kinds_are_left_alone)
{
	static const char *const files[] = {"",
					    "BM",
					    "P3 1 1 255 1 2 3",
					    "P5 1 1 65535 ab",
					    "P5 0 1 255 a",
					    "P5 1 99999999999 255 a",
					    "P6 4294967297 1 255 a",
					    "\xff\xd8\xff"};
	struct pixels pixels = {0};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_int_equal(read_text(files[i], strlen(files[i]), &pixels), 1);
}

/* Each field of the headers, at what it must not be. */
TEST(a_header_that_promises_too_much_is_not_believed)
{
	static const struct {
		size_t at;
		uint32_t value;
	} lies[] = {{10, 60000}, {10, UINT32_MAX}, {14, 12},	      {14, UINT32_MAX},
		    {18, 0},	 {18, UINT32_MAX}, {18, 40000},	      {22, 0},
		    {22, 40000}, {22, 0x80000000}, {30, 1 /* RLE */}, {46, 257}};
	struct pixels pixels = {0}, back = {0};
	struct buf file = BUF_INIT;

	make(&pixels, 5, 4, 1);
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		file.len = 0;
		assert_int_equal(bitmap_bmp(&pixels, &file), 0);
		le_put32(file.data + lies[i].at, lies[i].value);
		assert_int_equal(bitmap_read((uint8_t *)file.data, file.len, &back), 1);
	}
	pixels_release(&pixels);
	buf_release(&file);
}

TEST(a_negative_height_is_from_top_to_bottom)
{
	struct pixels pixels = {0}, back = {0};
	struct buf file = BUF_INIT;

	make(&pixels, 4, 2, 3);
	assert_int_equal(bitmap_bmp(&pixels, &file), 0);
	le_put32(file.data + 22, (uint32_t)-2);
	assert_int_equal(bitmap_read((uint8_t *)file.data, file.len, &back), 0);
	assert_memory_equal(pixels_row(&back, 0), pixels_row(&pixels, 1), pixels_stride(&back));
	pixels_release(&pixels);
	pixels_release(&back);
	buf_release(&file);
}
