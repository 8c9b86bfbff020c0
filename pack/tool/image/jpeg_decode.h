/* From a JPEG to pixels, by libjpeg-turbo. Silent, thread-safe. */
#ifndef PACK_TOOL_IMAGE_JPEG_DECODE_H
#define PACK_TOOL_IMAGE_JPEG_DECODE_H

#include "base/err.h"
#include "pack/tool/image/pixels.h"

/* Decodes a grey or colour JPEG, not turned, as PIL does; at a `shrink`th (1, 2, 4 or 8) of its
 * size, rounded up, where that is not 1: by a smaller inverse DCT, which is quicker than to decode
 * it all. Damage that libjpeg only warns of counts, too.
 *
 * 0, -EBADMSG (damaged), -EFBIG (libjpeg would take over 1 GiB beside the pixels), -ENOTSUP (no
 * grey or colour JPEG that libjpeg-turbo decodes) or -ENOMEM. *ret is for pixels_release(). */
int jpeg_decode(const uint8_t *data, size_t len, uint32_t shrink, struct pixels *ret,
		struct err *err);

#endif
