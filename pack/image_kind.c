#include "pack/image_kind.h"
#include <string.h>

static const char *const kinds[] = {
	[IMAGE_UNKNOWN] = "-", [IMAGE_JPEG] = "JPEG",	[IMAGE_PNG] = "PNG",   [IMAGE_GIF] = "GIF",
	[IMAGE_WEBP] = "WebP", [IMAGE_BMP] = "BMP",	[IMAGE_TIFF] = "TIFF", [IMAGE_PNM] = "PNM",
	[IMAGE_AVIF] = "AVIF", [IMAGE_JXL] = "JPEG XL",
};
_Static_assert(sizeof(kinds) / sizeof(*kinds) == IMAGE_KINDS, "each kind has a row");

const struct image_beginning image_beginnings[] = {
	{IMAGE_JPEG, 0, 3, "\xff\xd8\xff", ".JPEG"},
	{IMAGE_PNG, 0, 8, "\x89PNG\r\n\x1a\n", NULL},
	{IMAGE_UNKNOWN, 0, 4, "\x89PNG", ".png"}, /* a damaged one, too */
	{IMAGE_GIF, 0, 6, "GIF87a", NULL},
	{IMAGE_GIF, 0, 6, "GIF89a", NULL},
	{IMAGE_UNKNOWN, 0, 4, "GIF8", ".gif"},
	{IMAGE_WEBP, 8, 4, "WEBP", ".webp"},
	{IMAGE_WEBP, 0, 4, "RIFF", NULL},
	{IMAGE_BMP, 0, 2, "BM", ".bmp"},
	{IMAGE_TIFF, 0, 4, "II*\0", ".tiff"},
	{IMAGE_TIFF, 0, 4, "MM\0*", ".tiff"},
	{IMAGE_TIFF, 0, 4, "II+\0", NULL}, /* BigTIFF */
	{IMAGE_TIFF, 0, 4, "MM\0+", NULL},
	{IMAGE_PNM, 0, 2, "P1", NULL},
	{IMAGE_PNM, 0, 2, "P2", NULL},
	{IMAGE_PNM, 0, 2, "P3", NULL},
	{IMAGE_PNM, 0, 2, "P4", NULL},
	{IMAGE_PNM, 0, 2, "P5", ".pgm"},
	{IMAGE_PNM, 0, 2, "P6", ".ppm"},
	{IMAGE_AVIF, 4, 8, "ftypavif", ".avif"},
	{IMAGE_JXL, 0, 2, "\xff\x0a", ".jxl"},
	{IMAGE_JXL, 4, 4, "JXL ", ".jxl"},
	{IMAGE_UNKNOWN, 4, 4, "jP  ", ".jp2"},
	{IMAGE_UNKNOWN, 0, 4, "\xff\x4f\xff\x51", ".j2k"},
	{IMAGE_UNKNOWN, 0, 0, NULL, NULL},
};

static const struct image_ending {
	const char *suffix;
	enum format_image kind;
	bool loads; /* ImageFolder takes it, or it is .gif */
} endings[] = {
	{"jpg", IMAGE_JPEG, true},	{"jpeg", IMAGE_JPEG, true}, {"png", IMAGE_PNG, true},
	{"webp", IMAGE_WEBP, true},	{"gif", IMAGE_GIF, true},   {"bmp", IMAGE_BMP, true},
	{"ppm", IMAGE_PNM, true},	{"pgm", IMAGE_PNM, true},   {"pbm", IMAGE_PNM, false},
	{"pnm", IMAGE_PNM, false},	{"tif", IMAGE_TIFF, true},  {"tiff", IMAGE_TIFF, true},
	{"avif", IMAGE_AVIF, false},	{"jxl", IMAGE_JXL, false},  {"jp2", IMAGE_UNKNOWN, false},
	{"heic", IMAGE_UNKNOWN, false},
};

const char *image_kind_name(unsigned kind)
{
	return kinds[kind < IMAGE_KINDS ? kind : IMAGE_UNKNOWN];
}

const char *image_suffix(const uint8_t *head, size_t len)
{
	const struct image_beginning *b = image_beginnings;

	while (b->bytes &&
	       (!b->suffix || len < b->at + b->len || memcmp(head + b->at, b->bytes, b->len) != 0))
		b++;
	return b->suffix;
}

static const struct image_ending *find_ending(const char *suffix, size_t len)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (len == strlen(endings[i].suffix) &&
		    strncasecmp(suffix, endings[i].suffix, len) == 0)
			return &endings[i];
	return NULL;
}

/* What comes after the last dot; 0: there is none. */
static size_t suffix_at(const char *name, size_t len)
{
	const char *dot = len ? memrchr(name, '.', len) : NULL;

	return dot ? (size_t)(dot + 1 - name) : 0;
}

enum format_image image_named(const char *name, size_t len)
{
	size_t at = suffix_at(name, len);
	const struct image_ending *ending = at ? find_ending(name + at, len - at) : NULL;

	return ending && ending->loads ? ending->kind : IMAGE_UNKNOWN;
}

bool image_is_named(const char *name, size_t len)
{
	size_t at = suffix_at(name, len);

	return find_ending(name + at, len - at);
}
