/* The size that a JPEG's header gives, by libjpeg-turbo. */
#ifndef PACK_TOOL_IMAGE_JPEG_INSPECT_H
#define PACK_TOOL_IMAGE_JPEG_INSPECT_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0, or -EINVAL where the bytes hold no frame header that makes sense. Silent,
 * thread-safe. */
int jpeg_inspect(const uint8_t *data, size_t len, uint32_t *ret_width, uint32_t *ret_height);

/* The version of the library it was built with. */
const char *jpeg_version(void);

#endif
