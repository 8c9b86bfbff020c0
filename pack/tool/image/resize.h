/* Makes an image smaller, with a triangle filter over all pixels that a new pixel covers.
 *
 * This is what Resize of torchvision and BILINEAR of PIL do; the result is that of PIL bit for bit.
 * Pure, thread-safe. */
#pragma once

#include "pack/tool/image/bitmap.h"

struct resize {
	/* `from` shows an image of this size, at 1/`shrink` of it. If that does not divide a side,
	 * only part of the last row or column of `from` counts. 1: as it is. */
	uint32_t from_width, from_height, shrink;
	/* The size of the result. No side is 0, or longer than that of `from`. */
	uint32_t width, height;
};

/* For 1, 3 or 4 channels, each by itself. 0 or -ENOMEM. *ret is for pixels_release(). */
int resize(const struct resize *how, const struct pixels *from, struct pixels *ret);
