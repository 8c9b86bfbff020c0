#include "pack/tool/image/check.h"

#include "pack/dataset.h"
#include "pack/tool/image/check_kinds.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/jpeg_check.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Of more, PIL raises DecompressionBombError: twice its MAX_IMAGE_PIXELS. */
#define MAX_PIXELS ((uint64_t)2 * (1024 * 1024 * 1024 / 4 / 3))

int check_found(struct check_finding *ret, const char *damage, bool usable, const char *format, ...)
{
	va_list args;

	ret->damage = damage;
	ret->usable = usable;
	va_start(args, format);
	vsnprintf(ret->text, sizeof(ret->text), format, args);
	va_end(args);
	return 1;
}

/* --- what a file claims to be --------------------------------------------------------- */

/* How files begin that image_inspect() may not know for what they are: too short, or damaged. */
static const struct beginning {
	enum format_image kind;
	unsigned len;
	const char *bytes;
} beginnings[] = {
	{IMAGE_JPEG, 3, "\xff\xd8\xff"},
	{IMAGE_PNG, 8, "\x89PNG\r\n\x1a\n"},
	{IMAGE_GIF, 6, "GIF87a"},
	{IMAGE_GIF, 6, "GIF89a"},
	{IMAGE_WEBP, 4, "RIFF"},
	{IMAGE_BMP, 2, "BM"},
	{IMAGE_TIFF, 4, "II*\0"},
	{IMAGE_TIFF, 4, "MM\0*"},
	{IMAGE_TIFF, 4, "II+\0"}, /* BigTIFF */
	{IMAGE_TIFF, 4, "MM\0+"},
	{IMAGE_PNM, 2, "P1"},
	{IMAGE_PNM, 2, "P2"},
	{IMAGE_PNM, 2, "P3"},
	{IMAGE_PNM, 2, "P4"},
	{IMAGE_PNM, 2, "P5"},
	{IMAGE_PNM, 2, "P6"},
};

/* --- each kind ------------------------------------------------------------------------ */

static int check_kind(enum check_level level, enum format_image kind, const uint8_t *data,
		      size_t len, struct check_finding *ret)
{
	switch (kind) {
	case IMAGE_JPEG:
		return jpeg_check(level, data, len, ret);
	case IMAGE_PNG:
		return check_png(level, data, len, ret);
	case IMAGE_GIF:
		return check_gif(data, len, ret);
	case IMAGE_WEBP:
		return check_webp(data, len, ret);
	case IMAGE_BMP:
		return check_bmp(data, len, ret);
	case IMAGE_TIFF:
		return check_tiff(data, len, ret);
	case IMAGE_PNM:
		return check_pnm(level, data, len, ret);
	default:
		return 0;
	}
}

/* --- what is no image ----------------------------------------------------------------- */

static bool starts(const uint8_t *data, size_t len, size_t at, const char *bytes, size_t count)
{
	return at + count <= len && memcmp(data + at, bytes, count) == 0;
}

static bool all_zero(const uint8_t *data, size_t len)
{
	return data[0] == 0 && memcmp(data, data + 1, len - 1) == 0;
}

/* What is found under the names of images in real folders. */
static const char *look_of(const uint8_t *data, size_t len)
{
	static const struct {
		unsigned at, len;
		const char *bytes, *what;
	} looks[] = {
		{0, 4, "\0\x05\x16\x07", "an AppleDouble file of macOS"},
		{0, 11, "version htt", "a Git LFS pointer"},
		{0, 5, "<?xml", "XML"},
		{0, 4, "<svg", "SVG"},
		{0, 1, "<", "HTML"},
		{0, 1, "{", "JSON"},
		{4, 8, "ftypavif", "AVIF"},
		{4, 7, "ftyphei", "HEIC"},
		{4, 8, "ftypmif1", "HEIF"},
		{4, 4, "ftyp", "a video"},
		{0, 4, "8BPS", "a Photoshop file"},
		{0, 4, "%PDF", "PDF"},
		{0, 4, "PK\3\4", "a zip archive"},
		{0, 2, "\x1f\x8b", "gzip"},
		{0, 6, "\x93NUMPY", "a NumPy array"},
	};

	if (all_zero(data, len))
		return "nothing but zeros";
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (starts(data, len, looks[i].at, looks[i].bytes, looks[i].len))
			return looks[i].what;
	return "no image";
}

static bool is_jpeg2000(const uint8_t *data, size_t len)
{
	return starts(data, len, 0, "\0\0\0\x0cjP  \r\n\x87\n", 12) ||
	       starts(data, len, 0, "\xff\x4f\xff\x51", 4);
}

/* A file with an image's extension whose kind is not known. */
static int check_unknown(enum check_level level, enum format_image named, const uint8_t *data,
			 size_t len, struct check_finding *ret)
{
	if (len == 0)
		return check_found(ret, DAMAGE_EMPTY, false, "no bytes");
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		const struct beginning *begin = &beginnings[i];

		if (len < begin->len && memcmp(data, begin->bytes, len) == 0)
			return check_found(ret, DAMAGE_TRUNCATED, false, "%s: ends after %zu bytes",
					   format_image_name(begin->kind), len);
		if (begin->kind == named && starts(data, len, 0, begin->bytes, begin->len))
			return check_kind(level, named, data, len, ret);
	}
	if (is_jpeg2000(data, len))
		return check_found(ret, DAMAGE_EXTENSION, true, "JPEG 2000 in a file named as %s",
				   format_image_name(named));
	return check_found(ret, DAMAGE_NO_IMAGE, false, "holds %s", look_of(data, len));
}

/* --- all of it ------------------------------------------------------------------------ */

/* The second half of what there is to say about an image that is sound so far. */
static int check_name(enum format_image named, const struct dataset_image *image,
		      struct check_finding *ret)
{
	if (image->width == 0)
		return check_found(ret, DAMAGE_NO_SIZE, false, "%s: its header has no usable size",
				   format_image_name(image->kind));
	if (named != IMAGE_UNKNOWN && named != image->kind)
		return check_found(ret, DAMAGE_EXTENSION, true, "%s in a file named as %s",
				   format_image_name(image->kind), format_image_name(named));
	return 0;
}

int check_image(enum check_level level, const char *path, const uint8_t *data, size_t len,
		struct check_finding *ret)
{
	enum format_image named = image_named(path, strlen(path));
	struct dataset_image image;
	struct check_finding found;
	int r;

	if (level == CHECK_OFF)
		return 0;
	image_inspect(data, len, &image);
	if (image.kind == IMAGE_UNKNOWN)
		return named == IMAGE_UNKNOWN ? 0 : check_unknown(level, named, data, len, ret);
	if (named != IMAGE_UNKNOWN && (uint64_t)image.width * image.height > MAX_PIXELS)
		return check_found(
			ret, DAMAGE_TOO_LARGE, false, "%s: %u x %u pixels: PIL takes at most %lu",
			format_image_name(image.kind), image.width, image.height, MAX_PIXELS);
	r = check_kind(level, image.kind, data, len, ret);
	if (r < 0 || (r == 1 && !ret->usable))
		return r;
	if (check_name(named, &image, &found) && (r == 0 || !found.usable)) {
		*ret = found;
		return 1;
	}
	return r;
}
