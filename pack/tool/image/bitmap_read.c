#include "pack/tool/image/bitmap_read.h"

#include "base/le.h"
#include "pack/tool/image/pnm.h"
#include <stdbool.h>
#include <string.h>

#define FILE_HEADER  14
#define IMAGE_HEADER 40 /* at least, of what is read here */

/* --- BMP -------------------------------------------------------------------------------- */

struct bmp {
	const uint8_t *palette; /* four bytes a colour; NULL: none */
	uint32_t colours;
	const uint8_t *rows; /* of the file, the first one first */
	size_t stride;
	uint32_t width, height;
	bool upward; /* the first row is the lowest one, which is the usual way */
};

/* Whether all of it lies within the file. */
static bool bmp_fits(const struct bmp *bmp, const uint8_t *data, size_t len, size_t palette)
{
	size_t offset = le_get32(data + 10);

	return bmp->width > 0 && bmp->width <= INT32_MAX && bmp->height > 0 &&
	       bmp->height <= INT32_MAX && offset <= len &&
	       bmp->height <= (len - offset) / bmp->stride && palette <= len &&
	       4 * (size_t)bmp->colours <= len - palette;
}

static bool bmp_head(const uint8_t *data, size_t len, struct bmp *ret)
{
	const uint8_t *image = data + FILE_HEADER;
	uint32_t header, bits;
	struct bmp bmp;

	if (len < FILE_HEADER + IMAGE_HEADER)
		return false;
	header = le_get32(image);
	bits = le_get16(image + 14);
	if (header < IMAGE_HEADER || le_get32(image + 16) != 0 || (bits != 8 && bits != 24))
		return false;
	bmp = (struct bmp){.width = le_get32(image + 4), .height = le_get32(image + 8)};
	bmp.upward = bmp.height <= INT32_MAX;
	if (!bmp.upward)
		bmp.height = 0 - bmp.height;
	if (bits == 8)
		bmp.colours = le_get32(image + 32) ? le_get32(image + 32) : 256;
	bmp.stride = ((size_t)bmp.width * bits / 8 + 3) & ~(size_t)3;
	if (bmp.colours > 256 || !bmp_fits(&bmp, data, len, FILE_HEADER + (size_t)header))
		return false;
	bmp.palette = bits == 8 ? image + header : NULL;
	bmp.rows = data + le_get32(data + 10);
	*ret = bmp;
	return true;
}

/* Blue comes first. An index that has no colour is black. */
static void bmp_row(const struct bmp *bmp, const uint8_t *from, uint8_t *to)
{
	static const uint8_t black[3];

	for (uint32_t x = 0; x < bmp->width; x++, to += 3) {
		const uint8_t *pixel = from + 3 * (size_t)x;

		if (bmp->palette)
			pixel = from[x] < bmp->colours ? bmp->palette + 4 * from[x] : black;
		to[0] = pixel[2];
		to[1] = pixel[1];
		to[2] = pixel[0];
	}
}

static int read_bmp(const uint8_t *data, size_t len, struct pixels *ret)
{
	struct bmp bmp;
	int r;

	if (!bmp_head(data, len, &bmp))
		return 1;
	r = pixels_init(ret, bmp.width, bmp.height, 3);
	for (uint32_t y = 0; r == 0 && y < bmp.height; y++) {
		uint32_t row = bmp.upward ? bmp.height - 1 - y : y;

		bmp_row(&bmp, bmp.rows + y * bmp.stride, pixels_row(ret, row));
	}
	return r;
}

/* --- PNM -------------------------------------------------------------------------------- */

static int read_pnm(const uint8_t *data, size_t len, struct pixels *ret)
{
	struct pnm head;
	size_t stride;
	int r;

	if (pnm_header(data, len, &head) < 0 || head.plain || head.bits || head.most != 255)
		return 1;
	stride = (size_t)head.width * head.channels;
	if (head.height > (len - head.samples) / stride)
		return 1;
	r = pixels_init(ret, head.width, head.height, head.channels);
	if (r == 0)
		memcpy(ret->data, data + head.samples, stride * head.height);
	return r;
}

int bitmap_read(const uint8_t *data, size_t len, struct pixels *ret)
{
	if (len >= 2 && memcmp(data, "BM", 2) == 0)
		return read_bmp(data, len, ret);
	return read_pnm(data, len, ret);
}
