#include "pack/tool/image/bitmap.h"

#include "base/le.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pixels_init(struct pixels *pixels, uint32_t width, uint32_t height, uint32_t channels)
{
	uint8_t *data = calloc(height, (size_t)width * channels);

	if (!data)
		return -ENOMEM;
	*pixels = (struct pixels){
		.width = width, .height = height, .channels = channels, .data = data};
	return 0;
}

void pixels_release(struct pixels *pixels)
{
	free(pixels->data);
	*pixels = (struct pixels){0};
}

/* --- writing ---------------------------------------------------------------------------- */

#define FILE_HEADER  14
#define IMAGE_HEADER 40 /* BITMAPINFOHEADER */
#define COLOURS	     256
#define DOTS	     2835 /* a metre: 72 an inch, for lack of a better number */

static size_t bmp_stride(const struct pixels *pixels)
{
	return (pixels_stride(pixels) + 3) & ~(size_t)3;
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
	uint8_t *to, *image;
	int r = buf_reserve(out, len);

	if (r < 0)
		return r;
	to = (uint8_t *)out->data + out->len;
	image = to + FILE_HEADER;
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
	for (uint32_t grey = 0; palette && grey < COLOURS; grey++)
		le_put32(image + IMAGE_HEADER + 4 * grey, grey * 0x010101);
	to += offset;
	for (uint32_t y = pixels->height; y-- > 0; to += bmp_stride(pixels))
		bmp_row(pixels, pixels_row(pixels, y), to);
	out->len += len;
	return 0;
}

int bitmap_ppm(const struct pixels *pixels, struct buf *out)
{
	size_t before = out->len;
	int r = buf_addf(out, "P%c\n%u %u\n255\n", pixels->channels == 1 ? '5' : '6', pixels->width,
			 pixels->height);

	if (r == 0)
		r = buf_add(out, pixels->data, pixels->height * pixels_stride(pixels));
	if (r < 0)
		out->len = before;
	return r;
}

/* --- reading PNM ------------------------------------------------------------------------- */

static bool pnm_is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next number, after white space and comments: not 0, and it ends before `len`. */
static int next_number(const uint8_t *data, size_t len, size_t *at, uint32_t *ret)
{
	size_t first = *at, i;
	uint32_t number = 0;

	while (first < len && (pnm_is_space(data[first]) || data[first] == '#')) {
		if (data[first++] == '#')
			while (first < len && data[first] != '\n')
				first++;
	}
	if (first == *at && first < len)
		return -EINVAL;
	for (i = first; i < len && data[i] >= '0' && data[i] <= '9'; i++) {
		if (number > (UINT32_MAX - 9) / 10)
			return -EINVAL;
		number = number * 10 + data[i] - '0';
	}
	if (i == len)
		return -ENODATA;
	if (number == 0 || !pnm_is_space(data[i]))
		return -EINVAL;
	*at = i;
	*ret = number;
	return 0;
}

int pnm_header(const uint8_t *data, size_t len, struct pnm *ret)
{
	struct pnm pnm = {.most = 1, .channels = 1};
	size_t at = 2;
	int r;

	if (len < 2)
		return -ENODATA;
	if (data[0] != 'P' || data[1] < '1' || data[1] > '6')
		return -EINVAL;
	pnm.plain = data[1] <= '3';
	pnm.bits = data[1] == '1' || data[1] == '4';
	if (data[1] == '3' || data[1] == '6')
		pnm.channels = 3;
	r = next_number(data, len, &at, &pnm.width);
	if (r == 0)
		r = next_number(data, len, &at, &pnm.height);
	if (r == 0 && !pnm.bits)
		r = next_number(data, len, &at, &pnm.most);
	if (r < 0)
		return r;
	if (pnm.most > UINT16_MAX)
		return -EINVAL;
	pnm.samples = at + 1;
	*ret = pnm;
	return 0;
}

/* --- reading BMP ------------------------------------------------------------------------- */

int bmp_header(const uint8_t *data, size_t len, struct bmp *ret)
{
	uint32_t header = len >= 18 ? le_get32(data + 14) : 12, height;

	if (header != 12 && (header < 16 || header > 124))
		return -EINVAL;
	if (len < 30)
		return -ENODATA;
	*ret = (struct bmp){.header = header, .pixels = le_get32(data + 10)};
	if (header == 12) {
		ret->width = le_get16(data + 18);
		ret->height = le_get16(data + 20);
		ret->bits = le_get16(data + 24);
		return 0;
	}
	height = le_get32(data + 22);
	ret->width = le_get32(data + 18);
	ret->height = height <= INT32_MAX ? height : 0 - height; /* rows may come from the top */
	ret->bits = le_get16(data + 28);
	ret->packing = len >= 34 ? le_get32(data + 30) : 0;
	ret->packed = len >= 38 ? le_get32(data + 34) : 0;
	return 0;
}
