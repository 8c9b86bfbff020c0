/* The samples of a .beton as a tree: pack/foreign/record/ffcv.c. */
#include "base/le.h"
#include "tests/unit/archive_scan.h"
#include "tests/unit/test.h"

extern const struct foreign_format ffcv_format;

enum { FIELD = 1041, HEADER = 24, ROW = 24, PAGE = 4096 };
enum { INT = 1, IMAGE = 2, BYTES = 3 };

/* Two fields, image and label, and two samples: a JPEG of label 3, and 2 x 1 pixels of label 1. */
enum { FIRST = HEADER + 2 * FIELD, SAMPLE = 24, JPEG_AT = PAGE, PIXELS_AT = PAGE + 8 };
enum { TABLE = 2 * PAGE, SIZE = TABLE + 2 * ROW };

static void put_field(uint8_t *p, unsigned i, uint8_t type, const char *name)
{
	p[HEADER + i * FIELD] = type;
	memcpy(p + HEADER + i * FIELD + 1, name, strlen(name));
}

static void put_image(uint8_t *p, uint8_t mode, uint16_t width, uint16_t height, uint64_t at)
{
	p[0] = mode;
	le_put16(p + 1, width);
	le_put16(p + 3, height);
	le_put64(p + 5, at);
}

static void put_row(uint8_t *p, uint64_t sample, uint64_t at, uint64_t bytes)
{
	le_put64(p, sample);
	le_put64(p + 8, at);
	le_put64(p + 16, bytes);
}

static uint8_t *make_beton(struct scan *scan)
{
	uint8_t *p;

	scan->bytes.len = 0;
	assert_done(buf_reserve(&scan->bytes, SIZE));
	scan->bytes.len = SIZE;
	p = (uint8_t *)scan->bytes.data;
	memset(p, 0, SIZE);
	le_put16(p, 2);
	le_put16(p + 2, 2);
	le_put32(p + 4, PAGE);
	le_put64(p + 8, 2);
	le_put64(p + 16, TABLE);
	put_field(p, 0, IMAGE, "image");
	put_field(p, 1, INT, "label");
	put_image(p + FIRST, 0, 640, 480, JPEG_AT);
	le_put64(p + FIRST + 16, 3);
	put_image(p + FIRST + SAMPLE, 1, 2, 1, PIXELS_AT);
	le_put64(p + FIRST + SAMPLE + 16, 1);
	memcpy(p + JPEG_AT, "\xff\xd8\xff", 3);
	memcpy(p + PIXELS_AT, "rgbRGB", 6);
	put_row(p + TABLE, 1, PIXELS_AT, 6);
	put_row(p + TABLE + ROW, 0, JPEG_AT, 3);
	return p;
}

static void set_up(struct scan *scan)
{
	scan->format = &ffcv_format;
	make_beton(scan);
}

FIXTURE(scan, struct scan, set_up, scan_release);

/* --- tests ------------------------------------------------------------------------------------ */

TEST_OF(scan, images_come_by_label_and_number)
{
	scan_expect(scan,
		    "file 0003/00000000.JPEG: \xff\xd8\xff\n"
		    "pixels 0001/00000001.ppm of 17 bytes\n");
}

TEST_OF(scan, fields_are_found_by_their_names)
{
	uint8_t *p = (uint8_t *)scan->bytes.data;

	scan->settings.label_key = "class";
	scan_expect_failure(scan, -EINVAL, "no field of integers called class in it");
	put_field(p, 1, INT, "class");
	scan_expect(scan,
		    "file 0003/00000000.JPEG: \xff\xd8\xff\n"
		    "pixels 0001/00000001.ppm of 17 bytes\n");
	scan->settings.image_key = "other";
	scan_expect_failure(scan, -EOPNOTSUPP, "no field of images called other in it");
	scan->settings.image_key = scan->settings.label_key = NULL;
	put_field(p, 1, IMAGE, "second");
	put_field(p, 0, BYTES, "first");
	scan_expect_failure(scan, -EBADMSG,
			    "record 0: an image of mode 3, which is neither JPEG nor pixels");
}

TEST_OF(scan, a_beton_that_is_cut_off_is_told)
{
	scan_expect_no_beginning(scan, 0);
}

static void expect_bad(struct scan *scan, const char *sentence)
{
	scan_expect_failure(scan, -EBADMSG, sentence);
	make_beton(scan);
}

TEST_OF(scan, wild_numbers_are_refused)
{
	uint8_t *p = (uint8_t *)scan->bytes.data;

	le_put64(p + 8, UINT64_MAX);
	expect_bad(scan, "18446744073709551615 samples do not fit in front of the table at 8192");
	le_put64(p + 16, FIRST + SAMPLE);
	expect_bad(scan, "2 samples do not fit in front of the table at 2130");
	le_put64(p + FIRST + 5, JPEG_AT + 1);
	expect_bad(scan, "record 0: its image at 4097 is not in the table");
	le_put64(p + TABLE + ROW + 16, UINT64_MAX);
	expect_bad(scan,
		   "record 0: its 18446744073709551615 bytes at 4096 are not all in the file");
	p[FIRST] = 2;
	expect_bad(scan, "record 0: an image of mode 2, which is neither JPEG nor pixels");
	le_put16(p + FIRST + SAMPLE + 1, 3);
	expect_bad(scan, "record 1: 6 bytes are not 3 x 1 pixels");
	p[HEADER + FIELD] = 255;
	scan_expect_failure(scan, -EOPNOTSUPP, "field 1 ('label') is of a type of its own, 255");
}
