/* What an image is by its first bytes.
 *
 * Pure, thread-safe, silent. Reads nothing beyond `len`, trusts no field, and accepts any bytes.
 * Says what the header says, not that the image can be decoded. */
#pragma once

#include "pack/dataset.h"
#include "pack/image_kind.h"

/* The kind, width and height of the image that begins with these bytes, which may be all of the
 * file. IMAGE_UNKNOWN: not a known image. Sizes are 0 if the header is cut off or makes no sense.
 */
void image_inspect(const uint8_t *data, size_t len, struct dataset_image *ret);

/* Where a TIFF that begins with these bytes has its size: in the first directory, which often comes
 * behind the pixels. 0: it is no TIFF. */
uint64_t image_directory(const uint8_t *data, size_t len);

#define IMAGE_START	16		   /* bytes at the begin of a file that say where */
#define IMAGE_DIRECTORY ((size_t)64 << 10) /* bytes: enough for nearly all directories */

/* Sets the size of the TIFF that begins with `start`, from the bytes at image_directory(). */
void image_inspect_directory(const uint8_t start[static IMAGE_START], const uint8_t *directory,
			     size_t len, struct dataset_image *image);
