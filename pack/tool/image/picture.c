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

static unsigned exif_orientation(const uint8_t *exif, size_t len)
{
	if (!exif)
		return 1;
	return metadata_is_exif(exif, len) /* some have what JPEGs put in front of it */
		       ? metadata_orientation(exif, len)
		       : metadata_exif_orientation(exif, len);
}

static void read_orientation(struct picture *picture)
{
	const struct png_head *png = &picture->png_head;
	const struct webp_head *webp = &picture->webp;
	bool is_png = picture->kind == IMAGE_PNG;

	picture->orientation = is_png ? exif_orientation(png->exif, png->exif_len)
				      : exif_orientation(webp->exif, webp->exif_len);
	if (picture->orientation != 1)
		return;
	if (is_png && png->raw_exif.len)
		picture->orientation =
			metadata_raw_orientation(png->raw_exif.data, png->raw_exif.len);
	else if (is_png)
		picture->orientation =
			metadata_xmp_orientation((const uint8_t *)png->xmp.data, png->xmp.len);
	else
		picture->orientation = metadata_xmp_orientation(webp->xmp, webp->xmp_len);
	picture->turned_by_text = picture->orientation != 1;
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
	} else {
		r = webp_head_read(data, len, &picture.webp, err);
		picture.width = picture.webp.width;
		picture.height = picture.webp.height;
		picture.moving = picture.webp.moving;
	}
	if (r < 0)
		return r;
	read_orientation(&picture);
	*ret = picture;
	return 0;
}

unsigned picture_pixel_bytes(const struct picture *picture)
{
	return picture->kind == IMAGE_PNG ? picture->png_head.pixel_bytes : 4;
}

/* --- masks ----------------------------------------------------------------------------------- */

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

#define ROWS 64 /* at least, evenly spread: enough to judge by */

/* Counts where runs of equal pixels begin, and those of one pixel. A neighbour is `step` bytes
 * away, which has `at` of `count` pixels before it. */
struct runs {
	uint64_t all, single;
};

static void look_at_run(const uint8_t *pixel, uint32_t channels, size_t step, uint32_t at,
			uint32_t count, struct runs *runs)
{
	if (at > 0 && memcmp(pixel, pixel - step, channels) == 0)
		return;
	runs->all++;
	runs->single += at == count - 1 || memcmp(pixel, pixel + step, channels) != 0;
}

/* Noise ends a run of a photograph at nearly each pixel, and so does a soft edge in a drawing; its
 * background may be as large as it likes. */
static bool is_flat(const struct pixels *pixels)
{
	uint32_t width = pixels->width, height = pixels->height, channels = pixels->channels;
	size_t stride = pixels_stride(pixels);
	struct runs runs = {0};

	for (uint32_t y = 0; y < height; y += height / ROWS + 1) {
		const uint8_t *pixel = pixels->data + y * stride;

		for (uint32_t x = 0; x < width; x++, pixel += channels) {
			look_at_run(pixel, channels, channels, x, width, &runs);
			look_at_run(pixel, channels, stride, y, height, &runs);
		}
	}
	return runs.single <= runs.all / 2;
}

static bool is_mask(const struct pixels *pixels)
{
	return has_few(pixels) || is_flat(pixels);
}

/* A colour that stands for transparency stays one where no new colours come up. */
static int take_png(struct picture *picture)
{
	struct png_image *png = &picture->png;
	int r = 0;

	picture->mask = png->depth != 8 || png->palette_len || is_mask(&png->pixels);
	if (png->keyed && !picture->mask)
		r = png_key_to_alpha(png);
	picture->alpha = png->alpha;
	picture->pixels = png->pixels;
	png->pixels = (struct pixels){0};
	return r;
}

int picture_decode(struct picture *picture, const uint8_t *data, size_t len, struct err *err)
{
	int r;

	if (picture->kind == IMAGE_PNG) {
		r = png_decode(data, len, &picture->png, err);
		return r < 0 ? r : take_png(picture);
	}
	r = webp_decode(data, len, &picture->webp, &picture->pixels, err);
	picture->alpha = picture->webp.alpha;
	picture->mask = r == 0 && is_mask(&picture->pixels);
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
	bool mixes = !picture->mask;
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
	return !picture->mask && (!picture->alpha || is_opaque(&picture->pixels));
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
