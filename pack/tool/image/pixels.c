#include "pack/tool/image/pixels.h"

#include <errno.h>
#include <stdlib.h>

int pixels_init(struct pixels *pixels, uint32_t width, uint32_t height, uint32_t channels)
{
	uint8_t *data = calloc(height, (size_t)width * channels);

	if (!data)
		return -ENOMEM;
	*pixels = (struct pixels){
		.width = width, .height = height, .channels = channels, .data = data};
	return 0;
}

void pixels_release(struct pixels *pixels)
{
	free(pixels->data);
	*pixels = (struct pixels){0};
}
