/* What an image is, from its first bytes: pack/tool/image/image.h. Sizes that lie far from these:
 * tests/mount/test_kinds.py. */
#include "base/scope.h"
#include "pack/tool/image/image.h"
#include "tests/unit/test.h"
#include <string.h>

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

/* A header of each kind, as its specification draws it. */
static const struct sample {
	const char *name;
	const uint8_t *data;
	size_t len;
	enum format_image kind;
	uint32_t width, height;
	size_t known_at; /* bytes that are enough to tell the size */
} samples[] = {
	{"baseline JPEG",
	 BYTES("\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
	       "\xff\xc0\0\x0b\x08\x01\x77\x01\xf4\1\1\x11\0"
	       "\xff\xda\0\x08\1\1\0\0\x3f\0"),
	 IMAGE_JPEG, 500, 375, 33},
	{"progressive colour JPEG behind a comment with a frame marker in it",
	 BYTES("\xff\xd8\xff\xfe\0\x0a\xff\xc0\0\x0b\x08\0\1\0"
	       "\xff\xc2\0\x11\x08\0\x20\0\x40\3\1\x22\0\2\x11\1\3\x11\1"
	       "\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0\0\0"),
	 IMAGE_JPEG, 64, 32, 47},
	{"PNG", BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x04\0\0\0\x03\0\x08\6\0\0\0"), IMAGE_PNG,
	 1024, 768, 24},
	{"GIF", BYTES("GIF89a\x40\x01\xf0\0\xf7\0\0"), IMAGE_GIF, 320, 240, 10},
	{"old GIF", BYTES("GIF87a\1\0\2\0\x80\0\0"), IMAGE_GIF, 1, 2, 10},
	{"lossy WebP", BYTES("RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\1\0\x9d\1\x2a\x20\xc3\x10\0"),
	 IMAGE_WEBP, 800, 16, 30},
	{"lossless WebP", BYTES("RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\x0f\xc0\7\0"), IMAGE_WEBP, 16,
	 32, 25},
	{"extended WebP", BYTES("RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\xff\0\x01\0\0"),
	 IMAGE_WEBP, 65536, 2, 30},
	{"BMP", BYTES("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x03\0\0\0\x04\0\0\0\1\0\x18\0"),
	 IMAGE_BMP, 3, 4, 30},
	{"BMP with its rows from the top",
	 BYTES("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x03\0\0\0\xfc\xff\xff\xff\1\0\x18\0"),
	 IMAGE_BMP, 3, 4, 30},
	{"BMP of OS/2",
	 BYTES("BM\x46\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\x07\0\x05\0\1\0\x18\0\0\0\0\0"), IMAGE_BMP,
	 7, 5, 30},
	{"little-endian TIFF",
	 BYTES("II*\0\x08\0\0\0\2\0\0\1\3\0\1\0\0\0\x0a\0\0\0\1\1\4\0\1\0\0\0\x14\0\0\0\0\0\0\0"),
	 IMAGE_TIFF, 10, 20, 34},
	{"big-endian TIFF",
	 BYTES("MM\0*\0\0\0\x08\0\2\1\0\0\3\0\0\0\1\0\x0a\0\0\1\1\0\4\0\0\0\1\0\0\0\x14\0\0\0\0"),
	 IMAGE_TIFF, 10, 20, 34},
	{"little-endian BigTIFF",
	 BYTES("II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
	       "\0\1\x10\0\1\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0"
	       "\1\1\3\0\1\0\0\0\0\0\0\0\x14\0\0\0\0\0\0\0"),
	 IMAGE_TIFF, 10, 20, 64},
	{"big-endian BigTIFF",
	 BYTES("MM\0+\0\x08\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\2"
	       "\1\0\0\4\0\0\0\0\0\0\0\1\0\0\0\x0a\0\0\0\0"
	       "\1\1\0\x10\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\x14"),
	 IMAGE_TIFF, 10, 20, 64},
	{"PPM", BYTES("P6\n640 480\n255\n"), IMAGE_PNM, 640, 480, 15},
	{"PGM with comments", BYTES("P5 # made by hand\n# 9 9\n12\t34 65535\n"), IMAGE_PNM, 12, 34,
	 37},
	{"PBM", BYTES("P4\n8 9\n"), IMAGE_PNM, 8, 9, 7},
	{"AVIF whose picture is item 1, with property 2, and whose thumbnail is item 2",
	 BYTES("\0\0\0\x14"
	       "ftypmif1\0\0\0\0avif"
	       "\0\0\0\x6ameta\0\0\0\0\0\0\0\x0epitm\0\0\0\0\0\1"
	       "\0\0\0\x50iprp\0\0\0\x30ipco\0\0\0\x14ispe\0\0\0\0\0\0\0\5\0\0\0\4"
	       "\0\0\0\x14ispe\0\0\0\0\0\0\2\x80\0\0\1\xe0"
	       "\0\0\0\x18ipma\0\0\0\0\0\0\0\2\0\2\1\1\0\1\1\x82"),
	 IMAGE_AVIF, 640, 480, 126},
	{"AVIF with wide numbers",
	 BYTES("\0\0\0\x14"
	       "ftypavis\0\0\0\0msf1"
	       "\0\0\0\x5ameta\0\0\0\0\0\0\0\x10pitm\1\0\0\0\0\1\0\0"
	       "\0\0\0\x3eiprp\0\0\0\x1cipco\0\0\0\x14ispe\0\0\0\0\0\0\0\5\0\0\0\4"
	       "\0\0\0\x1aipma\1\0\0\1\0\0\0\1\0\1\0\0\2\0\0\x80\1"),
	 IMAGE_AVIF, 5, 4, 110},
	{"JPEG XL", BYTES("\xff\x0a\xb0\0\x48\x80\x84"), IMAGE_JXL, 37, 23, 6},
	{"square JPEG XL", BYTES("\xff\x0a\x4f\x40\x42"), IMAGE_JXL, 64, 64, 4},
	{"wide JPEG XL", BYTES("\xff\x0a\x51\x41\x42"), IMAGE_JXL, 128, 72, 4},
	{"JPEG XL in a box, the last one",
	 BYTES("\0\0\0\x0cJXL \r\n\x87\n\0\0\0\x14"
	       "ftypjxl \0\0\0\0jxl \0\0\0\0jxlc\xff\x0a\xb0\0\x48\x80"),
	 IMAGE_JXL, 37, 23, 46},
	{"JPEG XL in parts, behind a long box",
	 BYTES("\0\0\0\x0cJXL \r\n\x87\n\0\0\0\1Exif\0\0\0\0\0\0\0\x12II"
	       "\0\0\0\x12jxlp\0\0\0\0\xff\x0a\x51\x41\x42\x71"),
	 IMAGE_JXL, 128, 72, 46},
};

#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

/* Looks at a copy of exactly `len` bytes, so that a sanitizer sees each byte beyond. */
static struct dataset_image inspect(const uint8_t *data, size_t len)
{
	SCOPE_FREE uint8_t *copy = malloc(len ? len : 1);
	struct dataset_image image = {.kind = IMAGE_KINDS};

	assert_non_null(copy);
	memcpy(copy, data, len);
	image_inspect(copy, len, &image);
	assert_true((unsigned)image.kind < IMAGE_KINDS);
	assert_int_equal(image.width == 0, image.height == 0);
	return image;
}

static void expect_no_size(enum format_image kind, const uint8_t *data, size_t len)
{
	struct dataset_image image = inspect(data, len);

	assert_int_equal(image.kind, kind);
	assert_int_equal(image.width, 0);
	assert_int_equal(image.height, 0);
}

TEST(a_header_gives_kind_and_size_and_one_that_is_cut_off_the_right_size_or_none)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		struct dataset_image image = {0};

		for (size_t len = 0; len <= samples[i].len; len++) {
			image = inspect(samples[i].data, len);
			if (image.width == 0 && len < samples[i].known_at)
				continue;
			if (image.width != samples[i].width || image.height != samples[i].height)
				fail_msg("%s, %zu bytes: %ux%u", samples[i].name, len, image.width,
					 image.height);
		}
		assert_int_equal(image.kind, samples[i].kind);
	}
}

/* As PIL has it. */
TEST(a_gif_is_as_large_as_its_first_picture_needs)
{
	struct dataset_image image =
		inspect(BYTES("GIF89a\1\0\1\0\0\0\0!\xfe\2ab\0,\2\0\0\0\x20\0\x10\0\0\2"));

	assert_int_equal(image.width, 34);
	assert_int_equal(image.height, 16);
	image = inspect(BYTES("GIF89a\x40\0\x40\0\0\0\0,\2\0\0\0\x20\0\x10\0\0\2"));
	assert_int_equal(image.width, 64);
	assert_int_equal(image.height, 64);
}

/* As of a file that is read in parts: of a GiB. */
TEST(the_directory_of_a_tiff_may_come_alone)
{
	enum { FAR = 200000 };
	static uint8_t tiff[FAR + 64] = "II*\0\x40\x0d\3\0";
	struct dataset_image image;

	memcpy(tiff + FAR, "\2\0\0\1\3\0\1\0\0\0\x0a\0\0\0\1\1\4\0\1\0\0\0\x14\0\0\0\0\0\0\0", 30);
	image = inspect(tiff, FAR);
	assert_int_equal(image.width, 0);
	assert_int_equal(image_directory(tiff, IMAGE_START), FAR);
	image_inspect_directory(tiff, tiff + FAR, 30, &image);
	assert_int_equal(image.width, 10);
	assert_int_equal(image.height, 20);
	assert_int_equal(image_directory(samples[0].data, IMAGE_START), 0);
}

TEST(words_that_look_like_magic_are_no_images)
{
	expect_no_size(IMAGE_UNKNOWN, BYTES(""));
	expect_no_size(IMAGE_UNKNOWN, BYTES("BMW 320d, first owner, new tyres, no rust"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("P5 is the chapter about photographs"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("P3\n1 2\n"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("P7 1 1 255 a"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("P5 0 1 255 a"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("P6\n640 480\n70000\n"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("P6\n99999999999 1\n255\n"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("RIFF\x24\0\0\0WAVEfmt \x10\0\0\0"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("\xff\xd8"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("\xff\x0a"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("\0\0\0\x14"
					    "ftypheic\0\0\0\0mif1"));
	expect_no_size(IMAGE_UNKNOWN, BYTES("\0\0\0\x10"
					    "ftypmif1\0\0\0\0avif"));
}

TEST(a_size_that_makes_no_sense_is_none)
{
	expect_no_size(IMAGE_PNG, BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x80\0\0\0\0\0\0\1"));
	expect_no_size(IMAGE_PNG, BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\1"));
	expect_no_size(IMAGE_PNG, BYTES("\x89PNG\r\n\x1a\n\0\0\0\4gAMA\0\0\0\0\0\0\0\1"));
	expect_no_size(IMAGE_GIF, BYTES("GIF89a\0\0\1\0"));
	expect_no_size(IMAGE_JPEG, BYTES("\xff\xd8\xff\xd9"));
	expect_no_size(IMAGE_JPEG, BYTES("\xff\xd8\xff\xc0\0\x0b\x08\0\0\0\0\1\1\x11\0"));
	expect_no_size(IMAGE_TIFF, BYTES("II*\0\xff\xff\xff\xff\0\0"));
	expect_no_size(IMAGE_TIFF, BYTES("II*\0\x08\0\0\0\xff\xff\0\1\5\0\1\0\0\0\x0a\0\0\0"));
	expect_no_size(IMAGE_AVIF, BYTES("\0\0\0\x10"
					 "ftypavif\0\0\0\0\0\0\0\4meta"));
	expect_no_size(IMAGE_JXL, BYTES("\0\0\0\x0cJXL \r\n\x87\n\0\0\0\0jxlc\xff\x0b\x51\x41"));
	expect_no_size(IMAGE_WEBP, BYTES("RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\1\0\x9d\1\x2b"
					 "\x20\3\x10\0"));
}
