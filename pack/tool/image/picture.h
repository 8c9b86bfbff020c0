/* PNGs and WebPs on their way to another size: decoded, resized, and encoded as they were.
 *
 * Pictures are resized as photographs are, by a filter that makes new colours between those that
 * were there. Colours of a mask are labels: there the nearest pixel is taken, and the values stay
 * what they were. A mask is what has few colours (a palette, samples of other than 8 bits, or at
 * most PICTURE_FEW) or flat areas: at least half of the runs of equal pixels, in rows and columns,
 * are longer than one pixel. Thread-safe, silent; trusts no field. */
#pragma once

#include "pack/format.h"
#include "pack/tool/image/png.h"
#include "pack/tool/image/webp.h"

#define PICTURE_FEW 64

struct picture {
	enum format_image kind; /* IMAGE_PNG or IMAGE_WEBP */
	uint32_t width, height;
	unsigned orientation; /* how EXIF or XMP asks to turn it; 1: not at all */
	bool turned_by_text;  /* it is XMP, or a text of ImageMagick, that asks */
	bool moving;
	struct png_head png_head;
	struct webp_head webp;
	/* From picture_decode() on: */
	struct png_image png;
	struct pixels pixels;
	bool alpha; /* the last byte of a pixel */
	bool mask;
};

/* Reads what is in front of the pixels. 0, -EBADMSG or -ENOMEM. The bytes must stay, and *ret is
 * for picture_release(). */
int picture_read(enum format_image kind, const uint8_t *data, size_t len, struct picture *ret,
		 struct err *err);
void picture_release(struct picture *picture);

/* The most bytes that a pixel takes. */
unsigned picture_pixel_bytes(const struct picture *picture);

/* 0, -EBADMSG (damaged) or -ENOMEM. The caller has bounded the size. */
int picture_decode(struct picture *picture, const uint8_t *data, size_t len, struct err *err);

/* No side is 0 or longer than it was. 0 or -ENOMEM. */
int picture_resize(struct picture *picture, uint32_t width, uint32_t height);

/* Whether formats that have no transparency and mix colours can hold it. */
bool picture_is_plain(const struct picture *picture);

/* The grey or colours of a plain one; also the segments of a JPEG with EXIF and profile. They are
 * for pixels_release() and buf_release(). 0 or -ENOMEM. */
int picture_plain(const struct picture *picture, struct pixels *ret, struct buf *segments);

/* Appends it, in the format that it had, to an empty buffer. `quality` is for a lossy WebP. 0,
 * -EINVAL or -ENOMEM. */
int picture_encode(const struct picture *picture, uint32_t quality, struct buf *out,
		   struct err *err);
