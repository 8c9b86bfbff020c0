#include "pack/tool/image/thumbnail.h"

#include "base/scope.h"
#include "pack/tool/image/bitmap.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/jpeg.h"
#include "pack/tool/image/resize.h"
#include "pack/tool/image/transform.h"

#define QUALITY	     75			  /* of the JPEGs that are made */
#define EMBED_BYTES  (64 * KIB)		  /* larger files are not embedded unchanged */
#define EMBED_PIXELS ((uint64_t)16 << 20) /* nor images of more pixels */

void thumbnail_release(struct thumbnail *thumbnail)
{
	buf_release(&thumbnail->made);
}

/* The MIME type of images that browsers show; NULL for others. */
static const char *type_of(enum format_image kind)
{
	static const char *const types[IMAGE_KINDS] = {[IMAGE_JPEG] = "image/jpeg",
						       [IMAGE_PNG] = "image/png",
						       [IMAGE_GIF] = "image/gif",
						       [IMAGE_WEBP] = "image/webp",
						       [IMAGE_BMP] = "image/bmp"};

	return types[kind];
}

static int take(const uint8_t *data, size_t len, const struct dataset_image *image,
		struct thumbnail *ret, struct err *err)
{
	if (!type_of(image->kind))
		return err_set(err, 1, "%s: no browser shows it", format_image_name(image->kind));
	if (image->width == 0)
		return err_set(err, 1, "%s of unknown size", format_image_name(image->kind));
	if (len > EMBED_BYTES || (uint64_t)image->width * image->height > EMBED_PIXELS)
		return err_set(err, 1, "%s: too large to embed", format_image_name(image->kind));
	*ret = (struct thumbnail){.type = type_of(image->kind),
				  .width = image->width,
				  .height = image->height,
				  .data = data,
				  .len = len};
	return 0;
}

static void use(struct buf *made, struct thumbnail *ret)
{
	struct dataset_image image;

	image_inspect((const uint8_t *)made->data, made->len, &image);
	*ret = (struct thumbnail){.type = type_of(image.kind),
				  .width = image.width,
				  .height = image.height,
				  .data = made->data,
				  .len = made->len,
				  .made = *made};
	*made = BUF_INIT;
}

/* Of an image that is stored decoded: whole packs are made of these. */
static int make_of_bitmap(const uint8_t *data, size_t len, struct buf *made, struct err *err)
{
	const struct transform how = {.max_side = THUMBNAIL_SIDE};
	SCOPE(pixels_release) struct pixels whole = {0};
	SCOPE(pixels_release) struct pixels small = {0};
	struct resize to = {.shrink = 1};
	int r = bitmap_read(data, len, &whole);

	if (r)
		return r;
	to.width = to.from_width = whole.width;
	to.height = to.from_height = whole.height;
	transform_size(&how, &to.width, &to.height);
	r = resize(&to, &whole, &small);
	return r < 0 ? r : jpeg_encode(&small, QUALITY, &BUF_INIT, made, err);
}

int thumbnail_make(const uint8_t *data, size_t len, struct thumbnail *ret, struct err *err)
{
	SCOPE(buf_release) struct buf made = BUF_INIT;
	struct dataset_image image;
	int r;

	image_inspect(data, len, &image);
	if (image.kind == IMAGE_UNKNOWN)
		return err_set(err, 1, "no image");
	r = transform_thumbnail(data, len, THUMBNAIL_SIDE, &made, err);
	if (r == 1)
		r = make_of_bitmap(data, len, &made, err);
	if (r == 0)
		use(&made, ret);
	return r == 1 || r == -EFBIG ? take(data, len, &image, ret, err) : r;
}
