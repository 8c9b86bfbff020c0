/* Reads images that are stored decoded: BMP and PNM, as bitmap.h writes them and most programs do.
 * Pure, thread-safe; believes no field of them. */
#ifndef PACK_TOOL_IMAGE_BITMAP_READ_H
#define PACK_TOOL_IMAGE_BITMAP_READ_H

#include "pack/tool/image/pixels.h"

/* BMPs of 24 bits a pixel, or 8 with a palette, that are not compressed; binary PGMs and PPMs with
 * a byte a value. 0; 1: another kind, or cut off; -ENOMEM. *ret is for pixels_release(). */
int bitmap_read(const uint8_t *data, size_t len, struct pixels *ret);

#endif
