/* What segments beside the pixels say: pack/tool/image/metadata.h. */
#include "base/scope.h"
#include "pack/tool/image/metadata.h"
#include "tests/unit/test.h"
#include <string.h>

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

#define EXIF	"Exif\0\0"
#define LITTLE	EXIF "II*\0\x08\0\0\0"
#define BIG	EXIF "MM\0*\0\0\0\x08"
#define XMP	"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta><rdf:RDF><rdf:Description "
#define PROFILE "ICC_PROFILE\0\1\1"

/* Looks at a copy of exactly `len` bytes, so that a sanitizer sees each byte beyond. */
static unsigned orientation(const uint8_t *data, size_t len)
{
	SCOPE_FREE uint8_t *copy = malloc(len ? len : 1);
	unsigned result;

	assert_non_null(copy);
	memcpy(copy, data, len);
	result = metadata_orientation(copy, len);
	(void)metadata_is_srgb(copy, len);
	assert_in_range(result, 1, 8);
	return result;
}

TEST(exif_or_xmp_tells_how_a_picture_is_turned)
{
	static const struct {
		const uint8_t *data;
		size_t len;
		unsigned expected;
	} rows[] = {
		{BYTES(LITTLE "\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"), 6},
		{BYTES(BIG "\0\1\1\x12\0\3\0\0\0\1\0\x08\0\0"), 8},
		{BYTES(BIG "\0\2\1\x0f\0\2\0\0\0\4NoX\0\1\x12\0\3\0\0\0\1\0\3\0\0"), 3},
		{BYTES(XMP "tiff:Orientation=\"6\"/>"), 6},
		{BYTES(XMP "><tiff:Orientation>3</tiff:Orientation>"), 3},
		{BYTES(XMP "tiff:Orientation=\"1\"/>"), 1},
		/* What makes no sense means no turning. */
		{BYTES(XMP "tiff:Orientation"), 1},
		{BYTES(""), 1},
		{BYTES(EXIF), 1},
		{BYTES(EXIF "II*\0"), 1},
		{BYTES(LITTLE "\1\0\x12\1\3\0\1\0\0\0\0\0\0\0"), 1},
		{BYTES(LITTLE "\1\0\x12\1\3\0\1\0\0\0\x09\0\0\0"), 1},
		{BYTES(LITTLE "\1\0\x12\1\2\0\1\0\0\0\6\0\0\0"), 1},
		{BYTES(EXIF "II*\0\xff\xff\xff\xff\1\0\x12\1\3\0"), 1},
		{BYTES(LITTLE "\xff\xff\x13\1\3\0\1\0\0\0\6\0\0\0"), 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t len = 0; len <= rows[i].len; len++) {
			unsigned found = orientation(rows[i].data, len);

			if (len == rows[i].len && found != rows[i].expected)
				fail_msg("row %zu: %u", i, found);
		}
}

/* A profile with one tag, the description. */
static size_t make_profile(uint8_t *to, const char *name)
{
	static const char tag[] = "\0\0\0\1desc\0\0\0\x90\0\0\0\x40";
	size_t head = sizeof(PROFILE) - 1, len = strlen(name) + 1;

	memcpy(to, PROFILE, head);
	memset(to + head, 0, 128);
	memcpy(to + head + 128, tag, 16);
	memcpy(to + head + 144, "desc\0\0\0\0\0\0\0", 11);
	to[head + 155] = (uint8_t)len;
	memcpy(to + head + 156, name, len);
	return head + 156 + len;
}

TEST(the_profile_of_srgb_is_known_by_its_description)
{
	uint8_t profile[300];
	size_t len = make_profile(profile, "sRGB IEC61966-2.1");

	assert_true(metadata_is_profile(profile, len));
	assert_false(metadata_is_exif(profile, len));
	assert_true(metadata_is_srgb(profile, len));
	for (size_t cut = 0; cut < len; cut++) {
		SCOPE_FREE uint8_t *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, profile, cut);
		assert_false(metadata_is_srgb(copy, cut));
	}
	profile[sizeof(PROFILE) - 2] = 2; /* the first part of two */
	assert_false(metadata_is_srgb(profile, len));
	len = make_profile(profile, "Adobe RGB (1998)");
	assert_true(metadata_is_profile(profile, len));
	assert_false(metadata_is_srgb(profile, len));
}
