#include "pack/tool/image/picture.h"

#include "pack/tool/image/jpeg.h"
#include "pack/tool/image/metadata.h"
#include "pack/tool/image/resize.h"
#include <string.h>

void picture_release(struct picture *picture)
{
	png_head_release(&picture->png_head);
	png_image_release(&picture->png);
	pixels_release(&picture->pixels);
}

static void read_exif(struct picture *picture, const uint8_t *exif, size_t len)
{
	picture->orientation = 1;
	if (exif && metadata_is_exif(exif, len)) /* some have what JPEGs put in front of it */
		picture->orientation = metadata_orientation(exif, len);
	else if (exif)
		picture->orientation = metadata_exif_orientation(exif, len);
}

int picture_read(enum format_image kind, const uint8_t *data, size_t len, struct picture *ret,
		 struct err *err)
{
	struct picture picture = {.kind = kind};
	int r;

	if (kind == IMAGE_PNG) {
		r = png_head_read(data, len, &picture.png_head, err);
		picture.width = picture.png_head.width;
		picture.height = picture.png_head.height;
		picture.moving = picture.png_head.moving;
		read_exif(&picture, picture.png_head.exif, picture.png_head.exif_len);
	} else {
		r = webp_head_read(data, len, &picture.webp, err);
		picture.width = picture.webp.width;
		picture.height = picture.webp.height;
		picture.moving = picture.webp.moving;
		read_exif(&picture, picture.webp.exif, picture.webp.exif_len);
	}
	if (r == 0)
		*ret = picture;
	return r;
}

unsigned picture_pixel_bytes(const struct picture *picture)
{
	return picture->kind == IMAGE_PNG ? picture->png_head.pixel_bytes : 4;
}

/* --- colours --------------------------------------------------------------------------------- */

/* Whether all pixels together have at most PICTURE_FEW values. */
static bool has_few(const struct pixels *pixels)
{
	enum { SLOTS = 4 * PICTURE_FEW };
	uint32_t seen[SLOTS], count = 0;
	bool taken[SLOTS] = {0};
	size_t all = (size_t)pixels->width * pixels->height;
	const uint8_t *pixel = pixels->data;

	for (size_t i = 0; i < all; i++, pixel += pixels->channels) {
		uint32_t value = 0, slot;

		memcpy(&value, pixel, pixels->channels);
		slot = value * 2654435761u >> 24;
		while (taken[slot] && seen[slot] != value)
			slot = (slot + 1) % SLOTS;
		if (taken[slot])
			continue;
		if (++count > PICTURE_FEW)
			return false;
		taken[slot] = true;
		seen[slot] = value;
	}
	return true;
}

int picture_decode(struct picture *picture, const uint8_t *data, size_t len, struct err *err)
{
	int r;

	if (picture->kind == IMAGE_WEBP) {
		r = webp_decode(data, len, &picture->webp, &picture->pixels, err);
		picture->alpha = picture->webp.alpha;
	} else {
		r = png_decode(data, len, &picture->png, err);
		picture->alpha = picture->png.alpha;
		picture->pixels = picture->png.pixels;
		picture->png.pixels = (struct pixels){0};
		picture->few = picture->png.depth != 8 || picture->png.palette_len;
	}
	if (r == 0 && !picture->few)
		picture->few = has_few(&picture->pixels);
	return r;
}

/* --- resizing -------------------------------------------------------------------------------- */

/* What is transparent has no say in the colour of a new pixel: colours are multiplied by their
 * alpha for the filter, and divided afterwards, as PIL does. */
static void multiply(struct pixels *pixels)
{
	uint32_t channels = pixels->channels;
	uint8_t *pixel = pixels->data, *end = pixel + pixels->height * pixels_stride(pixels);

	for (; pixel < end; pixel += channels)
		for (uint32_t c = 0; c < channels - 1; c++) {
			uint32_t product = (uint32_t)pixel[c] * pixel[channels - 1] + 128;

			pixel[c] = (uint8_t)((product + (product >> 8)) >> 8);
		}
}

static void divide(struct pixels *pixels)
{
	uint32_t channels = pixels->channels;
	uint8_t *pixel = pixels->data, *end = pixel + pixels->height * pixels_stride(pixels);

	for (; pixel < end; pixel += channels) {
		uint8_t alpha = pixel[channels - 1];

		for (uint32_t c = 0; alpha > 0 && alpha < UINT8_MAX && c < channels - 1; c++) {
			uint32_t value = UINT8_MAX * (uint32_t)pixel[c] / alpha;

			pixel[c] = (uint8_t)(value < UINT8_MAX ? value : UINT8_MAX);
		}
	}
}

int picture_resize(struct picture *picture, uint32_t width, uint32_t height)
{
	const struct resize how = {.from_width = picture->width,
				   .from_height = picture->height,
				   .shrink = 1,
				   .width = width,
				   .height = height};
	bool mixes = !picture->few;
	struct pixels small;
	int r;

	if (mixes && picture->alpha)
		multiply(&picture->pixels);
	r = mixes ? resize(&how, &picture->pixels, &small)
		  : resize_nearest(&picture->pixels, width, height, &small);
	if (r < 0)
		return r;
	if (mixes && picture->alpha)
		divide(&small);
	pixels_release(&picture->pixels);
	picture->pixels = small;
	return 0;
}

/* --- as another format ----------------------------------------------------------------------- */

static bool is_opaque(const struct pixels *pixels)
{
	const uint8_t *end = pixels->data + pixels->height * pixels_stride(pixels);

	for (const uint8_t *pixel = pixels->data; pixel < end; pixel += pixels->channels)
		if (pixel[pixels->channels - 1] != UINT8_MAX)
			return false;
	return true;
}

bool picture_is_plain(const struct picture *picture)
{
	return !picture->few && (!picture->alpha || is_opaque(&picture->pixels));
}

int picture_plain(const struct picture *picture, struct pixels *ret, struct buf *segments)
{
	const struct pixels *from = &picture->pixels;
	uint32_t channels = from->channels - picture->alpha;
	const uint8_t *pixel = from->data;
	int r = pixels_init(ret, from->width, from->height, channels);
	uint8_t *to = ret->data, *end;

	if (r < 0)
		return r;
	end = to + ret->height * pixels_stride(ret);
	for (; to < end; to += channels, pixel += from->channels)
		memcpy(to, pixel, channels);
	if (picture->kind == IMAGE_WEBP)
		return jpeg_segments(picture->webp.exif, picture->webp.exif_len,
				     picture->webp.profile, picture->webp.profile_len, segments);
	return jpeg_segments(picture->png_head.exif, picture->png_head.exif_len,
			     (const uint8_t *)picture->png.profile.data, picture->png.profile.len,
			     segments);
}

int picture_encode(const struct picture *picture, uint32_t quality, struct buf *out,
		   struct err *err)
{
	struct png_image png = picture->png;

	if (picture->kind == IMAGE_WEBP)
		return webp_encode(&picture->pixels, &picture->webp, quality, out, err);
	png.pixels = picture->pixels;
	return png_encode(&png, &picture->png_head.chunks, out, err);
}
