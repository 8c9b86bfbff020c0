/* The part of check_image() that libjpeg-turbo does. */
#ifndef PACK_TOOL_IMAGE_JPEG_CHECK_H
#define PACK_TOOL_IMAGE_JPEG_CHECK_H

#include "pack/tool/image/check.h"

/* The most that decoding takes, in bytes. A JPEG in one scan needs some rows only, one in several
 * scans all its coefficients: 256 MiB are 89 million pixels with halved colours. */
#define JPEG_CHECK_MEMORY ((uint64_t)256 << 20)

/* As check_image(), for bytes that begin as a JPEG does. */
int jpeg_check(enum check_level level, const uint8_t *data, size_t len, struct check_finding *ret);

#endif
