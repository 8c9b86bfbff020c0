#include "pack/tool/image/metadata.h"

#include "pack/tool/image/tiff.h"

#define ORIENTATION 0x0112
#define MOST	    8 /* orientations */

static const char exif_magic[] = "Exif\0";
static const char xmp_magic[] = "http://ns.adobe.com/xap/1.0/";
static const char profile_magic[] = "ICC_PROFILE";

/* The NUL at the end of the magic counts. */
static bool begins(const uint8_t *payload, size_t len, const char *magic, size_t size)
{
	return len >= size && memcmp(payload, magic, size) == 0;
}

bool metadata_is_exif(const uint8_t *payload, size_t len)
{
	return begins(payload, len, exif_magic, sizeof(exif_magic));
}

bool metadata_is_profile(const uint8_t *payload, size_t len)
{
	return begins(payload, len, profile_magic, sizeof(profile_magic));
}

static unsigned sane(uint64_t orientation)
{
	return orientation >= 1 && orientation <= MOST ? (unsigned)orientation : 1;
}

/* A TIFF file: the first directory has it. */
static unsigned exif_orientation(const uint8_t *data, size_t len)
{
	const struct bytes exif = {.data = data, .len = len};
	struct tiff tiff;

	if (!tiff_begins(&exif, &tiff))
		return 1;
	return sane(tiff_number(&tiff, tiff_directory(&tiff), ORIENTATION));
}

/* tiff:Orientation="6", or <tiff:Orientation>6. */
static unsigned xmp_orientation(const uint8_t *data, size_t len)
{
	static const char name[] = "tiff:Orientation";
	const uint8_t *end = data + len;
	const uint8_t *at = len ? memmem(data, len, name, sizeof(name) - 1) : NULL;

	if (!at)
		return 1;
	at += sizeof(name) - 1;
	while (at < end && (*at == '=' || *at == '"' || *at == '\'' || *at == '>'))
		at++;
	return at < end && *at >= '0' && *at <= '9' ? sane((uint32_t)(*at - '0')) : 1;
}

unsigned metadata_orientation(const uint8_t *payload, size_t len)
{
	if (metadata_is_exif(payload, len))
		return exif_orientation(payload + sizeof(exif_magic), len - sizeof(exif_magic));
	if (begins(payload, len, xmp_magic, sizeof(xmp_magic)))
		return xmp_orientation(payload + sizeof(xmp_magic), len - sizeof(xmp_magic));
	return 1;
}

/* A profile is a header of 128 bytes, a count, and as many tags with name, offset and size. The
 * description of version 2 is "desc", four bytes, the length of the text, the text. */
static bool is_described_as(const struct bytes *profile, const char *text, size_t len)
{
	uint32_t tags = bytes_get(profile, 128, 4);

	for (size_t i = 0, at = 132; i < tags && at < profile->len; i++, at += 12) {
		size_t value = bytes_get(profile, at + 4, 4);

		if (bytes_get(profile, at, 4) != 0x64657363)
			continue;
		return bytes_get(profile, value, 4) == 0x64657363 &&
		       bytes_get(profile, value + 8, 4) == len && value + 12 < profile->len &&
		       len <= profile->len - value - 12 &&
		       memcmp(profile->data + value + 12, text, len) == 0;
	}
	return false;
}

bool metadata_is_srgb(const uint8_t *payload, size_t len)
{
	static const char name[] = "sRGB IEC61966-2.1";
	const size_t head = sizeof(profile_magic) + 2; /* number of the part, and of all */
	struct bytes profile = {.big = true};

	if (!metadata_is_profile(payload, len) || len < head || payload[head - 1] != 1)
		return false;
	profile.data = payload + head;
	profile.len = len - head;
	return is_described_as(&profile, name, sizeof(name));
}
