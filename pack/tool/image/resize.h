/* Makes an image smaller, by the triangle filter over all pixels that a new one covers.
 *
 * That is what torchvision's Resize and PIL's BILINEAR do, and bit for bit what PIL gives. Pure,
 * thread-safe. */
#ifndef PACK_TOOL_IMAGE_RESIZE_H
#define PACK_TOOL_IMAGE_RESIZE_H

#include "pack/tool/image/bitmap.h"

struct resize {
	/* What `from` shows: an image of this size, at a `shrink`th of it. Where that does not
	 * divide a side, the last row or column of `from` is wanted in part only. 1: as it is. */
	uint32_t from_width, from_height, shrink;
	/* What comes out. No side is 0, or longer than the image at a `shrink`th. */
	uint32_t width, height;
};

/* 0 or -ENOMEM. *ret is for pixels_release(). */
int resize(const struct resize *how, const struct pixels *from, struct pixels *ret);

#endif
