#include "pack/tool/image/image.h"

#include "base/be.h"
#include "base/le.h"
#include "base/math.h"
#include "pack/tool/image/bitmap.h"
#include "pack/tool/image/boxes.h"
#include "pack/tool/image/bytes.h"
#include "pack/tool/image/gif.h"
#include "pack/tool/image/jpeg.h"
#include "pack/tool/image/tiff.h"

/* A size with only one side does not count. */
static void set_size(struct dataset_image *image, uint32_t width, uint32_t height)
{
	if (width == 0 || height == 0)
		return;
	image->width = width;
	image->height = height;
}

static bool jpeg(const struct bytes *head, struct dataset_image *image)
{
	uint32_t width = 0, height = 0;

	if (!bytes_are(head, 0, "\xff\xd8\xff", 3))
		return false;
	if (jpeg_size(head->data, head->len, &width, &height) == 0)
		set_size(image, width, height);
	return true;
}

static bool png(const struct bytes *head, struct dataset_image *image)
{
	uint32_t width, height;

	if (!bytes_are(head, 0, "\x89PNG\r\n\x1a\n", 8))
		return false;
	if (!bytes_have(head, 0, 24) || !bytes_are(head, 8, "\0\0\0\rIHDR", 8))
		return true;
	width = be_get32(head->data + 16);
	height = be_get32(head->data + 20);
	if (width <= INT32_MAX && height <= INT32_MAX)
		set_size(image, width, height);
	return true;
}

/* PIL makes the canvas as large as the first picture needs. */
static void gif_size(const struct bytes *head, struct dataset_image *image)
{
	const uint8_t *data = head->data;
	uint32_t width = le_get16(data + 6), height = le_get16(data + 8);
	uint64_t at = bytes_have(head, 0, GIF_HEADER) ? gif_first(head) : head->len;

	while (bytes_have(head, at, 10) && data[at] != GIF_IMAGE) {
		at = gif_next(head, at);
		if (at == 0)
			break;
	}
	if (at && bytes_have(head, at, 10)) {
		width = (uint32_t)max(width, le_get16(data + at + 1) + le_get16(data + at + 5));
		height = (uint32_t)max(height, le_get16(data + at + 3) + le_get16(data + at + 7));
	}
	set_size(image, width, height);
}

static bool gif(const struct bytes *head, struct dataset_image *image)
{
	if (!bytes_are(head, 0, "GIF87a", 6) && !bytes_are(head, 0, "GIF89a", 6))
		return false;
	if (bytes_have(head, 0, 10))
		gif_size(head, image);
	return true;
}

/* The first chunk has the size: VP8 (lossy), VP8L (lossless), or VP8X, which has the canvas. */
static void webp_size(const struct bytes *head, struct dataset_image *image)
{
	const uint8_t *p;
	uint32_t bits;

	if (!bytes_have(head, 20, 5))
		return;
	p = head->data + 20; /* after RIFF, WEBP and the chunk's header */
	if (bytes_are(head, 12, "VP8X", 4) && bytes_have(head, 20, 10)) {
		set_size(image, bytes_get(head, 24, 3) + 1, bytes_get(head, 27, 3) + 1);
	} else if (bytes_are(head, 12, "VP8L", 4) && bytes_have(head, 20, 5) && p[0] == 0x2f) {
		bits = le_get32(p + 1);
		set_size(image, (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
	} else if (bytes_are(head, 12, "VP8 ", 4) && bytes_have(head, 20, 10) &&
		   bytes_are(head, 23, "\x9d\x01\x2a", 3)) {
		set_size(image, le_get16(p + 6) & 0x3fff, le_get16(p + 8) & 0x3fff);
	}
}

static bool webp(const struct bytes *head, struct dataset_image *image)
{
	if (!bytes_are(head, 0, "RIFF", 4) || !bytes_are(head, 8, "WEBP", 4))
		return false;
	webp_size(head, image);
	return true;
}

/* "BM" alone proves little: the info header must be a known one, too. The number of planes counts
 * for no reader. */
static bool bmp(const struct bytes *head, struct dataset_image *image)
{
	struct bmp bmp;

	if (!bytes_are(head, 0, "BM", 2) || bmp_header(head->data, head->len, &bmp) < 0 ||
	    bmp.bits == 0 || bmp.bits > 32)
		return false;
	if (bmp.width <= INT32_MAX)
		set_size(image, bmp.width, bmp.height);
	return true;
}

static void tiff_size(const struct tiff *tiff, uint64_t directory, struct dataset_image *image)
{
	uint64_t width = tiff_number(tiff, directory, TIFF_WIDTH);
	uint64_t height = tiff_number(tiff, directory, TIFF_HEIGHT);

	if (width <= INT32_MAX && height <= INT32_MAX)
		set_size(image, (uint32_t)width, (uint32_t)height);
}

static bool tiff(const struct bytes *head, struct dataset_image *image)
{
	struct tiff file;

	if (!tiff_begins(head, &file))
		return false;
	tiff_size(&file, tiff_directory(&file), image);
	return true;
}

uint64_t image_directory(const uint8_t *data, size_t len)
{
	const struct bytes head = {.data = data, .len = len};
	struct tiff file;

	return tiff_begins(&head, &file) ? tiff_directory(&file) : 0;
}

void image_inspect_directory(const uint8_t start[static IMAGE_START], const uint8_t *directory,
			     size_t len, struct dataset_image *image)
{
	const struct bytes head = {.data = start, .len = IMAGE_START};
	struct tiff file;

	if (!tiff_begins(&head, &file))
		return;
	file.file.data = directory;
	file.file.len = len;
	tiff_size(&file, 0, image);
}

/* A text may begin with "P1" to "P6", too: only a complete header counts. */
static bool pnm(const struct bytes *head, struct dataset_image *image)
{
	struct pnm header;

	if (pnm_header(head->data, head->len, &header) < 0)
		return false;
	set_size(image, header.width, header.height);
	return true;
}

static bool avif(const struct bytes *head, struct dataset_image *image)
{
	uint32_t width, height;

	if (!avif_header(head, &width, &height))
		return false;
	if (width <= INT32_MAX && height <= INT32_MAX)
		set_size(image, width, height);
	return true;
}

static bool jxl(const struct bytes *head, struct dataset_image *image)
{
	uint32_t width, height;

	if (!jxl_header(head, &width, &height))
		return false;
	set_size(image, width, height);
	return true;
}

void image_inspect(const uint8_t *data, size_t len, struct dataset_image *ret)
{
	static const struct {
		bool (*read)(const struct bytes *head, struct dataset_image *image);
		enum format_image kind;
	} readers[] = {
		{jpeg, IMAGE_JPEG}, {png, IMAGE_PNG},	{webp, IMAGE_WEBP},
		{gif, IMAGE_GIF},   {bmp, IMAGE_BMP},	{pnm, IMAGE_PNM},
		{tiff, IMAGE_TIFF}, {avif, IMAGE_AVIF}, {jxl, IMAGE_JXL},
	};
	const struct bytes head = {.data = data, .len = len};
	struct dataset_image image = {.kind = IMAGE_UNKNOWN};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		if (readers[i].read(&head, &image)) {
			image.kind = readers[i].kind;
			break;
		}
	}
	*ret = image;
}
