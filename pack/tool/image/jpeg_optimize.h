/* Another JPEG with the same pixels, by libjpeg-turbo. Silent, thread-safe. */
#ifndef PACK_TOOL_IMAGE_JPEG_OPTIMIZE_H
#define PACK_TOOL_IMAGE_JPEG_OPTIMIZE_H

#include "base/buf.h"
#include "base/err.h"
#include <stdint.h>

/* Appends a baseline JPEG with the same coefficients and Huffman codes made for them to an empty
 * buffer. All segments and comments are kept, but for an index of further pictures (MPF): those
 * come after the end of the image, and what is there is left out.
 *
 * 0; 1: decoders would not show the same pixels, since a progressive image that lacks its last
 * scans is smoothed (err says so); -EBADMSG (damaged), -EFBIG (takes over 1 GiB), -ENOTSUP (a kind
 * of JPEG that libjpeg-turbo does not decode) or -ENOMEM. */
int jpeg_optimize(const uint8_t *data, size_t len, struct buf *out, struct err *err);

#endif
