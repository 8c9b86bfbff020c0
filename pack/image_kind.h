/* Kinds of images: what they are called, how the names of their files end, and how these begin.
 * What an image is by all of its header says pack/tool/image/image.h. Pure. Internal to pack/. */
#pragma once

#include "pack/format.h"

/* What a kind is called, as "JPEG XL"; "-" for IMAGE_UNKNOWN, and numbers it does not know. */
const char *image_kind_name(unsigned kind);

struct image_beginning {
	enum format_image kind;
	unsigned at, len;
	const char *bytes;  /* NULL: the end of all */
	const char *suffix; /* that a file without a name gets, as ".png"; NULL: none */
};

extern const struct image_beginning image_beginnings[];

/* The suffix for the first bytes of an image; NULL: it is no image. */
const char *image_suffix(const uint8_t *head, size_t len);

/* The kind that the suffix of a name or path stands for: one that ImageFolder takes, or .gif;
 * IMAGE_UNKNOWN for all others. */
enum format_image image_named(const char *name, size_t len);
/* Whether the name of a file, or its suffix, ends as those of any images do: "jpg", "a/b.PNG". */
bool image_is_named(const char *name, size_t len);
