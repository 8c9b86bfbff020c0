/* What the segments of a JPEG beside the pixels say about how to show them.
 *
 * Pure; believes no field: any bytes give an answer. */
#ifndef PACK_TOOL_IMAGE_METADATA_H
#define PACK_TOOL_IMAGE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The orientation that the payload of an APP1 segment asks for, in EXIF or as text in XMP: 2 to 8
 * where the picture is to be turned or mirrored, 1 where not or where it says nothing. */
unsigned metadata_orientation(const uint8_t *payload, size_t len);

/* Whether the payload of a segment is EXIF; or a part of a colour profile. */
bool metadata_is_exif(const uint8_t *payload, size_t len);
bool metadata_is_profile(const uint8_t *payload, size_t len);

/* Whether the payload holds a whole colour profile, which is that of sRGB: for that an image
 * without a profile is taken, too. */
bool metadata_is_srgb(const uint8_t *payload, size_t len);

#endif
