/* From pixels to a JPEG, by libjpeg-turbo. Silent, thread-safe. */
#ifndef PACK_TOOL_IMAGE_JPEG_ENCODE_H
#define PACK_TOOL_IMAGE_JPEG_ENCODE_H

#include "base/buf.h"
#include "base/err.h"
#include "pack/tool/image/pixels.h"

/* Appends a baseline JPEG of this quality (1 to 100, libjpeg's scale, which is PIL's) to an empty
 * buffer: colour at half the resolution in both directions (4:2:0, as libjpeg and PIL do unless
 * told otherwise; at quality 90 full resolution takes 22 % more bytes), Huffman codes made for the
 * image. `segments` are whole ones, verbatim, to stand ahead of the pixels.
 *
 * 0, -EINVAL where no JPEG can be of that size, or -ENOMEM. */
int jpeg_encode(const struct pixels *pixels, uint32_t quality, const struct buf *segments,
		struct buf *out, struct err *err);

#endif
