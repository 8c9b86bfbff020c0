/* Everything that libpng does: decodes and encodes PNGs. Silent, thread-safe; trusts no field. */
#pragma once

#include "base/err.h"
#include "pack/tool/image/bitmap.h"

/* What a PNG says besides its pixels, in front of them or behind. Pointers into its bytes. */
struct png_head {
	uint32_t width, height;
	unsigned pixel_bytes; /* at most, once it is decoded */
	bool moving;	      /* APNG */
	const uint8_t *exif;
	size_t exif_len;
	struct buf raw_exif; /* as ImageMagick writes it, in a text */
	struct buf xmp;
	/* What PIL reads besides pixels and transparency: colour, EXIF, resolution, text. Chunks
	 * that make PIL refuse a PNG are not there. */
	struct buf chunks;
};

/* Rows as the file has them: samples of 16 bits have their higher byte first, those of fewer than 8
 * bits take a byte each. */
struct png_image {
	struct pixels pixels;
	int depth, type; /* as in the header */
	bool alpha;	 /* a pixel has a sample for it, the last one */
	bool keyed;	 /* one colour stands for transparency: */
	uint16_t key[3]; /* its samples */
	uint8_t palette[256][3], clear[256];
	int palette_len, clear_len; /* clear: the alpha of the first colours of the palette */
	struct buf profile;	    /* of colours */
};

/* The version of the library in use. */
const char *png_library(void);

/* 0, -EBADMSG (no header, or a chunk that ends beyond the file before the pixels) or -ENOMEM. *ret
 * is for png_head_release(). Damage behind the pixels ends what is read. */
int png_head_read(const uint8_t *data, size_t len, struct png_head *ret, struct err *err);
void png_head_release(struct png_head *head);

/* Decodes all pixels; what follows them is not looked at. The caller has bounded the size. 0,
 * -EBADMSG (damaged), -ENOTSUP or -ENOMEM. *ret is for png_image_release(). */
int png_decode(const uint8_t *data, size_t len, struct png_image *ret, struct err *err);
void png_image_release(struct png_image *image);

/* Of an image with samples of 8 bits: a colour that stands for transparency becomes alpha. 0 or
 * -ENOMEM. */
int png_key_to_alpha(struct png_image *image);

/* Appends a PNG to an empty buffer, with these chunks behind its header. 0, -EINVAL or -ENOMEM. */
int png_encode(const struct png_image *image, const struct buf *chunks, struct buf *out,
	       struct err *err);
