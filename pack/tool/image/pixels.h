/* A decoded image: rows from the top, without gaps, of one byte (grey) or three (red, green,
 * blue) a pixel.
 *
 * All zero is empty and owns nothing. */
#ifndef PACK_TOOL_IMAGE_PIXELS_H
#define PACK_TOOL_IMAGE_PIXELS_H

#include <stddef.h>
#include <stdint.h>

struct pixels {
	uint32_t width, height;
	uint32_t channels; /* 1 or 3 */
	uint8_t *data;
};

/* Makes room for an image of this size, with any content; no side is 0. 0 or -ENOMEM. */
int pixels_init(struct pixels *pixels, uint32_t width, uint32_t height, uint32_t channels);
void pixels_release(struct pixels *pixels);

static inline size_t pixels_stride(const struct pixels *pixels)
{
	return (size_t)pixels->width * pixels->channels;
}

static inline uint8_t *pixels_row(const struct pixels *pixels, uint32_t y)
{
	return pixels->data + y * pixels_stride(pixels);
}

#endif
