#include "pack/tool/image/bitmap.h"

#include "base/le.h"

#define FILE_HEADER  14
#define IMAGE_HEADER 40 /* BITMAPINFOHEADER */
#define COLOURS	     256
#define DOTS	     2835 /* a metre: 72 an inch, for lack of a better number */

static size_t bmp_stride(const struct pixels *pixels)
{
	return (pixels_stride(pixels) + 3) & ~(size_t)3;
}

static void bmp_headers(const struct pixels *pixels, size_t offset, size_t len, uint8_t *to)
{
	uint8_t *image = to + FILE_HEADER;

	memset(to, 0, FILE_HEADER + IMAGE_HEADER);
	memcpy(to, "BM", 2);
	le_put32(to + 2, (uint32_t)len);
	le_put32(to + 10, (uint32_t)offset);
	le_put32(image, IMAGE_HEADER);
	le_put32(image + 4, pixels->width);
	le_put32(image + 8, pixels->height);
	le_put16(image + 12, 1); /* plane */
	le_put16(image + 14, (uint16_t)(8 * pixels->channels));
	le_put32(image + 20, (uint32_t)(len - offset));
	le_put32(image + 24, DOTS);
	le_put32(image + 28, DOTS);
	le_put32(image + 32, pixels->channels == 1 ? COLOURS : 0);
}

static void bmp_palette(uint8_t *to)
{
	for (int grey = 0; grey < COLOURS; grey++, to += 4)
		le_put32(to, (uint32_t)grey * 0x010101);
}

static void bmp_row(const struct pixels *pixels, const uint8_t *from, uint8_t *to)
{
	size_t stride = pixels_stride(pixels);

	memset(to + stride, 0, bmp_stride(pixels) - stride);
	if (pixels->channels == 1) {
		memcpy(to, from, stride);
		return;
	}
	for (size_t i = 0; i < stride; i += 3) {
		to[i] = from[i + 2];
		to[i + 1] = from[i + 1];
		to[i + 2] = from[i];
	}
}

int bitmap_bmp(const struct pixels *pixels, struct buf *out)
{
	size_t palette = pixels->channels == 1 ? 4 * COLOURS : 0;
	size_t offset = FILE_HEADER + IMAGE_HEADER + palette;
	size_t len = offset + pixels->height * bmp_stride(pixels);
	uint8_t *to;
	int r;

	r = buf_reserve(out, len);
	if (r < 0)
		return r;
	to = (uint8_t *)out->data + out->len;
	bmp_headers(pixels, offset, len, to);
	if (palette)
		bmp_palette(to + FILE_HEADER + IMAGE_HEADER);
	to += offset;
	for (uint32_t y = pixels->height; y-- > 0; to += bmp_stride(pixels))
		bmp_row(pixels, pixels_row(pixels, y), to);
	out->len += len;
	return 0;
}

int bitmap_ppm(const struct pixels *pixels, struct buf *out)
{
	size_t before = out->len;
	int r;

	r = buf_addf(out, "P%c\n%u %u\n255\n", pixels->channels == 1 ? '5' : '6', pixels->width,
		     pixels->height);
	if (r == 0)
		r = buf_add(out, pixels->data, pixels->height * pixels_stride(pixels));
	if (r < 0)
		out->len = before;
	return r;
}
