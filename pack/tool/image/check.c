#include "pack/tool/image/check.h"

#include "base/le.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/dataset.h"
#include "pack/tool/image/bitmap.h"
#include "pack/tool/image/bytes.h"
#include "pack/tool/image/gif.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/tiff.h"
#include <errno.h>
#include <zlib.h>

/* For more pixels PIL raises DecompressionBombError: twice its MAX_IMAGE_PIXELS. */
#define MAX_PIXELS ((uint64_t)2 * (1024 * 1024 * 1024 / 4 / 3))

static int truncated(struct check_finding *ret, const char *kind, const char *where)
{
	return check_found(ret, DAMAGE_TRUNCATED, false, "%s: ends in %s", kind, where);
}

static int corrupt(struct check_finding *ret, const char *kind, const char *why)
{
	return check_found(ret, DAMAGE_CORRUPT, false, "%s: %s", kind, why);
}

/* The pixels are `count` bytes at `from`. */
static int check_pixels(const struct bytes *file, const char *kind, uint64_t from, uint64_t count,
			struct check_finding *ret)
{
	if (bytes_have(file, from, count))
		return 0;
	return check_found(ret, DAMAGE_TRUNCATED, false,
			   "%s: its pixels would end at byte %lu, the file ends at %zu", kind,
			   from + count, file->len);
}

/* --- PNG ------------------------------------------------------------------------------ */

#define TEXT_MOST MIB /* MAX_TEXT_CHUNK of PIL */

struct png_walk {
	struct bytes file;
	size_t at; /* of the chunk: length, type, data, CRC */
	uint32_t length;
	bool pixels;   /* IDAT was there */
	bool moving;   /* PIL reads no further than to the second picture */
	bool unsure;   /* PIL may refuse it */
	uint64_t text; /* bytes, unpacked */
};

static bool png_is(const struct png_walk *png, const char *type)
{
	return memcmp(png->file.data + png->at + 4, type, 4) == 0;
}

static int png_check_ihdr(const struct png_walk *png, struct check_finding *ret)
{
	/* The combinations of colour type and bit depth of the standard. */
	static const uint32_t depths[] = {
		[0] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16,
		[2] = 1 << 8 | 1 << 16,
		[3] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
		[4] = 1 << 8 | 1 << 16,
		[6] = 1 << 8 | 1 << 16,
	};
	const uint8_t *ihdr = png->file.data + png->at + 8;

	if (!png_is(png, "IHDR") || png->length != 13)
		return corrupt(ret, "PNG", "does not begin with its header");
	if (ihdr[9] > 6 || ihdr[8] > 16 || !(depths[ihdr[9]] >> ihdr[8] & 1) || ihdr[10] != 0 ||
	    ihdr[11] != 0 || ihdr[12] > 1)
		return corrupt(ret, "PNG", "its header makes no sense");
	return 0;
}

/* The fewest bytes of what PIL reads; it refuses images with fewer. */
static uint32_t png_least(const struct png_walk *png)
{
	static const struct {
		char type[5];
		uint32_t least;
	} chunks[] = {{"pHYs", 9}, {"gAMA", 4}, {"sRGB", 1}, {"cHRM", 32}};
	uint8_t colours = png->file.data[25];

	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++)
		if (png_is(png, chunks[i].type))
			return chunks[i].least;
	return !png_is(png, "tRNS") ? 0 : colours == 0 ? 2 : colours == 2 ? 6 : 0;
}

/* Whether PIL may refuse it for its text or profile: it takes 1 MiB of each, and 64 of all. */
static bool png_is_heavy(struct png_walk *png)
{
	const uint8_t *data = png->file.data + png->at + 8, *end = data + png->length;
	const uint8_t *nul = memchr(data, 0, png->length);
	bool packed = png_is(png, "zTXt") || png_is(png, "iCCP");
	SCOPE_FREE uint8_t *out = packed ? malloc(TEXT_MOST) : NULL;
	uLongf made = packed ? TEXT_MOST : png->length;

	if (packed && (!out || !nul || end - nul < 2 || nul[1] != 0 ||
		       uncompress(out, &made, nul + 2, (uLong)(end - nul - 2)) != Z_OK))
		return true;
	if (png_is(png, "iTXt") && (!nul || end - nul < 2 || nul[1] != 0))
		return true;
	if (packed || png_is(png, "tEXt") || png_is(png, "iTXt"))
		png->text += made;
	return png->text > TEXT_MOST;
}

/* Looks at the chunk at png->at, and finds its length. */
static int png_check_chunk(struct png_walk *png, enum check_level level, struct check_finding *ret)
{
	const uint8_t *chunk = png->file.data + png->at;
	bool in_pixels;

	ret->unsure = png->pixels; /* PIL reads no further than to the last one, mostly */
	if (!bytes_have(&png->file, png->at, 8))
		return truncated(ret, "PNG", png->pixels ? "its pixels" : "its header");
	for (int i = 4; i < 8; i++)
		if ((chunk[i] | 0x20) < 'a' || (chunk[i] | 0x20) > 'z')
			return corrupt(ret, "PNG", "its chunks do not follow each other");
	png->length = bytes_get(&png->file, png->at, 4);
	in_pixels = png_is(png, "IDAT");
	png->pixels |= in_pixels;
	ret->unsure &= !in_pixels;
	if (!bytes_have(&png->file, png->at, 12 + (uint64_t)png->length))
		return check_found(ret, DAMAGE_TRUNCATED, false, "PNG: ends in its chunk %.4s",
				   (const char *)chunk + 4);
	if ((level == CHECK_DECODE || !png->pixels) &&
	    crc32_z(0, chunk + 4, 4 + (size_t)png->length) !=
		    bytes_get(&png->file, png->at + 8 + png->length, 4))
		return check_found(ret, DAMAGE_CORRUPT, false,
				   "PNG: the CRC of its chunk %.4s is wrong",
				   (const char *)chunk + 4);
	return 0;
}

/* Checks what PIL reads of a chunk that is whole. */
static int png_check_content(struct png_walk *png, struct check_finding *ret)
{
	if (png->at == 8)
		return png_check_ihdr(png, ret);
	png->moving |= png_is(png, "acTL") || png_is(png, "fcTL") || png_is(png, "fdAT");
	png->unsure |= png->moving || png_is_heavy(png);
	if (!png->moving && png->length < png_least(png))
		return check_found(ret, DAMAGE_CORRUPT, false, "PNG: its chunk %.4s is too short",
				   (const char *)png->file.data + png->at + 4);
	if (png_is(png, "IEND") && !png->pixels)
		return corrupt(ret, "PNG", "has no pixels");
	return 0;
}

/* Checks chunks, their CRCs (CHECK_HEADER: only those before the pixels) and the end. */
static int check_png(enum check_level level, const struct bytes *file, struct check_finding *ret)
{
	struct png_walk png = {.file = *file, .at = 8};

	png.file.big = true;
	for (;; png.at += 12 + (size_t)png.length) {
		int r = png_check_chunk(&png, level, ret);

		if (r == 0) {
			ret->unsure = false;
			r = png_check_content(&png, ret);
		}
		if (r != 0)
			return r;
		if (png_is(&png, "IEND"))
			break;
	}
	ret->unsure = png.unsure;
	return 0;
}

/* --- GIF ------------------------------------------------------------------------------ */

/* Checks blocks and the trailer. Usable once the first picture is complete. */
static int check_gif(enum check_level level, const struct bytes *file, struct check_finding *ret)
{
	const uint8_t *data = file->data;
	uint64_t at, next, images = 0;

	(void)level;
	if (!bytes_have(file, 0, GIF_HEADER))
		return truncated(ret, "GIF", "its header");
	for (at = gif_first(file); bytes_have(file, at, 1) && data[at] != 0x3b; at = next) {
		next = gif_next(file, at);
		if (next == 0)
			return check_found(ret, DAMAGE_CORRUPT, images > 0,
					   "GIF: its blocks do not follow each other");
		images += data[at] == GIF_IMAGE && next <= file->len;
	}
	if (!bytes_have(file, at, 1))
		return check_found(ret, DAMAGE_TRUNCATED, images > 0,
				   "GIF: ends without a trailer; whole pictures: %lu", images);
	return images ? 0 : corrupt(ret, "GIF", "has no pixels");
}

/* --- WebP ----------------------------------------------------------------------------- */

/* Whether the chunk at `at` is a picture: 1: one that may be sound, -1: one that is not, 0: none.
 * The frame of a lossy one begins with a tag, which has the length of its first part. */
static int webp_picture(const struct bytes *file, uint64_t at)
{
	const uint8_t *chunk = file->data + at, *frame = chunk + 8;
	uint32_t size = le_get32(chunk + 4), tag;

	if (memcmp(chunk, "VP8L", 4) == 0)
		return size >= 5 && frame[0] == 0x2f ? 1 : -1;
	if (memcmp(chunk, "VP8 ", 4) != 0)
		return memcmp(chunk, "ANMF", 4) == 0;
	if (size < 10)
		return -1;
	tag = bytes_get(file, at + 8, 3);
	return !(tag & 1) && memcmp(frame + 3, "\x9d\x01\x2a", 3) == 0 && tag >> 5 <= size - 10
		       ? 1
		       : -1;
}

/* Checks the total length, the chunks, and the header of the frame. */
static int check_webp(enum check_level level, const struct bytes *all, struct check_finding *ret)
{
	const uint8_t *data = all->data;
	struct bytes file = *all;
	uint64_t at = 12, end = file.len < 12 ? 12 : 8 + (uint64_t)le_get32(data + 4);
	int picture = 0;

	(void)level;
	if (file.len >= 12 && memcmp(data + 8, "WEBP", 4) != 0)
		return corrupt(ret, "WebP", "RIFF of another kind");
	if (end > file.len)
		return check_found(ret, DAMAGE_TRUNCATED, false, "WebP: %zu of %lu bytes", file.len,
				   end);
	file.len = end;
	for (; picture == 0 && bytes_have(&file, at, 8);
	     at += 8 + ((uint64_t)le_get32(data + at + 4) + 1) / 2 * 2) {
		if (!bytes_have(&file, at, 8 + (uint64_t)le_get32(data + at + 4)))
			return corrupt(ret, "WebP", "its chunks do not follow each other");
		picture = webp_picture(&file, at);
	}
	if (picture < 0)
		return corrupt(ret, "WebP", "the header of its picture makes no sense");
	return picture ? 0 : corrupt(ret, "WebP", "has no pixels");
}

/* --- BMP ------------------------------------------------------------------------------ */

enum { BMP_RGB = 0, BMP_RLE8 = 1, BMP_RLE4 = 2, BMP_BITFIELDS = 3, BMP_ALPHABITFIELDS = 6 };

/* Checks where the pixels lie, and how many bytes they take. */
static int check_bmp(enum check_level level, const struct bytes *file, struct check_finding *ret)
{
	/* The bits of a pixel that go with a method. */
	static const uint64_t known[] = {
		[BMP_RGB] = 1 << 1 | 1 << 4 | 1 << 8 | 1 << 16 | 1 << 24 | (uint64_t)1 << 32,
		[BMP_RLE8] = 1 << 8,
		[BMP_RLE4] = 1 << 4,
		[BMP_BITFIELDS] = 1 << 16 | 1 << 24 | (uint64_t)1 << 32,
		[BMP_ALPHABITFIELDS] = 1 << 16 | 1 << 24 | (uint64_t)1 << 32,
	};
	uint64_t row, count;
	struct bmp bmp;
	int r = bmp_header(file->data, file->len, &bmp);

	(void)level;
	if (r == -EINVAL)
		return corrupt(ret, "BMP", "its header makes no sense");
	if (r < 0 || file->len - 14 < bmp.header)
		return truncated(ret, "BMP", "its header");
	if (bmp.packing > BMP_ALPHABITFIELDS || bmp.bits > 32 ||
	    !(known[bmp.packing] >> bmp.bits & 1))
		return check_found(ret, DAMAGE_UNSUPPORTED, false,
				   "BMP: %u bits a pixel, packed by method %u", bmp.bits,
				   bmp.packing);
	if (bmp.pixels == 0) /* readers take what comes next for them */
		bmp.pixels = 14 + bmp.header;
	if (bmp.pixels < 14 + bmp.header)
		return corrupt(ret, "BMP", "its pixels would lie in its header");
	/* Each row is padded to four bytes. Readers do without that in the last row. */
	row = (uint64_t)bmp.width * bmp.bits;
	count = bmp.height ? (uint64_t)(bmp.height - 1) * ((row + 31) / 32 * 4) + (row + 7) / 8 : 0;
	if (bmp.height && (bmp.packing == BMP_RLE8 || bmp.packing == BMP_RLE4))
		count = bmp.packed;
	return check_pixels(file, "BMP", bmp.pixels, count, ret);
}

/* --- PNM ------------------------------------------------------------------------------ */

/* As check_bmp(). Samples that are written as text are not counted. */
static int check_pnm(enum check_level level, const struct bytes *file, struct check_finding *ret)
{
	struct pnm pnm;
	uint64_t samples, row;
	int r = pnm_header(file->data, file->len, &pnm);

	(void)level;
	if (r == -ENODATA)
		return truncated(ret, "PNM", "its header");
	if (r < 0)
		return corrupt(ret, "PNM", "its header makes no sense");
	samples = (uint64_t)pnm.width * pnm.channels;
	row = pnm.bits ? (samples + 7) / 8 : samples * (pnm.most > UINT8_MAX ? 2 : 1);
	return pnm.plain ? 0 : check_pixels(file, "PNM", pnm.samples, row * pnm.height, ret);
}

/* --- what a file claims to be --------------------------------------------------------- */

/* For the kinds that PIL reads, whatever its version and plugins. */
static int (*const checks[IMAGE_KINDS])(enum check_level level, const struct bytes *file,
					struct check_finding *ret) = {
	[IMAGE_JPEG] = check_jpeg, [IMAGE_PNG] = check_png, [IMAGE_GIF] = check_gif,
	[IMAGE_WEBP] = check_webp, [IMAGE_BMP] = check_bmp, [IMAGE_TIFF] = check_tiff,
	[IMAGE_PNM] = check_pnm,
};

/* --- what is no image ----------------------------------------------------------------- */

/* What real folders have under the names of images. */
static const char *look_of(const struct bytes *file)
{
	static const struct {
		unsigned at, len;
		const char *bytes, *what;
	} looks[] = {
		{0, 4, "\0\x05\x16\x07", "an AppleDouble file of macOS"},
		{0, 11, "version htt", "a Git LFS pointer; 'git lfs pull' fetches the file"},
		{0, 15, "/annex/objects/", "a git-annex pointer; 'git annex get' fetches the file"},
		{0, 5, "<?xml", "XML"},
		{0, 4, "<svg", "SVG"},
		{0, 1, "<", "HTML"},
		{0, 1, "{", "JSON"},
		{4, 7, "ftyphei", "HEIC"},
		{4, 8, "ftypmif1", "HEIF"},
		{4, 4, "ftyp", "a video"},
		{0, 4, "8BPS", "a Photoshop file"},
		{0, 4, "%PDF", "PDF"},
		{0, 4, "PK\3\4", "a zip archive"},
		{0, 2, "\x1f\x8b", "gzip"},
		{0, 6, "\x93NUMPY", "a NumPy array"},
	};

	if (file->data[0] == 0 && memcmp(file->data, file->data + 1, file->len - 1) == 0)
		return "nothing but zeros";
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (bytes_are(file, looks[i].at, looks[i].bytes, looks[i].len))
			return looks[i].what;
	return "no image";
}

/* Checks a file with the extension of an image that is not an image of a kind that is checked. */
static int check_other(enum check_level level, enum format_image named, enum format_image kind,
		       const struct bytes *file, struct check_finding *ret)
{
	if (file->len == 0)
		return check_found(ret, DAMAGE_EMPTY, false, "no bytes");
	/* What image_inspect() may not recognise: it is too short, or damaged. */
	for (const struct image_beginning *begin = image_beginnings; begin->bytes; begin++) {
		if (begin->at || !checks[begin->kind])
			continue;
		if (file->len < begin->len && memcmp(file->data, begin->bytes, file->len) == 0)
			return check_found(ret, DAMAGE_TRUNCATED, false, "%s: ends after %zu bytes",
					   image_kind_name(begin->kind), file->len);
		if (begin->kind == named && bytes_are(file, 0, begin->bytes, begin->len))
			return checks[named](level, file, ret);
	}
	if (bytes_are(file, 0, "\0\0\0\x0cjP  \r\n\x87\n", 12) ||
	    bytes_are(file, 0, "\xff\x4f\xff\x51", 4))
		return check_found(ret, DAMAGE_EXTENSION, true, "JPEG 2000 in a file named as %s",
				   image_kind_name(named));
	return check_found(ret, DAMAGE_NO_IMAGE, false, "holds %s",
			   kind ? image_kind_name(kind) : look_of(file));
}

/* --- all of it ------------------------------------------------------------------------ */

const char *check_damage(const char *word)
{
	static const char *const all[] = {
		DAMAGE_EMPTY,	DAMAGE_NO_IMAGE,  DAMAGE_TRUNCATED,   DAMAGE_CORRUPT,
		DAMAGE_NO_SIZE, DAMAGE_TOO_LARGE, DAMAGE_UNSUPPORTED, NULL,
	};
	size_t i = 0;

	while (all[i] && strcmp(all[i], word) != 0)
		i++;
	return all[i];
}

int check_image(enum check_level level, const char *path, const uint8_t *data, size_t len,
		struct check_finding *ret)
{
	enum format_image named = image_named(path, strlen(path));
	const struct bytes file = {.data = data, .len = len};
	struct dataset_image image;
	int r;

	*ret = (struct check_finding){0};
	if (level == CHECK_OFF)
		return 0;
	image_inspect(data, len, &image);
	/* A file that is not named as an image must begin as nothing else does. */
	if (named == IMAGE_UNKNOWN && image.kind != IMAGE_JPEG && image.kind != IMAGE_PNG &&
	    image.kind != IMAGE_GIF && image.kind != IMAGE_WEBP)
		return 0;
	if (!checks[image.kind]) {
		r = check_other(level, named, image.kind, &file, ret);
		ret->named_only = true;
		return r;
	}
	if (named != IMAGE_UNKNOWN && (uint64_t)image.width * image.height > MAX_PIXELS)
		return check_found(
			ret, DAMAGE_TOO_LARGE, false, "%s: %u x %u pixels: PIL takes at most %lu",
			image_kind_name(image.kind), image.width, image.height, MAX_PIXELS);
	r = checks[image.kind](level, &file, ret);
	if (r == 1) /* a text may begin as a GIF does */
		ret->named_only =
			image.width == 0 || (image.kind == IMAGE_GIF && named == IMAGE_UNKNOWN);
	if (r < 0 || (r == 1 && !ret->usable))
		return r;
	if (image.width == 0) {
		r = check_found(ret, DAMAGE_NO_SIZE, false, "%s: its header has no usable size",
				image_kind_name(image.kind));
		ret->named_only = false;
	} else if (r == 0 && named != IMAGE_UNKNOWN && named != image.kind) {
		r = check_found(ret, DAMAGE_EXTENSION, true, "%s in a file named as %s",
				image_kind_name(image.kind), image_kind_name(named));
	}
	if (level == CHECK_DECODE && image.kind != IMAGE_JPEG)
		ret->unsure = r == 0 || ret->usable;
	return r;
}
