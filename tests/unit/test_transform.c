/* JPEGs on their way into a pack: pack/tool/image/transform.h, and with it jpeg.h and bitmap.h.
 * Held against PIL in tests/mount/test_transform.py; here is what PIL does not write, and damage.
 */
#include "base/le.h"
#include "base/scope.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/jpeg.h"
#include "pack/tool/image/transform.h"
#include "tests/unit/jpeg_fixture.h"
#include "tests/unit/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TURNED	     "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"
#define PROFILE	     "ICC_PROFILE\0\1\1a profile that nobody knows"

static const struct jpeg_recipe colour = {.width = 100, .height = 60, .colour = JCS_RGB};
static const struct jpeg_recipe grey = {.width = 61, .height = 90, .colour = JCS_GRAYSCALE};

static int transform(const struct transform *how, const struct buf *from, struct buf *to,
		     struct err *err)
{
	SCOPE_FREE uint8_t *copy = malloc(from->len ? from->len : 1);

	assert_non_null(copy);
	memcpy(copy, from->data, from->len);
	to->len = 0;
	*err = (struct err){0};
	return transform_image(how, copy, from->len, to, err);
}

/* It is transformed, into an image of this kind and size. */
static void expect_made(const struct transform *how, const struct buf *from, struct buf *to,
			const struct dataset_image *expected)
{
	struct dataset_image image;
	struct err err;
	int r = transform(how, from, to, &err);

	if (r != 0)
		fail_msg("%d: %s", r, err.text);
	assert_string_equal(err.text, "");
	image_inspect((const uint8_t *)to->data, to->len, &image);
	assert_int_equal(image.kind, expected->kind);
	assert_int_equal(image.width, expected->width);
	assert_int_equal(image.height, expected->height);
}

#define MADE(kind_, width_, height_)                                    \
	&(struct dataset_image)                                         \
	{                                                               \
		.kind = (kind_), .width = (width_), .height = (height_) \
	}

static void expect_left(const struct transform *how, const struct buf *from, const char *why)
{
	SCOPE(buf_release) struct buf to = BUF_INIT;
	struct err err;

	assert_int_equal(transform(how, from, &to, &err), 1);
	assert_string_equal(err.text, why);
}

static void expect_bad(const struct transform *how, const struct buf *from, const char *why)
{
	SCOPE(buf_release) struct buf to = BUF_INIT;
	struct err err;

	assert_int_equal(transform(how, from, &to, &err), -EBADMSG);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not have '%s'", err.text, why);
}

static void expect_same_pixels(const struct buf *a, const struct buf *b)
{
	SCOPE(pixels_release) struct pixels left = {0};
	SCOPE(pixels_release) struct pixels right = {0};

	assert_int_equal(jpeg_decode((const uint8_t *)a->data, a->len, 1, &left, NULL), 0);
	assert_int_equal(jpeg_decode((const uint8_t *)b->data, b->len, 1, &right, NULL), 0);
	assert_int_equal(left.width, right.width);
	assert_int_equal(left.height, right.height);
	assert_int_equal(left.channels, right.channels);
	assert_memory_equal(left.data, right.data, left.height * pixels_stride(&left));
}

static bool contains(const struct buf *buf, const char *bytes, size_t len)
{
	return memmem(buf->data, buf->len, bytes, len) != NULL;
}

static struct jpeg_head head_of(const struct buf *buf)
{
	struct jpeg_head head;

	assert_int_equal(jpeg_head_read((const uint8_t *)buf->data, buf->len, &head, NULL), 0);
	return head;
}

/* --- sizes ---------------------------------------------------------------------------- */

TEST(sizes_are_those_of_torchvision)
{
	static const struct {
		uint32_t resize, max_side, width, height, to_width, to_height;
	} cases[] = {
		{256, 0, 500, 375, 341, 256},	{256, 0, 375, 500, 256, 341},
		{256, 0, 256, 900, 256, 900},	{256, 0, 300, 200, 300, 200},
		{256, 0, 257, 257, 256, 256},	{0, 400, 500, 375, 400, 300},
		{0, 500, 500, 375, 500, 375},	{0, 3, 1000, 1, 3, 1},
		{256, 300, 500, 375, 300, 225}, {256, 400, 375, 500, 256, 341},
		{1, 0, 65500, 2, 32750, 1},	{0, 0, 7, 9, 7, 9},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct transform how = {.resize = cases[i].resize,
					      .max_side = cases[i].max_side};
		uint32_t width = cases[i].width, height = cases[i].height;

		transform_size(&how, &width, &height);
		if (width != cases[i].to_width || height != cases[i].to_height)
			fail_msg("%zu: %ux%u", i, width, height);
	}
}

/* Whatever the sides, weights come to 1: nothing wraps around at white. */
TEST(white_stays_white)
{
	static const uint32_t sides[][2] = {{65500, 1}, {65500, 3},  {65500, 256}, {65500, 65499},
					    {2, 1},	{1000, 999}, {333, 7},	   {1, 1}};

	for (size_t i = 0; i < COUNT(sides); i++) {
		const struct resize how = {.from_width = sides[i][0],
					   .from_height = 1,
					   .shrink = 1,
					   .width = sides[i][1],
					   .height = 1};
		SCOPE(pixels_release) struct pixels from = {0};
		SCOPE(pixels_release) struct pixels to = {0};

		assert_int_equal(pixels_init(&from, sides[i][0], 1, 1), 0);
		memset(from.data, 255, sides[i][0]);
		assert_int_equal(resize(&how, &from, &to), 0);
		for (uint32_t x = 0; x < sides[i][1]; x++)
			assert_int_equal(to.data[x], 255);
	}
}

/* --- what is not touched -------------------------------------------------------------- */

static uint8_t *frame_header(const struct buf *buf)
{
	uint8_t *at = memmem(buf->data, buf->len, "\xff\xc0\0", 3);

	if (!at)
		at = memmem(buf->data, buf->len, "\xff\xc2\0", 3);
	assert_non_null(at);
	return at;
}

TEST(a_kind_that_libjpeg_does_not_know_stays)
{
	const struct transform how = {.resize = 1};
	SCOPE(buf_release) struct buf from = BUF_INIT;

	jpeg_fixture(&colour, &from);
	frame_header(&from)[4] = 12; /* bits a sample */
	expect_left(&how, &from, "libjpeg: Unsupported JPEG data precision 12");
}

/* --- beside the pixels ---------------------------------------------------------------- */

#define BYTES(text) (text), sizeof(text) - 1
#define EXIF	    "Exif\0\0"
#define LITTLE	    EXIF "II*\0\x08\0\0\0"
#define BIG	    EXIF "MM\0*\0\0\0\x08"
#define XMP	    "http://ns.adobe.com/xap/1.0/\0<x:xmpmeta><rdf:RDF><rdf:Description "

/* Whole, and cut anywhere. */
TEST(exif_or_xmp_tells_how_a_picture_is_turned)
{
	static const struct {
		const char *data;
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

	for (size_t i = 0; i < COUNT(rows); i++) {
		for (size_t len = 0; len <= rows[i].len; len++) {
			const struct jpeg_recipe recipe = {
				.width = 8,
				.height = 8,
				.colour = JCS_GRAYSCALE,
				.segments = {{JPEG_APP0 + 1, rows[i].data, (unsigned)len}}};
			SCOPE(buf_release) struct buf jpeg = BUF_INIT;
			SCOPE(jpeg_head_release) struct jpeg_head head = {0};

			jpeg_fixture(&recipe, &jpeg);
			head = head_of(&jpeg);
			assert_in_range(head.orientation, 1, 8);
			if (len == rows[i].len && head.orientation != rows[i].expected)
				fail_msg("row %zu: %u", i, head.orientation);
		}
	}
}

/* A profile with one tag, the description; a part of `parts`, cut off by so many bytes. */
static size_t segments_kept(const char *name, uint8_t parts, size_t cut)
{
	char profile[300] = "ICC_PROFILE\0\1";
	size_t head = 14, len = strlen(name) + 1;
	struct jpeg_recipe recipe = {.width = 8, .height = 8, .colour = JCS_GRAYSCALE};
	SCOPE(buf_release) struct buf jpeg = BUF_INIT;
	SCOPE(jpeg_head_release) struct jpeg_head found = {0};

	profile[13] = (char)parts;
	memcpy(profile + head + 128, "\0\0\0\1desc\0\0\0\x90\0\0\0\x40", 16);
	memcpy(profile + head + 144, "desc\0\0\0\0\0\0\0", 11);
	profile[head + 155] = (char)len;
	memcpy(profile + head + 156, name, len);
	recipe.segments[0] =
		(struct jpeg_segment){JPEG_APP0 + 2, profile, (unsigned)(head + 156 + len - cut)};
	jpeg_fixture(&recipe, &jpeg);
	found = head_of(&jpeg);
	return found.segments.len;
}

TEST(the_profile_of_srgb_is_known_by_its_description_and_not_kept)
{
	static const char srgb[] = "sRGB IEC61966-2.1";

	assert_int_equal(segments_kept(srgb, 1, 0), 0);
	for (size_t cut = 1; cut < 170; cut++)
		assert_true(segments_kept(srgb, 1, cut) > 0);
	assert_true(segments_kept(srgb, 2, 0) > 0);
	assert_true(segments_kept("Adobe RGB (1998)", 1, 0) > 0);
}

/* --- optimized ------------------------------------------------------------------------ */

TEST(all_kinds_are_optimized_without_loss)
{
	static const struct jpeg_recipe recipes[] = {
		{100, 60, JCS_RGB, .plain = true},
		{100, 60, JCS_RGB, .across = 1, .down = 1, .plain = true},
		{101, 59, JCS_RGB, .across = 2, .down = 1, .plain = true},
		{101, 59, JCS_RGB, .across = 1, .down = 2, .plain = true},
		{103, 61, JCS_RGB, .across = 4, .down = 1, .plain = true},
		{100, 60, JCS_RGB, .progressive = true},
		{100, 60, JCS_GRAYSCALE, .plain = true},
		{33, 1, JCS_RGB, .progressive = true},
		{1, 35, JCS_GRAYSCALE, .progressive = true},
		{100, 60, JCS_RGB, .restart_rows = 1, .plain = true},
		{100, 60, JCS_RGB, .arithmetic = true},
		{100, 60, JCS_RGB, .apart = true},
		{100, 60, JCS_RGB, .quality = 1, .progressive = true},
	};
	const struct transform how = {.optimize = true};

	for (size_t i = 0; i < COUNT(recipes); i++) {
		SCOPE(buf_release) struct buf from = BUF_INIT, to = BUF_INIT;
		SCOPE(jpeg_head_release) struct jpeg_head head = {0};

		jpeg_fixture(&recipes[i], &from);
		expect_made(&how, &from, &to,
			    MADE(IMAGE_JPEG, recipes[i].width, recipes[i].height));
		expect_same_pixels(&from, &to);
		head = head_of(&to);
		assert_true(head.baseline);
		expect_left(&how, &to, "");
	}
}

static const struct jpeg_recipe turned = {
	.width = 100,
	.height = 60,
	.colour = JCS_RGB,
	.plain = true,
	.segments = {SEGMENT(JPEG_APP0 + 1, TURNED), SEGMENT(JPEG_APP0 + 2, PROFILE),
		     SEGMENT(JPEG_COM, "hello")},
};

TEST(segments_survive_optimizing_byte_for_byte)
{
	SCOPE(buf_release) struct buf from = BUF_INIT, to = BUF_INIT;

	jpeg_fixture(&turned, &from);
	expect_made(&(struct transform){.optimize = true}, &from, &to, MADE(IMAGE_JPEG, 100, 60));
	/* All up to the tables, JFIF's segment included. */
	assert_memory_equal(
		from.data, to.data,
		(size_t)((char *)memmem(from.data, from.len, "hello", 5) + 5 - from.data));
}

TEST(further_pictures_behind_the_end_are_left_out_with_their_index)
{
	struct jpeg_recipe recipe = colour;
	SCOPE(buf_release) struct buf from = BUF_INIT, to = BUF_INIT;

	recipe.plain = true;
	recipe.segments[0] = (struct jpeg_segment)SEGMENT(JPEG_APP0 + 2, "MPF\0index");
	jpeg_fixture(&recipe, &from);
	assert_int_equal(buf_adds(&from, "and another picture"), 0);
	expect_made(&(struct transform){.optimize = true}, &from, &to, MADE(IMAGE_JPEG, 100, 60));
	assert_false(contains(&to, "MPF", 4));
	assert_false(contains(&to, "another", 7));
	expect_same_pixels(&from, &to);
}

/* A decoder smooths what it has of such an image, and would not if it were baseline. */
TEST(a_progressive_image_without_its_last_scan_stays)
{
	struct jpeg_recipe recipe = colour;
	SCOPE(buf_release) struct buf from = BUF_INIT;
	char *last = NULL;

	recipe.progressive = true;
	jpeg_fixture(&recipe, &from);
	for (char *at = from.data; at;
	     at = memmem(at, (size_t)(from.data + from.len - at), "\xff\xda", 2))
		last = at++;
	from.len = (size_t)(last - from.data);
	assert_int_equal(buf_add(&from, "\xff\xd9", 2), 0);
	expect_left(&(struct transform){.optimize = true}, &from,
		    "a progressive JPEG without its last scans");
}

/* A table of quantization steps may be replaced between scans: here the same one is sent again,
 * with other steps. No single scan can say so. */
TEST(an_image_with_other_steps_in_a_later_scan_stays)
{
	static const struct jpeg_recipe apart = {100, 60, JCS_RGB, .plain = true, .apart = true};
	SCOPE(buf_release) struct buf from = BUF_INIT, made = BUF_INIT;
	char steps[2 + 2 + 1 + 64] = "\xff\xdb\x00\x43\x01"; /* table 1 */
	char *scan;
	size_t before;

	jpeg_fixture(&apart, &from);
	memset(steps + 5, 9, 64);
	/* In front of the third component's scan. */
	for (scan = from.data; memcmp(scan, "\xff\xda\x00\x08\x01\x03", 6) != 0;)
		scan++;
	before = (size_t)(scan - from.data);
	assert_int_equal(buf_add(&made, from.data, before), 0);
	assert_int_equal(buf_add(&made, steps, sizeof(steps)), 0);
	assert_int_equal(buf_add(&made, scan, from.len - before), 0);
	expect_left(&(struct transform){.optimize = true}, &made,
		    "libjpeg: Cannot transcode due to multiple use of quantization table 1");
}

/* --- damage --------------------------------------------------------------------------- */

static const struct transform works[] = {{.resize = 30},
					 {.store = STORE_BMP},
					 {.store = STORE_JPEG, .quality = 50},
					 {.optimize = true}};

TEST(an_image_that_is_cut_off_is_never_transformed)
{
	static const bool progressive[] = {false, true};
	struct jpeg_recipe recipe = colour;

	for (size_t i = 0; i < COUNT(works) * 2; i++) {
		SCOPE(buf_release) struct buf from = BUF_INIT;

		recipe.progressive = progressive[i % 2];
		jpeg_fixture(&recipe, &from);
		for (from.len--; from.len > 2; from.len -= 1 + from.len / 100)
			expect_bad(&works[i / 2], &from, "libjpeg: ");
	}
}

/* The same pixels come out as of the file without these bytes. */
TEST(what_decoders_pass_over_does_no_harm)
{
	static const struct transform hows[] = {
		{.resize = 30}, {.store = STORE_BMP}, {.resize = 7}};
	SCOPE(buf_release) struct buf sound = BUF_INIT, odd = BUF_INIT;
	SCOPE(buf_release) struct buf want = BUF_INIT, got = BUF_INIT;
	struct err err;

	jpeg_fixture(&colour, &sound);
	buf_add(&odd, sound.data, 20); /* with the segment of JFIF */
	buf_add(&odd, "\0\0\0\0\0\0 stray", 12);
	buf_add(&odd, sound.data + 20, sound.len - 22);
	buf_add(&odd, "\0\0\0\0\0\0\0\0\0\0\0\0\xff\xd9", 14);
	for (size_t i = 0; i < COUNT(hows); i++) {
		assert_int_equal(transform(&hows[i], &sound, &want, &err), 0);
		assert_int_equal(transform(&hows[i], &odd, &got, &err), 0);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, got.len);
	}
	assert_int_equal(transform(&(struct transform){.optimize = true}, &odd, &got, &err), 0);
	expect_same_pixels(&sound, &got);
}

/* Where it is to become small, libjpeg may need all of it, in some layouts. */
TEST(a_file_that_claims_gigapixels_is_refused)
{
	static const char pixels[] =
		"65500x65500 pixels need 12 GiB of memory, and 1 GiB are the "
		"most for one image";
	static const char decoding[] = "takes over 1 GiB of memory to decode";
	static const struct {
		struct jpeg_recipe recipe;
		struct transform how;
		const char *why;
	} rows[] = {
		{{100, 60, JCS_RGB, .plain = true}, {.store = STORE_BMP}, pixels},
		{{100, 60, JCS_RGB, .plain = true}, {.resize = 65000}, pixels},
		{{100, 60, JCS_RGB, .plain = true}, {.optimize = true}, decoding},
		{{100, 60, JCS_RGB, .progressive = true}, {.resize = 16}, decoding},
		{{100, 60, JCS_RGB, .apart = true}, {.resize = 16}, decoding},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPE(buf_release) struct buf from = BUF_INIT, to = BUF_INIT;
		struct err err;

		jpeg_fixture(&rows[i].recipe, &from);
		memcpy(frame_header(&from) + 5, "\xff\xdc\xff\xdc", 4);
		assert_int_equal(transform(&rows[i].how, &from, &to, &err), -EFBIG);
		assert_string_equal(err.text, rows[i].why);
	}
}

/* What comes out of damaged bytes can be decoded, or nothing comes out. */
TEST(any_damage_gives_an_answer)
{
	uint32_t seed = 1;

	for (size_t round = 0; round < 2000; round++) {
		SCOPE(buf_release) struct buf from = BUF_INIT, to = BUF_INIT;
		struct jpeg_recipe recipe = round % 2 ? turned : grey;
		struct dataset_image image;
		struct err err;

		recipe.progressive = round / 2 % 2;
		jpeg_fixture(&recipe, &from);
		jpeg_fixture_damage(&from, &seed);
		if (transform(&works[round / 4 % COUNT(works)], &from, &to, &err) != 0)
			continue;
		image_inspect((uint8_t *)to.data, to.len, &image);
		assert_true(image.width > 0);
	}
}
