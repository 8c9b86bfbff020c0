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

unsigned metadata_orientation(const uint8_t *payload, size_t len)
{
	static const char name[] = "tiff:Orientation";
	const uint8_t *end = payload + len, *at;
	uint64_t found = 1;

	if (metadata_is_exif(payload, len)) { /* a TIFF file: the first directory has it */
		const struct bytes exif = {.data = payload + sizeof(exif_magic),
					   .len = len - sizeof(exif_magic)};
		struct tiff tiff;

		if (tiff_begins(&exif, &tiff))
			found = tiff_number(&tiff, tiff_directory(&tiff), ORIENTATION);
	} else if (begins(payload, len, xmp_magic, sizeof(xmp_magic))) {
		/* tiff:Orientation="6", or <tiff:Orientation>6. */
		at = memmem(payload, len, name, sizeof(name) - 1);
		at = at ? at + sizeof(name) - 1 : end;
		while (at < end && (*at == '=' || *at == '"' || *at == '\'' || *at == '>'))
			at++;
		if (at < end && *at >= '0' && *at <= '9')
			found = (uint64_t)*at - '0';
	}
	return found >= 1 && found <= MOST ? (unsigned)found : 1;
}

/* A profile is a header of 128 bytes, a count, and as many tags with name, offset and size. The
 * description of version 2 is "desc", four bytes, the length of the text, the text. */
bool metadata_is_srgb(const uint8_t *payload, size_t len)
{
	static const char name[] = "sRGB IEC61966-2.1";
	const size_t head = sizeof(profile_magic) + 2; /* number of the part, and of all */
	struct bytes profile = {.big = true};
	uint32_t tags;

	if (!metadata_is_profile(payload, len) || len < head || payload[head - 1] != 1)
		return false;
	profile.data = payload + head;
	profile.len = len - head;
	tags = bytes_get(&profile, 128, 4);
	for (size_t i = 0, at = 132; i < tags && at < profile.len; i++, at += 12) {
		size_t value = bytes_get(&profile, at + 4, 4);

		if (bytes_get(&profile, at, 4) == 0x64657363)
			return bytes_get(&profile, value, 4) == 0x64657363 &&
			       bytes_get(&profile, value + 8, 4) == sizeof(name) &&
			       bytes_are(&profile, value + 12, name, sizeof(name));
	}
	return false;
}
