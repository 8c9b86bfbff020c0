/* What the segments of a JPEG besides the pixels say about how to show them.
 *
 * Pure; trusts no field and accepts any bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The orientation that the payload of an APP1 segment asks for, in EXIF or as text in XMP: 2 to 8
 * if the picture is to be turned or mirrored, 1 if not or if it does not say. */
unsigned metadata_orientation(const uint8_t *payload, size_t len);

/* Whether the payload of a segment is EXIF, or a part of a colour profile. */
bool metadata_is_exif(const uint8_t *payload, size_t len);
bool metadata_is_profile(const uint8_t *payload, size_t len);

/* Whether the payload is a complete colour profile, and that of sRGB. Readers take images without a
 * profile for sRGB, too. */
bool metadata_is_srgb(const uint8_t *payload, size_t len);
