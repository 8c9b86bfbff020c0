/* LMDBs of Caffe's Datum: pack/foreign/lmdb/caffe.c. */
#include "tests/unit/foreign_fixture.h"
#include "tests/unit/test.h"

extern const struct foreign_format caffe_format;

#define BYTES(text) text, sizeof(text) - 1
/* channels, height, width | data | label | encoded */
#define JPEG	"\xff\xd8\xff one"
#define ENCODED "\x08\x03\x10\x02\x18\x02\x22\x07" JPEG "\x28\x07\x38\x01"
#define PIXELS                             \
	"\x08\x03\x10\x01\x18\x02\x22\x06" \
	"bBgGrR"                           \
	"\x28\x07"
#define GRAY                               \
	"\x08\x01\x10\x01\x18\x02\x22\x02" \
	"gG"

static int scan(struct foreign_fixture *f, const struct fixture_record *records)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/db", f->dir);
	unlink(path);
	fixture_lmdb(f, "db", MDB_NOSUBDIR, records);
	return fixture_scan(f, &caffe_format, "db");
}

TEST_OF(f, test_paths_come_from_keys)
{
	const struct fixture_record records[] = {
		{"00000000_n01440764/a.JPEG", BYTES(ENCODED)},
		{"00000001_/train/cat/b.png", BYTES(ENCODED)},
		{"00000002_c.jpg", BYTES(ENCODED)},
		{"00000003", BYTES(ENCODED)},
		{0},
	};

	assert_done(scan(f, records));
	assert_string_equal(fixture_file(f, 0), "n01440764/a.JPEG " JPEG);
	assert_string_equal(fixture_file(f, 1), "train/cat/b.png " JPEG);
	assert_string_equal(fixture_file(f, 2), "0007/c.jpg " JPEG);
	assert_string_equal(fixture_file(f, 3), "0007/00000003.JPEG " JPEG);
	assert_int_equal(fixture_probe(f, &caffe_format, "db"), 1);
}

TEST_OF(f, test_names_of_classes_go_before_paths)
{
	const struct fixture_record records[] = {{"00000000_x/a.JPEG", BYTES(ENCODED)}, {0}};
	char classes[160];

	fixture_say(f, "classes", "0\n1\n2\n3\n4\n5\n6\nseven\n");
	snprintf(classes, sizeof(classes), "%s/classes", f->dir);
	f->settings.classes = classes;
	assert_done(scan(f, records));
	assert_string_equal(fixture_file(f, 0), "seven/a.JPEG " JPEG);
}

TEST_OF(f, test_pixels_become_pictures)
{
	const struct fixture_record records[] = {
		{"00000000_cat/a.JPEG", BYTES(PIXELS)},
		{"00000001_cat/b", BYTES(PIXELS)},
		{"00000002", BYTES(GRAY)},
		{0},
	};
	const struct made_row *picture;

	assert_done(scan(f, records));
	assert_string_equal(fixture_file(f, 0), "cat/a.ppm ");
	assert_string_equal(fixture_file(f, 1), "cat/b.ppm ");
	assert_string_equal(fixture_file(f, 2), "images/00000002.pgm ");
	picture = (const void *)f->tree.made.data;
	assert_true(picture[0].pixels.layout == FOREIGN_PLANAR_BGR);
	assert_true(picture[0].pixels.width == 2 && picture[0].pixels.height == 1);
	assert_true(picture[2].pixels.layout == FOREIGN_GRAY);
}

static void refuses(struct foreign_fixture *f, const void *value, size_t len, int code,
		    const char *why)
{
	const struct fixture_record records[] = {
		{"00000000", BYTES(ENCODED)}, {"00000001", value, len}, {0}};

	assert_int_equal(scan(f, records), code);
	assert_string_equal(f->err.text, why);
}

TEST_OF(f, test_refusals_name_the_record)
{
	refuses(f,
		BYTES("\x08\x02\x10\x01\x18\x02\x22\x04"
		      "abcd"),
		-EOPNOTSUPP, "record 1: a Datum of 2 channels is no image");
	refuses(f, BYTES("\x08\x03\x10\x01\x18\x02\x35\0\0\0\0"), -EOPNOTSUPP,
		"record 1: a Datum of floats is no image");
	refuses(f,
		BYTES("\x08\x03\x10\x01\x18\x02\x22\x05"
		      "abcde"),
		-EBADMSG, "record 1: 5 bytes are not 2 x 1 pixels");
	refuses(f, BYTES("\x08\x03\x10\x00\x18\x02\x22\x00"), -EBADMSG,
		"record 1: a Datum without data");
	refuses(f, BYTES("\x38\x01\x22\x00"), -EBADMSG, "record 1: a Datum without data");
	refuses(f,
		BYTES("\x08\x03\x10\x01\x18\x02\x22\x07"
		      "abcdef"),
		-EBADMSG,
		"record 1: a field that is longer than its message at byte 6 of a message of 14");
	refuses(f, BYTES("\x40\x01"), -EBADMSG,
		"record 1: field 8 of type 0 is not one of a Datum");
	refuses(f,
		BYTES("\x0a\x01"
		      "3"),
		-EBADMSG, "record 1: field 1 of type 2 is not one of a Datum");
}

TEST_OF(f, test_what_is_no_datum_is_not_taken_for_one)
{
	const char *const values[] = {JPEG, "\x89PNG\r\n\x1a\n", "\x08\x03", "text"};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		const struct fixture_record records[] = {{"00000000", values[i], 0}, {0}};

		scan(f, records);
		assert_int_equal(fixture_probe(f, &caffe_format, "db"), 0);
	}
}

TEST_OF(f, test_damaged_values_are_survived)
{
	static const char *const wholes[] = {ENCODED, PIXELS};
	uint8_t value[64];

	for (size_t i = 0; i < 2; i++)
		for (size_t at = 0; at < strlen(wholes[i]); at++) {
			struct fixture_record records[] = {{"00000000", wholes[i], at}, {0}};

			if (at > 0)
				scan(f, records);
			memcpy(value, wholes[i], strlen(wholes[i]));
			value[at] ^= 0x83;
			records[0] = (struct fixture_record){"0", value, strlen(wholes[i])};
			scan(f, records);
		}
}
