#include "pack/tool/image/metadata.h"

#include <string.h>

#define ORIENTATION 0x0112
#define SHORT	    3
#define MOST	    8 /* orientations */

static const char exif_magic[] = "Exif\0";
static const char xmp_magic[] = "http://ns.adobe.com/xap/1.0/";
static const char profile_magic[] = "ICC_PROFILE";

/* A window on bytes in one of the two orders. */
struct bytes {
	const uint8_t *data;
	size_t len;
	bool big;
};

/* 0 beyond the end. */
static uint32_t get(const struct bytes *bytes, size_t at, size_t size)
{
	uint32_t value = 0;

	if (at > bytes->len || size > bytes->len - at)
		return 0;
	for (size_t i = 0; i < size; i++)
		value = value << 8 | bytes->data[at + (bytes->big ? i : size - 1 - i)];
	return value;
}

/* The magic's NUL at the end counts. */
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

static unsigned sane(uint32_t orientation)
{
	return orientation >= 1 && orientation <= MOST ? orientation : 1;
}

/* A TIFF file: the first directory has it. */
static unsigned exif_orientation(const uint8_t *data, size_t len)
{
	struct bytes tiff = {.data = data, .len = len};
	uint32_t fields;
	size_t at;

	if (len < 8 || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0))
		return 1;
	tiff.big = data[0] == 'M';
	at = get(&tiff, 4, 4);
	fields = get(&tiff, at, 2);
	at += 2;
	for (uint32_t i = 0; i < fields && at < len; i++, at += 12) {
		if (get(&tiff, at, 2) == ORIENTATION && get(&tiff, at + 2, 2) == SHORT)
			return sane(get(&tiff, at + 8, 2));
	}
	return 1;
}

/* tiff:Orientation="6", or <tiff:Orientation>6. */
static unsigned xmp_orientation(const uint8_t *data, size_t len)
{
	static const char name[] = "tiff:Orientation";
	const uint8_t *end = data + len;
	const uint8_t *at = memmem(data, len, name, sizeof(name) - 1);

	if (!at)
		return 1;
	at += sizeof(name) - 1;
	while (at < end && (*at == '=' || *at == '"' || *at == '\'' || *at == '>'))
		at++;
	return at < end && *at >= '0' && *at <= '9' ? sane(*at - '0') : 1;
}

unsigned metadata_orientation(const uint8_t *payload, size_t len)
{
	if (metadata_is_exif(payload, len))
		return exif_orientation(payload + sizeof(exif_magic), len - sizeof(exif_magic));
	if (begins(payload, len, xmp_magic, sizeof(xmp_magic)))
		return xmp_orientation(payload + sizeof(xmp_magic), len - sizeof(xmp_magic));
	return 1;
}

/* A profile is a header of 128 bytes, a count, and that many tags of name, offset and size. The
 * description of version 2 is "desc", four bytes, the length of the text, the text. */
static bool is_described_as(const struct bytes *profile, const char *text, size_t len)
{
	uint32_t tags = get(profile, 128, 4);

	for (size_t i = 0, at = 132; i < tags && at < profile->len; i++, at += 12) {
		size_t value = get(profile, at + 4, 4);

		if (get(profile, at, 4) != 0x64657363)
			continue;
		return get(profile, value, 4) == 0x64657363 && get(profile, value + 8, 4) == len &&
		       value + 12 < profile->len && len <= profile->len - value - 12 &&
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
