/* Which images are good ones: pack/tool/image/check.h. */
#include "base/buf.h"
#include "base/scope.h"
#include "pack/tool/image/check.h"
#include "tests/unit/jpeg_fixture.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <string.h>

#define WIDTH  48
#define HEIGHT 40

/* --- looking -------------------------------------------------------------------------- */

/* Looks at a copy of exactly `len` bytes, so that a sanitizer sees each byte beyond. */
static int check(enum check_level level, const char *name, const void *data, size_t len,
		 struct check_finding *finding)
{
	SCOPE_FREE uint8_t *copy = malloc(len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, data, len);
	r = check_image(level, name, copy, len, finding);
	assert_in_range(r, 0, 1);
	if (r == 1)
		assert_in_range(strlen(finding->text), 1, sizeof(finding->text) - 1);
	return r;
}

/* "truncated", or "usable cmyk", or "unsure truncated", or "good". */
static void expect_at(enum check_level level, const char *expected, const char *name,
		      const void *data, size_t len)
{
	struct check_finding finding;
	char found[64] = "good";

	if (check(level, name, data, len, &finding))
		snprintf(found, sizeof(found), "%s%s",
			 finding.usable	  ? "usable "
			 : finding.unsure ? "unsure "
					  : "",
			 finding.damage);
	if (strcmp(found, expected) != 0)
		fail_msg("%s, %zu bytes: %s at level %d, not %s", name, len, found, level,
			 expected);
}

static void expect(const char *header, const char *decode, const char *name, const void *data,
		   size_t len)
{
	expect_at(CHECK_HEADER, header, name, data, len);
	expect_at(CHECK_DECODE, decode, name, data, len);
}

static void expect_both(const char *damage, const char *name, const void *data, size_t len)
{
	expect(damage, damage, name, data, len);
}

#define BYTES(text) (text), sizeof(text) - 1

/* --- JPEGs ---------------------------------------------------------------------------- */

static struct buf make_jpeg(struct jpeg_recipe recipe)
{
	struct buf out = BUF_INIT;

	jpeg_fixture(&recipe, &out);
	return out;
}

static size_t find(const struct buf *jpeg, size_t from, uint8_t low, uint8_t high)
{
	for (size_t i = from; i + 1 < jpeg->len; i++) {
		uint8_t marker = (uint8_t)jpeg->data[i + 1];

		if ((uint8_t)jpeg->data[i] == 0xff && marker >= low && marker <= high)
			return i;
	}
	fail_msg("no marker %02x", low);
	return 0;
}

/* Where the coded data of the scan begin whose marker is the first from `from` on. */
static size_t find_scan(const struct buf *jpeg, size_t from)
{
	size_t scan = find(jpeg, from, 0xda, 0xda);

	return scan + 2 +
	       (size_t)((uint8_t)jpeg->data[scan + 2] << 8 | (uint8_t)jpeg->data[scan + 3]);
}

static void set_size(struct buf *jpeg, unsigned width, unsigned height)
{
	size_t frame = find(jpeg, 2, 0xc0, 0xc2);
	const char size[] = {(char)(height >> 8), (char)height, (char)(width >> 8), (char)width};

	memcpy(jpeg->data + frame + 5, size, sizeof(size));
}

static const struct jpeg_recipe hows[] = {
	{WIDTH, HEIGHT, JCS_RGB, .plain = true, .quality = 100},
	{WIDTH, HEIGHT, JCS_GRAYSCALE, .plain = true, .quality = 100},
	{WIDTH, HEIGHT, JCS_RGB, .progressive = true, .quality = 100},
	{WIDTH, HEIGHT, JCS_RGB, .plain = true, .quality = 100, .apart = true},
	{WIDTH, HEIGHT, JCS_RGB, .plain = true, .quality = 100, .restart_rows = 1}};

#define HOWS (sizeof(hows) / sizeof(hows[0]))

/* Cut anywhere, by the header. Without its end marker it is still cut off, though no pixel is
 * missing. What follows the end does not matter. */
TEST(a_jpeg_is_good_only_if_it_is_whole)
{
	for (size_t i = 0; i < HOWS; i++) {
		SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[i]);

		expect_both("empty", "a.jpg", jpeg.data, 0);
		for (size_t len = 1; len + 40 < jpeg.len; len += 1 + len / 200)
			expect_both("truncated", "a.jpg", jpeg.data, len);
		expect_both("no-eoi", "a.jpg", jpeg.data, jpeg.len - 2);
		expect_both("no-eoi", "a.jpg", jpeg.data, jpeg.len - 1);
		expect_both("good", "a.jpg", jpeg.data, jpeg.len);
		assert_int_equal(buf_add(&jpeg, "\0\0\xff\xd8\xff", 5), 0);
		expect_both("good", "a.jpg", jpeg.data, jpeg.len);
	}
}

TEST(the_lower_half_of_a_jpeg_is_missed_by_decoding)
{
	for (size_t i = 0; i < HOWS; i++) {
		SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[i]);
		size_t half = (find_scan(&jpeg, 2) + jpeg.len) / 2;

		memset(jpeg.data + half, 0, jpeg.len - 2 - half);
		expect("good", "corrupt", "a.jpg", jpeg.data, jpeg.len);
		memcpy(jpeg.data + half, "\xff\xd9", 2);
		expect("good", "corrupt", "a.jpg", jpeg.data, half + 2);
	}
}

TEST(the_sentence_says_where_a_jpeg_ends)
{
	SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[0]), scans = make_jpeg(hows[3]);
	struct check_finding finding;

	check(CHECK_HEADER, "a.jpg", jpeg.data, jpeg.len - 60, &finding);
	assert_string_equal(finding.text, "JPEG: ends near row 32 of 40");
	check(CHECK_HEADER, "a.jpg", jpeg.data, 30, &finding);
	assert_string_equal(finding.text, "JPEG: ends in the header");
	check(CHECK_HEADER, "a.jpg", scans.data, scans.len - 60, &finding);
	assert_string_equal(finding.text, "JPEG: ends in scan 3");
}

/* Puts `count` bytes of `byte` at `at`. */
static struct buf with_stray(const struct buf *jpeg, size_t at, char byte, size_t count)
{
	struct buf more = BUF_INIT;

	buf_add(&more, jpeg->data, at);
	for (size_t i = 0; i < count; i++)
		buf_add(&more, &byte, 1);
	buf_add(&more, jpeg->data + at, jpeg->len - at);
	return more;
}

TEST(bytes_between_segments_are_passed_over_as_decoders_do)
{
	static const size_t counts[] = {1, 16, 100000};

	for (size_t i = 0; i < 6 * HOWS; i++) {
		SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[i / 6]);
		size_t scan = find(&jpeg, 2, 0xda, 0xda), at = 2;

		while (at < scan) {
			SCOPE(buf_release) struct buf odd = BUF_INIT;

			at += 2 + (size_t)((uint8_t)jpeg.data[at + 2] << 8 |
					   (uint8_t)jpeg.data[at + 3]);
			odd = with_stray(&jpeg, at, i % 2 ? 'x' : 0, counts[i / 2 % 3]);
			expect_both("usable corrupt", "a.jpg", odd.data, odd.len);
		}
	}
}

/* In a progressive JPEG, codes for the next scan come before each scan. */
TEST(so_are_those_between_the_segments_of_later_scans)
{
	SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[2]);
	size_t codes = find(&jpeg, find_scan(&jpeg, 2), 0xc4, 0xc4);
	size_t next = find(&jpeg, codes, 0xda, 0xda);
	SCOPE(buf_release) struct buf words = with_stray(&jpeg, next, 'x', 50);
	SCOPE(buf_release) struct buf lost = with_stray(&jpeg, codes, 'x', 50);

	expect("good", "usable corrupt", "a.jpg", words.data, words.len);
	expect("good", "corrupt", "a.jpg", lost.data, lost.len);
}

TEST(zeros_behind_all_pixels_are_padding)
{
	for (size_t i = 0; i < HOWS; i++) {
		SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[i]);
		SCOPE(buf_release) struct buf padded = with_stray(&jpeg, jpeg.len - 2, 0, 100);

		expect("good", "usable corrupt", "a.jpg", padded.data, padded.len);
		/* PIL reads that one, but for several scans. */
		expect_both(hows[i].progressive || hows[i].apart ? "no-eoi" : "usable no-eoi",
			    "a.jpg", padded.data, padded.len - 2);
	}
}

TEST(a_lost_restart_marker_is_found)
{
	SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[4]);
	size_t marker = find(&jpeg, find_scan(&jpeg, 2), 0xd1, 0xd1);

	memmove(jpeg.data + marker, jpeg.data + marker + 2, jpeg.len - marker - 2);
	expect("good", "corrupt", "a.jpg", jpeg.data, jpeg.len - 2);
}

TEST(a_colour_without_its_scan_is_found)
{
	SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[3]);
	size_t second = find_scan(&jpeg, find_scan(&jpeg, 2));
	size_t third = find(&jpeg, second, 0xda, 0xda);

	memcpy(jpeg.data + third, "\xff\xd9", 2);
	expect("good", "corrupt", "a.jpg", jpeg.data, third + 2);
	expect_both("truncated", "a.jpg", jpeg.data, third);
}

TEST(a_jpeg_of_very_many_scans_is_given_up)
{
	SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[3]), bomb = BUF_INIT;
	size_t first = find(&jpeg, 2, 0xda, 0xda), second = find_scan(&jpeg, first);

	second = find(&jpeg, second, 0xda, 0xda);
	buf_add(&bomb, jpeg.data, first);
	for (int i = 0; i < 600; i++)
		buf_add(&bomb, jpeg.data + first, second - first);
	buf_add(&bomb, jpeg.data + second, jpeg.len - second);
	expect("good", "corrupt", "a.jpg", bomb.data, bomb.len);
}

TEST(a_jpeg_that_takes_too_much_memory_is_not_decoded)
{
	SCOPE(buf_release)
	struct buf progressive = make_jpeg(hows[2]), baseline = make_jpeg(hows[0]);

	set_size(&progressive, 13000, 13000);
	expect("good", "usable not-decoded", "a.jpg", progressive.data, progressive.len);
	expect_both("truncated", "a.jpg", progressive.data, progressive.len - 2);
	set_size(&baseline, 13000, 13000);
	expect("good", "corrupt", "a.jpg", baseline.data, baseline.len);
}

/* --- names ---------------------------------------------------------------------------- */

TEST(of_two_findings_the_graver_is_told)
{
	SCOPE(buf_release)
	struct buf jpeg = make_jpeg(
		(struct jpeg_recipe){WIDTH, HEIGHT, JCS_CMYK, .plain = true, .quality = 100});

	expect_both("usable cmyk", "a.jpg", jpeg.data, jpeg.len);
	expect_both("usable cmyk", "a.png", jpeg.data, jpeg.len);
	expect_both("truncated", "a.jpg", jpeg.data, jpeg.len - 80);
	expect_both("no-eoi", "a.jpg", jpeg.data, jpeg.len - 2);
}

TEST(other_files_are_looked_at_only_where_they_hold_an_image)
{
	SCOPE(buf_release) struct buf jpeg = make_jpeg(hows[0]);

	expect_both("good", "labels.txt", BYTES(""));
	expect_both("good", "labels.txt", BYTES("P5 is the chapter about photographs"));
	expect_both("good", "photos.jpg/README", BYTES("BM"));
	expect_both("good", "jpg", BYTES("{}"));
	expect_both("good", "cache.bin", jpeg.data, jpeg.len);
	expect_both("truncated", "cache.bin", jpeg.data, jpeg.len - 80);
	set_size(&jpeg, 65000, 65000);
	expect("good", "corrupt", "slide", jpeg.data, jpeg.len);
}

TEST(what_is_no_image_is_called_by_its_own_name)
{
	static const struct {
		const char *data;
		size_t len;
		const char *text;
	} cases[] = {
		{BYTES("<!DOCTYPE html>"), "holds HTML"},
		{BYTES("\0\0\0\0\0\0\0"), "holds nothing but zeros"},
		{BYTES("\0"), "holds nothing but zeros"},
		{BYTES("\0\x05\x16\x07\0\2\0\0"), "holds an AppleDouble file of macOS"},
		{BYTES("version https://git-lfs.github.com/spec/v1\n"),
		 "holds a Git LFS pointer; 'git lfs pull' fetches the file"},
		{BYTES("/annex/objects/MD5E-s5--0123.jpg\n"),
		 "holds a git-annex pointer; 'git annex get' fetches the file"},
		{BYTES("\0\0\0\x18"
		       "ftypheic"),
		 "holds HEIC"},
		{BYTES("\0\0\0\x10"
		       "ftypavif\0\0\0\0"),
		 "holds AVIF"},
		{BYTES("\xff\x0a\x4f\x40"), "holds JPEG XL"},
		{BYTES("a cat"), "holds no image"},
	};
	struct check_finding finding;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check(CHECK_HEADER, "._a.jpg", cases[i].data, cases[i].len, &finding);
		assert_string_equal(finding.text, cases[i].text);
		expect_both("not-an-image", "a.webp", cases[i].data, cases[i].len);
	}
}

/* --- the other kinds ------------------------------------------------------------------ */

#define PNG_START "\x89PNG\r\n\x1a\n"
#define PNG_IHDR  "\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0\x3a\x7e\x9b\x55"
#define PNG_TEXT  "\0\0\0\3tEXta\0b\xdc\x49\xa2\x3b"
#define PNG_IDAT  "\0\0\0\nIDATx\x9c\x63\x60\0\0\0\2\0\1\x48\xaf\xa4\x71"
#define PNG_IEND  "\0\0\0\0IEND\xae\x42\x60\x82"
#define PNG	  PNG_START PNG_IHDR PNG_TEXT PNG_IDAT PNG_IEND

#define GIF_START "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff"
#define GIF_NOTE  "!\xfe\4note\0"
#define GIF_IMAGE ",\0\0\0\0\1\0\1\0\0\2\2\x44\1\0"
#define GIF	  GIF_START GIF_NOTE GIF_IMAGE ";"

#define WEBP_LOSSY    "VP8 \x0c\0\0\0\x10\0\0\x9d\1\x2a\1\0\1\0\0\0"
#define WEBP_LOSSLESS "VP8L\5\0\0\0\x2f\0\0\0\0\0"

#define BMP_START "BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"
#define BMP_REST  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define BMP	  BMP_START "\2\0\0\0\2\0\0\0\1\0\x18\0" BMP_REST "rgbrgb..rgbrgb"

#define TIFF_SIZE "\0\1\3\0\1\0\0\0\2\0\0\0\1\1\3\0\1\0\0\0\2\0\0\0"
#define TIFF                            \
	"II*\0\x08\0\0\0\4\0" TIFF_SIZE \
	"\x11\1\4\0\1\0\0\0\x3e\0\0\0\x17\1\4\0\1\0\0\0\4\0\0\0\0\0\0\0gray"

static const struct file {
	const char *name, *data;
	size_t len;
} wholes[] = {
	{"a.png", BYTES(PNG)},
	{"a.gif", BYTES(GIF)},
	{"a.webp", BYTES("RIFF\x18\0\0\0WEBP" WEBP_LOSSY)},
	{"a.webp", BYTES("RIFF\x12\0\0\0WEBP" WEBP_LOSSLESS)},
	{"a.webp", BYTES("RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0" WEBP_LOSSLESS)},
	{"a.bmp", BYTES(BMP)},
	{"a.ppm", BYTES("P6 2 1 255\nrgbrgb")},
	{"a.pgm", BYTES("P5 2 1 256\ngrgr")},
	{"a.pgm", BYTES("P4 9 2\nbbbb")},
	{"a.tif", BYTES(TIFF)},
};

/* PIL may read no further. */
#define PNG_PIXELS_END (sizeof(PNG_START PNG_IHDR PNG_TEXT PNG_IDAT) - 1)

#define WHOLES (sizeof(wholes) / sizeof(wholes[0]))

TEST(the_other_kinds_are_good_only_if_they_are_whole)
{
	for (size_t i = 0; i < WHOLES; i++) {
		SCOPE(buf_release) struct buf padded = BUF_INIT;
		const struct file *whole = &wholes[i];
		size_t end = whole->len - (strcmp(whole->name, "a.gif") == 0);

		for (size_t len = 1; len < end; len++)
			expect_both(i == 0 && len >= PNG_PIXELS_END ? "unsure truncated"
								    : "truncated",
				    whole->name, whole->data, len);
		expect_both("good", whole->name, whole->data, whole->len);
		buf_add(&padded, whole->data, whole->len);
		buf_add(&padded, "\0padding", 8);
		expect_both("good", whole->name, padded.data, padded.len);
	}
	expect_both("usable truncated", "a.gif", BYTES(GIF_START GIF_IMAGE));
	expect_both("usable truncated", "a.gif", BYTES(GIF_START GIF_IMAGE ",\0\0\0\0"));
	expect_both("good", "a.ppm", BYTES("P3 1 1 255 100 100 1"));
}

/* Those that PIL refuses are in tests/mount/damage.py. */
TEST(fields_that_readers_do_not_look_at_may_be_wrong)
{
	expect_both("usable wrong-extension", "a.jpg", BYTES("\0\0\0\x0cjP  \r\n\x87\n...."));
	expect_both("corrupt", "a.webp", BYTES("RIFF\4\0\0\0WAVE"));
	expect_both("truncated", "a.tif", BYTES("II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0"));
	/* Where the pixels begin, if nowhere; planes; and how many bytes a strip has. */
	expect_both("good", "a.bmp",
		    BYTES("BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0\0\0\x18\0" BMP_REST
			  "rgbrgb..rgbrgb"));
	expect_both("good", "a.tif",
		    BYTES("II*\0\x08\0\0\0\6\0" TIFF_SIZE "\2\1\3\0\1\0\0\0\x08\0\0\0"
			  "\3\1\3\0\1\0\0\0\1\0\0\0\x11\1\4\0\1\0\0\0\x56\0\0\0"
			  "\x17\1\4\0\1\0\0\0\xff\xff\0\0\0\0\0\0gray"));
	expect_both("good", "a.gif",
		    BYTES("GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff" GIF_IMAGE ";"));
}

/* --- all bytes ------------------------------------------------------------------------ */

TEST(any_damage_gives_an_answer)
{
	struct check_finding finding;
	uint32_t seed = 1;

	for (size_t round = 0; round < 4400; round++) {
		const struct file *whole = &wholes[round % WHOLES];
		SCOPE(buf_release) struct buf bytes = BUF_INIT;

		if (round % 11 == 0)
			bytes = make_jpeg(hows[round / 11 % HOWS]);
		else
			buf_add(&bytes, whole->data, whole->len);
		jpeg_fixture_damage(&bytes, &seed);
		if (seed % 4 == 0)
			bytes.len = 1 + (seed >> 8) % bytes.len;
		check(CHECK_DECODE, round % 11 ? whole->name : "a.jpg", bytes.data, bytes.len,
		      &finding);
	}
}
