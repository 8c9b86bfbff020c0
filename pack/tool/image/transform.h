/* Images made smaller, or quicker to read, on their way into a pack.
 *
 * Only grey and colour JPEGs are changed. Everything else (PNG masks, CMYK, YCCK) stays as it is,
 * byte for byte, and so do images that are small enough already, unless `store` says otherwise.
 * Nothing is ever enlarged.
 *
 * Smaller is what torchvision's Resize does: the shorter side becomes `resize`, then the longer one
 * `max_side` where it is still longer. The filter is a triangle over all pixels that a new one
 * covers, and pixels are bit for bit those of PIL's resize(BILINEAR), of draft() and resize() where
 * a JPEG is at least four times too large: that is decoded at 1/2, 1/4 or 1/8 first.
 *
 * JPEGs that are made are baseline, 4:2:0, with Huffman codes of their own. EXIF is kept and pixels
 * are not turned, so that all readers see what they saw. The colour profile is kept, unless it is
 * that of sRGB; other segments are not. BMP and PPM have the pixels that PIL decodes, and no place
 * for EXIF: images that EXIF or XMP asks to turn stay JPEGs.
 *
 * Optimized are the same coefficients and segments in a single scan, with Huffman codes of their
 * own, where that is smaller, or where the original is progressive.
 *
 * A transform decodes all of what it replaces: damage never comes out as an intact file.
 * Thread-safe, silent; results do not depend on the machine. */
#ifndef PACK_TOOL_IMAGE_TRANSFORM_H
#define PACK_TOOL_IMAGE_TRANSFORM_H

#include "pack/dataset.h"

#define TRANSFORM_QUALITY 90

enum transform_store {
	STORE_KEEP, /* JPEG, and only what is resized */
	STORE_JPEG, /* all as JPEGs of `quality`, but those that this would make larger */
	STORE_BMP,  /* all decoded */
	STORE_PPM,
};

struct transform {
	uint32_t resize;   /* pixels of the shorter side; 0: as it is */
	uint32_t max_side; /* pixels of the longer side; 0: as it is */
	uint32_t quality;  /* 1 to 100; 0: TRANSFORM_QUALITY */
	enum transform_store store;
	bool optimize; /* what stays a JPEG of its size */
};

/* Whether the fields make sense together: 0, or -EINVAL with a sentence. */
int transform_check(const struct transform *how, struct err *err);

/* 0: *out, an empty buffer, holds the new file.
 * 1: the original stays; where that may surprise (CMYK, say), err tells why, else it is empty.
 * -EBADMSG: damaged; -EFBIG: takes too much memory to decode; err tells. -ENOMEM.
 * Unless it is 0, what *out holds means nothing. */
int transform_image(const struct transform *how, const uint8_t *data, size_t len, struct buf *out,
		    struct err *err);

/* Whether images are stored decoded. */
bool transform_decodes(const struct transform *how);

/* The width and height that a grey or colour JPEG of this size gets. */
void transform_size(const struct transform *how, uint32_t *width, uint32_t *height);

/* A thumbnail for reports: appends to *out, an empty buffer, a JPEG whose longer side is `side` at
 * most, not turned. Results as above; 1: not a grey or colour JPEG. */
int transform_thumbnail(const uint8_t *data, size_t len, uint32_t side, struct buf *out,
			struct err *err);

#define THUMBNAIL_SIDE 160 /* pixels, of the longer side */

/* A small picture of an image, for a page to embed. One that cannot be decoded here, but is small
 * and of a kind that browsers show, is embedded unchanged. */
struct thumbnail {
	const char *type; /* "image/jpeg" */
	uint32_t width, height;
	const void *data; /* in `made`, or in the bytes of the image */
	size_t len;
	struct buf made;
};

/* 0; 1: there is none, and err has the reason in few words; -EBADMSG: the image is broken, and err
 * says how; -ENOMEM. */
int thumbnail_make(const uint8_t *data, size_t len, struct thumbnail *ret, struct err *err);
void thumbnail_release(struct thumbnail *thumbnail);

#endif
