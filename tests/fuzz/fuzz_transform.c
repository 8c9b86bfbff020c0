/* Whatever the bytes: an image is left, refused or transformed, into one that is decoded again. The
 * first byte chooses what is asked for. */
#include "base/scope.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/jpeg.h"
#include "pack/tool/image/transform.h"
#include "tests/fuzz/fuzz.h"
#include <errno.h>

#define SIDE ((uint32_t)4096) /* larger ones only take time */

static int decode(const uint8_t *data, size_t size)
{
	SCOPE(pixels_release) struct pixels pixels = {0};

	return jpeg_decode(data, size, 1, &pixels, NULL);
}

/* What libjpeg-turbo does not decode may be optimized, and is of that kind then, too. */
static void must_be_whole(const struct buf *out, const uint8_t *from, size_t size)
{
	const uint8_t *data = (const uint8_t *)out->data;
	struct dataset_image image;

	image_inspect(data, out->len, &image);
	must(image.width > 0 && image.height > 0);
	must(image.kind != IMAGE_JPEG || decode(data, out->len) == 0 ||
	     (decode(data, out->len) == -ENOTSUP && decode(from, size) == -ENOTSUP));
}

static bool is_small(const uint8_t *data, size_t size)
{
	struct dataset_image image;

	image_inspect(data, size, &image);
	return image.width < SIDE && image.height < SIDE;
}

static struct transform choose(uint8_t from)
{
	static const uint32_t sizes[] = {0, 3, 17, 64};

	return (struct transform){.resize = sizes[from & 3],
				  .max_side = sizes[from >> 2 & 3],
				  .store = (enum transform_store)(from >> 4 & 3),
				  .quality = from & 128 ? 30 : 0,
				  .optimize = from & 64};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(buf_release) struct buf out = BUF_INIT;
	struct transform how;
	struct err err = {0};

	if (size == 0 || !is_small(data + 1, size - 1))
		return 0;
	how = choose(data[0]);
	data++;
	size--;
	if (transform_check(&how, &err) < 0)
		how.quality = 0;
	if (transform_image(&how, data, size, &out, &err) == 0)
		must_be_whole(&out, data, size);
	(void)image_named((const char *)data, size);
	return 0;
}
