/* Decoded images: in memory, made smaller, and as files that need no decoding: BMP and PNM. Pure,
 * thread-safe; trusts no field of a file. */
#pragma once

#include "base/buf.h"
#include <stdbool.h>

/* Rows from the top, without gaps. One byte a pixel is grey, three are red, green and blue, four
 * are CMYK. All zero is empty and owns nothing. */
struct pixels {
	uint32_t width, height;
	uint32_t channels; /* bytes of a pixel */
	uint8_t *data;
};

/* Makes room for an image of this size, with undefined content. No side is 0. 0 or -ENOMEM. */
int pixels_init(struct pixels *pixels, uint32_t width, uint32_t height, uint32_t channels);
void pixels_release(struct pixels *pixels);

static inline size_t pixels_stride(const struct pixels *pixels)
{
	return (size_t)pixels->width * pixels->channels;
}

static inline uint8_t *pixels_row(const struct pixels *pixels, uint32_t y)
{
	return pixels->data + y * pixels_stride(pixels);
}

/* --- made smaller --------------------------------------------------------------------------- */

/* A triangle filter over all pixels that a new pixel covers: what Resize of torchvision and
 * BILINEAR of PIL do, bit for bit. */
struct resize {
	/* `from` shows an image of this size, at 1/`shrink` of it. If that does not divide a side,
	 * only part of the last row or column of `from` counts. 1: as it is. */
	uint32_t from_width, from_height, shrink;
	/* The size of the result. No side is 0, or longer than that of `from`. */
	uint32_t width, height;
};

/* For 1, 3 or 4 channels, each by itself. 0 or -ENOMEM. *ret is for pixels_release(). */
int resize(const struct resize *how, const struct pixels *from, struct pixels *ret);

/* --- files --------------------------------------------------------------------------------- */

/* Appends a BMP: 24 bits a pixel, from the bottom up. A grey image gets 8 bits with a grey palette:
 * PIL reads it as mode L, OpenCV as it reads a grey JPEG. 0 or -ENOMEM. */
int bitmap_bmp(const struct pixels *pixels, struct buf *out);

/* Appends a PPM (P6), or a PGM (P5) for a grey image. 0 or -ENOMEM. */
int bitmap_ppm(const struct pixels *pixels, struct buf *out);

/* The header of a BMP. Nothing in it has been checked. */
struct bmp {
	uint32_t header;	/* bytes of it after the first 14 */
	uint32_t width, height; /* pixels */
	uint32_t bits;		/* of a pixel */
	uint32_t packing;	/* how pixels are packed; 0: not */
	uint32_t packed;	/* bytes that they take then; 0: not known */
	uint32_t pixels;	/* where they begin */
};

/* Returns 0, -EINVAL (the header has no known length), or -ENODATA (fewer than 30 bytes). */
int bmp_header(const uint8_t *data, size_t len, struct bmp *ret);

/* The header of a PBM, PGM or PPM file. */
struct pnm {
	uint32_t width, height; /* pixels, not 0 */
	uint32_t most;		/* the largest sample, 1 to 65535 */
	unsigned channels;	/* 1 or 3 */
	bool plain;		/* samples are written as text */
	bool bits;		/* PBM: a sample is a bit */
	size_t samples;		/* where they begin, at most len */
};

/* Returns 0, -ENODATA (the bytes end within what may be a header), or -EINVAL (not a header). Pure,
 * thread-safe. */
int pnm_header(const uint8_t *data, size_t len, struct pnm *ret);
