#include "pack/foreign/pixels.h"
#include "base/math.h"
#include "base/scope.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MOST 65535u
#define HEADER	  32 /* bytes, at most */

/* --- one image -------------------------------------------------------------------------------- */

static bool is_gray(const struct foreign_pixels *pixels)
{
	return pixels->layout == FOREIGN_GRAY;
}

static unsigned channels_of(const struct foreign_pixels *pixels)
{
	return is_gray(pixels) ? 1 : 3;
}

static unsigned header_of(const struct foreign_pixels *pixels, char ret[static HEADER])
{
	return (unsigned)snprintf(ret, HEADER, "P%c\n%u %u\n255\n", is_gray(pixels) ? '5' : '6',
				  pixels->width, pixels->height);
}

uint64_t foreign_pixels_bytes(const struct foreign_pixels *pixels)
{
	if (pixels->width == 0 || pixels->height == 0 || pixels->width > SIDE_MOST ||
	    pixels->height > SIDE_MOST || pixels->layout > FOREIGN_PLANAR_BGR)
		return 0;
	return (uint64_t)pixels->width * pixels->height * channels_of(pixels);
}

uint64_t foreign_pixels_size(const struct foreign_pixels *pixels)
{
	char header[HEADER];

	return header_of(pixels, header) + foreign_pixels_bytes(pixels);
}

const char *foreign_pixels_suffix(const struct foreign_pixels *pixels)
{
	return is_gray(pixels) ? ".pgm" : ".ppm";
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Samples of whole pixels [first, first + count), of a plane for each channel. */
static int read_planes(struct reader *source, const struct foreign_pixels *pixels, uint64_t offset,
		       uint64_t first, size_t count, uint8_t *out)
{
	uint64_t plane = foreign_pixels_bytes(pixels) / 3;
	SCOPE_FREE uint8_t *samples = malloc(count);
	int r = samples ? 0 : -ENOMEM;

	for (unsigned c = 0; r == 0 && c < 3; c++) {
		r = reader_get_full(source, samples, count, offset + c * plane + first);
		for (size_t i = 0; r == 0 && i < count; i++)
			out[3 * i + c] = samples[i];
	}
	return r;
}

static void swap_red_and_blue(uint8_t *pixels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t red = pixels[3 * i + 2];

		pixels[3 * i + 2] = pixels[3 * i];
		pixels[3 * i] = red;
	}
}

/* Samples [from, from + len) in the order of a PPM. */
static int read_samples(struct reader *source, const struct foreign_pixels *pixels, uint64_t offset,
			uint64_t from, uint8_t *out, size_t len)
{
	enum foreign_layout layout = pixels->layout;
	uint64_t first = from / 3, end = (from + len + 2) / 3;
	size_t count = (size_t)(end - first);
	SCOPE_FREE uint8_t *whole = NULL;
	int r;

	if (layout == FOREIGN_RGB || layout == FOREIGN_GRAY)
		return reader_get_full(source, out, len, offset + from);
	whole = malloc(3 * count);
	if (!whole)
		return -ENOMEM;
	if (layout == FOREIGN_BGR)
		r = reader_get_full(source, whole, 3 * count, offset + 3 * first);
	else
		r = read_planes(source, pixels, offset, first, count, whole);
	if (r < 0)
		return r;
	swap_red_and_blue(whole, count);
	memcpy(out, whole + (from - 3 * first), len);
	return 0;
}

int foreign_pixels_read(struct reader *source, const struct foreign_pixels *pixels, uint64_t offset,
			uint64_t from, uint8_t *out, size_t len)
{
	char header[HEADER];
	unsigned ahead = header_of(pixels, header);
	size_t n = 0;

	if (from < ahead) {
		n = min(len, ahead - from);
		memcpy(out, header + from, n);
	}
	if (n == len)
		return 0;
	return read_samples(source, pixels, offset, from + n - ahead, out + n, len - n);
}
