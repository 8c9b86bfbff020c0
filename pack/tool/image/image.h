/* What an image is, from its first bytes, and what its name says that it is.
 *
 * Pure, thread-safe, silent; reads nothing beyond `len` and
 * believes no field of it: any bytes give an answer. Says what the header says, not that the
 * image can be decoded. */
#ifndef PACK_TOOL_IMAGE_IMAGE_H
#define PACK_TOOL_IMAGE_IMAGE_H

#include "pack/dataset.h"

/* Enough for the headers of nearly all images; a size that comes later stays unknown. */
#define IMAGE_HEAD ((size_t)64 << 10)

/* The kind, width and height of the image that begins with these bytes: IMAGE_UNKNOWN where it
 * is none known here, sizes 0 where the header is cut off or makes no sense. */
void image_inspect(const uint8_t *data, size_t len, struct dataset_image *ret);

/* The kind that the extension of a name or path stands for: one of those that ImageFolder takes, or
 * .gif. IMAGE_UNKNOWN for all others. */
enum format_image image_named(const char *name, size_t len);

#endif
