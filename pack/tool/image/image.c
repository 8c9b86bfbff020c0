#include "pack/tool/image/image.h"

#include "base/math.h"
#include "pack/tool/image/bitmap.h"
#include "pack/tool/image/bytes.h"
#include "pack/tool/image/gif.h"
#include "pack/tool/image/jpeg.h"
#include "pack/tool/image/tiff.h"

/* A size with only one side does not count. */
static void set_size(struct dataset_image *image, uint64_t width, uint64_t height)
{
	if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX)
		return;
	image->width = (uint32_t)width;
	image->height = (uint32_t)height;
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
	const struct bytes file = {.data = head->data, .len = head->len, .big = true};

	if (!bytes_are(head, 0, "\x89PNG\r\n\x1a\n", 8))
		return false;
	if (bytes_are(head, 8, "\0\0\0\rIHDR", 8))
		set_size(image, bytes_get(&file, 16, 4), bytes_get(&file, 20, 4));
	return true;
}

/* PIL makes the canvas as large as the first picture needs. */
static bool gif(const struct bytes *head, struct dataset_image *image)
{
	uint64_t width = bytes_get(head, 6, 2), height = bytes_get(head, 8, 2);
	uint64_t at = bytes_have(head, 0, GIF_HEADER) ? gif_first(head) : head->len;

	if (!bytes_are(head, 0, "GIF87a", 6) && !bytes_are(head, 0, "GIF89a", 6))
		return false;
	while (at && bytes_have(head, at, 10) && head->data[at] != GIF_IMAGE)
		at = gif_next(head, at);
	if (at && bytes_have(head, at, 10)) {
		width = max(width, bytes_get(head, at + 1, 2) + bytes_get(head, at + 5, 2));
		height = max(height, bytes_get(head, at + 3, 2) + bytes_get(head, at + 7, 2));
	}
	set_size(image, width, height);
	return true;
}

/* The first chunk has the size: VP8 (lossy), VP8L (lossless), or VP8X, which has the canvas. It
 * comes after RIFF, WEBP and its own header. */
static bool webp(const struct bytes *head, struct dataset_image *image)
{
	uint32_t bits = bytes_get(head, 21, 4);

	if (!bytes_are(head, 0, "RIFF", 4) || !bytes_are(head, 8, "WEBP", 4))
		return false;
	if (bytes_are(head, 12, "VP8X", 4) && bytes_have(head, 20, 10))
		set_size(image, bytes_get(head, 24, 3) + 1, bytes_get(head, 27, 3) + 1);
	else if (bytes_are(head, 12, "VP8L", 4) && bytes_are(head, 20, "\x2f", 1) &&
		 bytes_have(head, 20, 5))
		set_size(image, (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
	else if (bytes_are(head, 12, "VP8 ", 4) && bytes_have(head, 20, 10) &&
		 bytes_are(head, 23, "\x9d\x01\x2a", 3))
		set_size(image, bytes_get(head, 26, 2) & 0x3fff, bytes_get(head, 28, 2) & 0x3fff);
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
	set_size(image, bmp.width, bmp.height);
	return true;
}

static void tiff_size(const struct tiff *tiff, uint64_t directory, struct dataset_image *image)
{
	set_size(image, tiff_number(tiff, directory, TIFF_WIDTH),
		 tiff_number(tiff, directory, TIFF_HEIGHT));
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

/* --- boxes of the ISO base media files (ISO/IEC 14496-12) ------------------------------------ */

/* A box is its size (4 bytes, big-endian), its type, and its content. Size 1: the 8 bytes after the
 * type have the size. Size 0: the box reaches to the end of what it is in. */
struct box {
	uint64_t type, content, end; /* where type and content begin, and what follows */
};

/* The box at *at within another one; *at goes to the next. */
static bool box_next(const struct bytes *file, const struct box *in, uint64_t *at, struct box *ret)
{
	uint64_t header = 8, size = bytes_get(file, *at, 4);

	if (*at >= in->end || !bytes_have(file, *at, header))
		return false;
	if (size == 1) {
		header = 16;
		size = (uint64_t)bytes_get(file, *at + 8, 4) << 32 | bytes_get(file, *at + 12, 4);
	} else if (size == 0) {
		size = in->end - *at;
	}
	if (size < header || size > in->end - *at)
		return false;
	*ret = (struct box){.type = *at + 4, .content = *at + header, .end = *at + size};
	*at += size;
	return true;
}

/* The first box of a type in another one; its content begins `skip` bytes later. */
static bool box_find(const struct bytes *file, const struct box *in, const char *type,
		     unsigned skip, struct box *ret)
{
	uint64_t at = in->content;
	struct box box;

	while (box_next(file, in, &at, &box)) {
		if (!bytes_are(file, box.type, type, 4))
			continue;
		box.content += skip;
		*ret = box;
		return true;
	}
	return false;
}

#define FULL_BOX 4 /* bytes of version and flags before the content of some boxes */

static const struct box whole_file = {.end = UINT64_MAX};

/* --- AVIF: ISO/IEC 23008-12, and the AV1 Image File Format -------------------------------------
 *
 *	ftyp                brands, one of them "avif" or "avis"
 *	meta  iprp  ipco    properties of all items, among them sizes: ispe
 *
 * The largest is that of the picture; tiles, alpha and thumbnails are no larger. */

static void avif_size(const struct bytes *file, struct dataset_image *image)
{
	struct box meta, iprp, ipco, box;
	uint64_t at, width = 0, height = 0;

	if (!box_find(file, &whole_file, "meta", FULL_BOX, &meta) ||
	    !box_find(file, &meta, "iprp", 0, &iprp) || !box_find(file, &iprp, "ipco", 0, &ipco) ||
	    !bytes_have(file, ipco.content, ipco.end - ipco.content))
		return;
	for (at = ipco.content; box_next(file, &ipco, &at, &box);) {
		uint64_t across = bytes_get(file, box.content + FULL_BOX, 4);
		uint64_t down = bytes_get(file, box.content + FULL_BOX + 4, 4);

		if (bytes_are(file, box.type, "ispe", 4) && across * down > width * height) {
			width = across;
			height = down;
		}
	}
	set_size(image, width, height);
}

/* The brands are the major one, its version, and those that it is compatible with. */
static bool avif(const struct bytes *head, struct dataset_image *image)
{
	const struct bytes file = {.data = head->data, .len = head->len, .big = true};
	uint32_t size = bytes_get(&file, 0, 4);

	if (!bytes_are(&file, 4, "ftyp", 4))
		return false;
	for (uint64_t at = 8; at + 4 <= size && bytes_have(&file, at, 4); at += at == 8 ? 8 : 4) {
		if (!bytes_are(&file, at, "avif", 4) && !bytes_are(&file, at, "avis", 4))
			continue;
		avif_size(&file, image);
		return true;
	}
	return false;
}

/* --- JPEG XL: ISO/IEC 18181-1, 18181-2 ---------------------------------------------------------
 *
 * A codestream begins with ff 0a and the size, in bits, the lowest bit of each byte first:
 *
 *	u1 small; height; u3 ratio; width, if the ratio is 0
 *
 * If small, a side is in units of 8, as 5 bits; otherwise 2 bits say how many bits follow. All
 * values are one less than the sides. */

struct bits {
	const struct bytes *file;
	uint64_t at; /* in bits */
};

/* Zeros beyond the end. */
static uint32_t bits_take(struct bits *bits, unsigned count)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < count; i++, bits->at++)
		value |= (bytes_get(bits->file, bits->at / 8, 1) >> bits->at % 8 & 1) << i;
	return value;
}

static uint32_t jxl_side(struct bits *bits, bool small)
{
	static const uint8_t counts[] = {9, 13, 18, 30};

	if (small)
		return 8 * (bits_take(bits, 5) + 1);
	return bits_take(bits, counts[bits_take(bits, 2)]) + 1;
}

static void jxl_size(const struct bytes *file, uint64_t codestream, struct dataset_image *image)
{
	static const uint8_t ratios[][2] = {{1, 1},  {12, 10}, {4, 3}, {3, 2},
					    {16, 9}, {5, 4},   {2, 1}};
	struct bits bits = {.file = file, .at = 8 * (codestream + 2)};
	bool small = bits_take(&bits, 1);
	uint32_t height = jxl_side(&bits, small), ratio = bits_take(&bits, 3), width;

	if (ratio == 0)
		width = jxl_side(&bits, small);
	else
		width = (uint32_t)((uint64_t)height * ratios[ratio - 1][0] / ratios[ratio - 1][1]);
	if (bytes_are(file, codestream, "\xff\x0a", 2) && bits.at <= 8 * (uint64_t)file->len)
		set_size(image, width, height);
}

/* Two bytes alone prove little: a codestream without boxes must have its size, too. */
static bool jxl(const struct bytes *head, struct dataset_image *image)
{
	const struct bytes file = {.data = head->data, .len = head->len, .big = true};
	struct box box;

	if (!bytes_are(&file, 0, "\0\0\0\x0cJXL \r\n\x87\n", 12)) {
		jxl_size(&file, 0, image);
		return image->width > 0;
	}
	if (box_find(&file, &whole_file, "jxlc", 0, &box) ||
	    box_find(&file, &whole_file, "jxlp", 4, &box)) /* after the part's number */
		jxl_size(&file, box.content, image);
	return true;
}

/* --- all kinds ----------------------------------------------------------------------------- */

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
