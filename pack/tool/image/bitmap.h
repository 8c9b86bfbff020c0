/* Decoded images as files that are read without decoding: BMP and PPM. Pure, thread-safe. */
#ifndef PACK_TOOL_IMAGE_BITMAP_H
#define PACK_TOOL_IMAGE_BITMAP_H

#include "base/buf.h"
#include "pack/tool/image/pixels.h"

/* Appends a BMP: 24 bits a pixel from the bottom up, grey images 8 bits with a grey palette (PIL
 * gives mode L, OpenCV what it gives for a grey JPEG). 0 or -ENOMEM. */
int bitmap_bmp(const struct pixels *pixels, struct buf *out);

/* Appends a PPM (P6), or for grey images a PGM (P5). 0 or -ENOMEM. */
int bitmap_ppm(const struct pixels *pixels, struct buf *out);

#endif
