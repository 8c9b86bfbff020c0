/* Makes JPEGs smaller, or quicker to read, on their way into a pack. PNGs and WebPs: pictures.h.
 *
 * All other kinds stay as they are, byte for byte. So do images that are small enough already,
 * unless `store` says otherwise. Nothing is ever enlarged.
 *
 * Sizes are those of torchvision's Resize: the shorter side becomes `resize`; then the longer one
 * becomes `max_side` if it is still longer. The filter is a triangle over all pixels that a new
 * pixel covers. Pixels are bit for bit those of PIL's resize(BILINEAR). A JPEG that is at least
 * four times too large is decoded at 1/2, 1/4 or 1/8 first, and has the pixels of draft() and
 * resize().
 *
 * New JPEGs are baseline, 4:2:0, with Huffman codes of their own. EXIF is kept and pixels are not
 * turned, so all readers see what they saw before. The colour profile is kept unless it is that of
 * sRGB; other segments are not kept. BMP and PPM have the pixels that PIL decodes, and no place for
 * EXIF: images that EXIF or XMP asks to turn stay JPEGs.
 *
 * `optimize` keeps coefficients and segments, in a single scan with Huffman codes of its own, if
 * that is smaller or if the original is progressive.
 *
 * A transform decodes all of what it replaces: damage never comes out as an intact file.
 * Thread-safe, silent; results do not depend on the machine. */
#pragma once

#include "pack/dataset.h"

#define TRANSFORM_QUALITY 90

enum transform_store {
	STORE_KEEP, /* JPEG, and only what is resized */
	STORE_JPEG, /* all as JPEGs of `quality`, unless that makes them larger */
	STORE_BMP,  /* all decoded */
	STORE_PPM,
};

struct transform {
	uint32_t resize;   /* pixels of the shorter side; 0: as it is */
	uint32_t max_side; /* pixels of the longer side; 0: as it is */
	uint32_t quality;  /* 1 to 100; 0: TRANSFORM_QUALITY */
	enum transform_store store;
	bool optimize; /* JPEGs that keep their size */
};

/* Whether the fields make sense together: 0, or -EINVAL with a sentence. */
int transform_check(const struct transform *how, struct err *err);

/* 0: *out, an empty buffer before, holds the new file. 1: the original stays; if that may surprise
 * (CMYK, say), err tells why, else it is empty. -EBADMSG: damaged; -EFBIG: takes too much memory to
 * decode; err tells more. -ENOMEM. Unless it is 0, the content of *out means nothing. */
int transform_image(const struct transform *how, const uint8_t *data, size_t len, struct buf *out,
		    struct err *err);

/* A few kilobytes may claim to be gigapixels: 0, or -EFBIG where so many pixels, decoded at a
 * fraction of their sides, are too much for one image. */
int transform_check_memory(uint32_t width, uint32_t height, uint32_t shrink, unsigned pixel_bytes,
			   struct err *err);

/* Whether anything is asked for. */
bool transform_is_wanted(const struct transform *how);

/* Whether images are stored decoded. */
bool transform_decodes(const struct transform *how);

/* The width and height that an image of this size gets. */
void transform_size(const struct transform *how, uint32_t *width, uint32_t *height);
