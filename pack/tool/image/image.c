#include "pack/tool/image/image.h"

#include "base/be.h"
#include "base/le.h"
#include "pack/tool/image/jpeg_inspect.h"
#include "pack/tool/image/pnm.h"
#include <string.h>
#include <strings.h>

/* A window on the bytes: every reader below asks need() before it looks. */
struct head {
	const uint8_t *data;
	size_t len;
};

static bool need(const struct head *head, size_t from, size_t count)
{
	return from <= head->len && count <= head->len - from;
}

static bool starts(const struct head *head, size_t at, const char *magic, size_t count)
{
	return need(head, at, count) && memcmp(head->data + at, magic, count) == 0;
}

static uint32_t le_get24(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

/* Half a size is none. */
static void set_size(struct dataset_image *image, uint32_t width, uint32_t height)
{
	if (width == 0 || height == 0)
		return;
	image->width = width;
	image->height = height;
}

static bool jpeg(const struct head *head, struct dataset_image *image)
{
	uint32_t width = 0, height = 0;

	if (!starts(head, 0, "\xff\xd8\xff", 3))
		return false;
	if (jpeg_inspect(head->data, head->len, &width, &height) == 0)
		set_size(image, width, height);
	return true;
}

static bool png(const struct head *head, struct dataset_image *image)
{
	uint32_t width, height;

	if (!starts(head, 0, "\x89PNG\r\n\x1a\n", 8))
		return false;
	if (!need(head, 0, 24) || !starts(head, 8, "\0\0\0\rIHDR", 8))
		return true;
	width = be_get32(head->data + 16);
	height = be_get32(head->data + 20);
	if (width <= INT32_MAX && height <= INT32_MAX)
		set_size(image, width, height);
	return true;
}

static bool gif(const struct head *head, struct dataset_image *image)
{
	if (!starts(head, 0, "GIF87a", 6) && !starts(head, 0, "GIF89a", 6))
		return false;
	if (need(head, 0, 10))
		set_size(image, le_get16(head->data + 6), le_get16(head->data + 8));
	return true;
}

/* The first chunk says it: VP8 (lossy), VP8L (lossless), or VP8X, which has the canvas. */
static void webp_size(const struct head *head, struct dataset_image *image)
{
	const uint8_t *p;
	uint32_t bits;

	if (!need(head, 20, 5))
		return;
	p = head->data + 20; /* behind RIFF, WEBP and the chunk's header */
	if (starts(head, 12, "VP8X", 4) && need(head, 20, 10)) {
		set_size(image, le_get24(p + 4) + 1, le_get24(p + 7) + 1);
	} else if (starts(head, 12, "VP8L", 4) && need(head, 20, 5) && p[0] == 0x2f) {
		bits = le_get32(p + 1);
		set_size(image, (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
	} else if (starts(head, 12, "VP8 ", 4) && need(head, 20, 10) &&
		   starts(head, 23, "\x9d\x01\x2a", 3)) {
		set_size(image, le_get16(p + 6) & 0x3fff, le_get16(p + 8) & 0x3fff);
	}
}

static bool webp(const struct head *head, struct dataset_image *image)
{
	if (!starts(head, 0, "RIFF", 4) || !starts(head, 8, "WEBP", 4))
		return false;
	webp_size(head, image);
	return true;
}

/* "BM" alone is too little to tell: the info header must be one of the known ones, too. A
 * negative height means rows from top to bottom. */
static bool bmp(const struct head *head, struct dataset_image *image)
{
	const uint8_t *p = head->data;
	uint32_t header, height;

	if (!starts(head, 0, "BM", 2) || !need(head, 0, 30))
		return false;
	header = le_get32(p + 14);
	if (header == 12) {
		if (le_get16(p + 22) != 1)
			return false;
		set_size(image, le_get16(p + 18), le_get16(p + 20));
		return true;
	}
	if (header < 16 || header > 124 || le_get16(p + 26) != 1)
		return false;
	height = le_get32(p + 22);
	if (height > INT32_MAX)
		height = 0 - height;
	if (le_get32(p + 18) <= INT32_MAX)
		set_size(image, le_get32(p + 18), height);
	return true;
}

struct tiff_reader {
	const struct head *head;
	bool big; /* byte order */
};

static uint32_t tiff_get16(const struct tiff_reader *tiff, size_t at)
{
	const uint8_t *p = tiff->head->data + at;

	return tiff->big ? be_get16(p) : le_get16(p);
}

static uint32_t tiff_get32(const struct tiff_reader *tiff, size_t at)
{
	const uint8_t *p = tiff->head->data + at;

	return tiff->big ? be_get32(p) : le_get32(p);
}

/* The value of a field with one SHORT or LONG; 0 for anything else. */
static uint32_t tiff_value(const struct tiff_reader *tiff, size_t field)
{
	if (tiff_get32(tiff, field + 4) != 1)
		return 0;
	switch (tiff_get16(tiff, field + 2)) {
	case 3:
		return tiff_get16(tiff, field + 8);
	case 4:
		return tiff_get32(tiff, field + 8);
	default:
		return 0;
	}
}

/* The first directory often lies behind the pixels, and then is not in the head. */
static void tiff_size(const struct tiff_reader *tiff, struct dataset_image *image)
{
	uint32_t width = 0, height = 0;
	size_t directory, fields;

	if (!need(tiff->head, 0, 8))
		return;
	directory = tiff_get32(tiff, 4);
	if (!need(tiff->head, directory, 2))
		return;
	fields = tiff_get16(tiff, directory);
	for (size_t i = 0, at = directory + 2; i < fields && need(tiff->head, at, 12);
	     i++, at += 12) {
		if (tiff_get16(tiff, at) == 256)
			width = tiff_value(tiff, at);
		else if (tiff_get16(tiff, at) == 257)
			height = tiff_value(tiff, at);
	}
	set_size(image, width, height);
}

static bool tiff(const struct head *head, struct dataset_image *image)
{
	struct tiff_reader reader = {.head = head, .big = starts(head, 0, "MM\0*", 4)};

	if (!reader.big && !starts(head, 0, "II*\0", 4))
		return false;
	tiff_size(&reader, image);
	return true;
}

/* "P1" to "P6" may begin a text, too: only a whole header counts. */
static bool pnm(const struct head *head, struct dataset_image *image)
{
	struct pnm header;

	if (pnm_header(head->data, head->len, &header) < 0)
		return false;
	set_size(image, header.width, header.height);
	return true;
}

void image_inspect(const uint8_t *data, size_t len, struct dataset_image *ret)
{
	static const struct {
		bool (*read)(const struct head *head, struct dataset_image *image);
		enum format_image kind;
	} readers[] = {
		{jpeg, IMAGE_JPEG}, {png, IMAGE_PNG}, {webp, IMAGE_WEBP}, {gif, IMAGE_GIF},
		{bmp, IMAGE_BMP},   {pnm, IMAGE_PNM}, {tiff, IMAGE_TIFF},
	};
	const struct head head = {.data = data, .len = len};
	struct dataset_image image = {.kind = IMAGE_UNKNOWN};

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		if (readers[i].read(&head, &image)) {
			image.kind = readers[i].kind;
			break;
		}
	}
	*ret = image;
}

enum format_image image_named(const char *name, size_t len)
{
	static const struct {
		const char *extension;
		enum format_image kind;
	} names[] = {
		{".jpg", IMAGE_JPEG}, {".jpeg", IMAGE_JPEG}, {".png", IMAGE_PNG},
		{".ppm", IMAGE_PNM},  {".pgm", IMAGE_PNM},   {".bmp", IMAGE_BMP},
		{".tif", IMAGE_TIFF}, {".tiff", IMAGE_TIFF}, {".webp", IMAGE_WEBP},
		{".gif", IMAGE_GIF},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t extension = strlen(names[i].extension);

		if (len >= extension &&
		    strncasecmp(name + len - extension, names[i].extension, extension) == 0)
			return names[i].kind;
	}
	return IMAGE_UNKNOWN;
}
