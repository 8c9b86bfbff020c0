/* The blocks of a GIF. Pure; trusts no field. */
#pragma once

#include "pack/tool/image/bytes.h"

#define GIF_HEADER 13
#define GIF_IMAGE  0x2c /* the kind of block that has a picture */

/* The bytes of a colour table, by the flags that announce it. */
static inline uint64_t gif_colours(uint8_t flags)
{
	return flags & 0x80 ? (uint64_t)3 << ((flags & 7) + 1) : 0;
}

/* Where the sub-blocks at `at` end. Each begins with its length; length 0 is the last. Beyond the
 * end of the file if that comes first. */
static inline uint64_t gif_skip_blocks(const struct bytes *file, uint64_t at)
{
	while (bytes_have(file, at, 1) && file->data[at] != 0)
		at += 1 + (uint64_t)file->data[at];
	return at + 1;
}

/* Where the block at `at` ends; its first byte is its kind. 0: no known kind. Zeros between blocks
 * are common, and skipped. */
static inline uint64_t gif_next(const struct bytes *file, uint64_t at)
{
	switch (file->data[at]) {
	case 0:
		return at + 1;
	case 0x21: /* extension, with a label */
		return gif_skip_blocks(file, at + 2);
	case GIF_IMAGE: /* image: place and size, flags, colours, width of codes */
		if (!bytes_have(file, at, 10))
			return file->len + 1;
		return gif_skip_blocks(file, at + 11 + gif_colours(file->data[at + 9]));
	default:
		return 0;
	}
}

/* Where the first block is. The header has come. */
static inline uint64_t gif_first(const struct bytes *file)
{
	return GIF_HEADER + gif_colours(file->data[10]);
}
