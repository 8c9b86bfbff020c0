/* Everything that libwebp does: decodes and encodes WebP. Silent, thread-safe; trusts no field. */
#pragma once

#include "base/err.h"
#include "pack/tool/image/bitmap.h"

/* What a WebP says besides its pixels. Pointers into its bytes; NULL: it has none. */
struct webp_head {
	uint32_t width, height;
	bool moving, lossless, alpha;
	const uint8_t *profile, *exif, *xmp;
	size_t profile_len, exif_len, xmp_len;
};

/* The version of the library in use. */
const char *webp_library(char text[static 16]);

/* 0, or -EBADMSG (damaged). */
int webp_head_read(const uint8_t *data, size_t len, struct webp_head *ret, struct err *err);

/* Decodes a picture that does not move, to three bytes a pixel, or four if it has alpha. The caller
 * has bounded the size. 0, -EBADMSG (damaged) or -ENOMEM. *ret is for pixels_release(). */
int webp_decode(const uint8_t *data, size_t len, const struct webp_head *head, struct pixels *ret,
		struct err *err);

/* Appends a WebP to an empty buffer, as lossless as `head` says, or with a quality of 1 to 100,
 * with the profile, EXIF and XMP of `head`. 0, -EINVAL (no WebP can hold that) or -ENOMEM. */
int webp_encode(const struct pixels *pixels, const struct webp_head *head, uint32_t quality,
		struct buf *out, struct err *err);
