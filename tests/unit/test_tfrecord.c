/* TFRecords of Examples: pack/foreign/record/tfrecord.c. */
#include "tests/unit/foreign_fixture.h"
#include "tests/unit/test.h"

extern const struct foreign_format tfrecord_format;

/* --- a writer of its own ---------------------------------------------------------------------- */

static void put_varint(struct buf *to, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);

		assert_done(buf_add(to, &byte, 1));
		value >>= 7;
	} while (value);
}

static void put_field(struct buf *to, unsigned number, const void *bytes, size_t len)
{
	put_varint(to, number << 3 | 2);
	put_varint(to, len);
	assert_done(buf_add(to, bytes, len));
}

/* A feature whose list, of this kind, has these bytes. */
static void put_feature(struct buf *to, const char *key, unsigned kind, const struct buf *list)
{
	SCOPE(buf_release) struct buf feature = BUF_INIT;
	SCOPE(buf_release) struct buf entry = BUF_INIT;

	put_field(&feature, kind, list->data, list->len);
	put_field(&entry, 1, key, strlen(key));
	put_field(&entry, 2, feature.data, feature.len);
	put_field(to, 1, entry.data, entry.len);
}

static void put_text(struct buf *to, const char *key, const char *text)
{
	SCOPE(buf_release) struct buf list = BUF_INIT;

	put_field(&list, 1, text, strlen(text));
	put_feature(to, key, 1, &list);
}

static void put_number(struct buf *to, const char *key, int64_t value, bool packed)
{
	SCOPE(buf_release) struct buf list = BUF_INIT;
	SCOPE(buf_release) struct buf numbers = BUF_INIT;

	put_varint(&numbers, (uint64_t)value);
	if (packed) {
		put_field(&list, 1, numbers.data, numbers.len);
	} else {
		put_varint(&list, 1 << 3);
		assert_done(buf_add(&list, numbers.data, numbers.len));
	}
	put_feature(to, key, 3, &list);
}

/* Bit by bit, as the polynomial says. */
static uint32_t masked_crc(const void *bytes, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < 8 * len; i++) {
		crc ^= i % 8 ? 0 : ((const uint8_t *)bytes)[i / 8];
		crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	crc = ~crc;
	return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void put_record(struct buf *file, const void *bytes, size_t len)
{
	uint8_t head[12], foot[4];

	le_put64(head, len);
	le_put32(head + 8, masked_crc(head, 8));
	le_put32(foot, masked_crc(bytes, len));
	assert_done(buf_add(file, head, sizeof(head)));
	assert_done(buf_add(file, bytes, len));
	assert_done(buf_add(file, foot, sizeof(foot)));
}

static void put_example(struct buf *file, struct buf *features)
{
	SCOPE(buf_release) struct buf example = BUF_INIT;

	put_field(&example, 1, features->data, features->len);
	put_record(file, example.data, example.len);
	features->len = 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static int scan(struct foreign_fixture *f, const struct buf *file)
{
	fixture_write(f, "train-00003.tfrecord", file->data, file->len);
	return fixture_scan(f, &tfrecord_format, "train-00003.tfrecord");
}

static void refuses(struct foreign_fixture *f, const struct buf *file, int code, const char *why)
{
	assert_int_equal(scan(f, file), code);
	assert_string_equal(f->err.text, why);
}

static void put_slim(struct buf *file, const char *synset, const char *name, const char *image)
{
	SCOPE(buf_release) struct buf features = BUF_INIT;

	put_number(&features, "image/height", 300, true);
	put_number(&features, "image/class/label", 7, true);
	if (synset)
		put_text(&features, "image/class/synset", synset);
	put_text(&features, "image/class/text", "a fish");
	put_text(&features, "image/encoded", image);
	put_text(&features, "image/filename", name);
	put_example(file, &features);
}

static void put_tfds(struct buf *file, int64_t label, const char *name, const char *image)
{
	SCOPE(buf_release) struct buf features = BUF_INIT;

	put_text(&features, "image", image);
	put_text(&features, "file_name", name);
	put_number(&features, "label", label, false);
	put_example(file, &features);
}

TEST_OF(f, test_slim_has_classes_and_names)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;

	put_slim(&file, "n01440764", "n01440764_10026.JPEG", "\xff\xd8\xff one");
	put_slim(&file, NULL, "/data/train/b", "\xff\xd8\xff two");
	assert_done(scan(f, &file));
	assert_string_equal(fixture_file(f, 0), "n01440764/n01440764_10026.JPEG \xff\xd8\xff one");
	assert_string_equal(fixture_file(f, 1), "a fish/b.JPEG \xff\xd8\xff two");
	assert_int_equal(fixture_probe(f, &tfrecord_format, "train-00003.tfrecord"), 1);
}

TEST_OF(f, test_labels_of_slim_count_from_one)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;
	char classes[160];

	put_slim(&file, "n01440764", "a.JPEG", "one");
	put_tfds(&file, 1, "b.JPEG", "two");
	fixture_say(f, "classes", "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\n");
	snprintf(classes, sizeof(classes), "%s/classes", f->dir);
	f->settings.classes = classes;
	assert_done(scan(f, &file));
	assert_string_equal(fixture_file(f, 0), "0006_six/a.JPEG one");
	assert_string_equal(fixture_file(f, 1), "0001_one/b.JPEG two");
}

TEST_OF(f, test_names_are_made_up_with_the_name_of_the_shard)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;
	SCOPE(buf_release) struct buf features = BUF_INIT;

	put_tfds(&file, 5, "", "\xff\xd8\xff one");
	put_text(&features, "image/encoded", "\x89PNG two");
	put_number(&features, "image/class/label", 5, true);
	put_example(&file, &features);
	put_text(&features, "image", "GIF8 three");
	put_example(&file, &features);
	assert_done(scan(f, &file));
	assert_string_equal(fixture_file(f, 0), "0005/train-00003-00000000.JPEG \xff\xd8\xff one");
	assert_string_equal(fixture_file(f, 1), "0005/train-00003-00000001.png \x89PNG two");
	assert_string_equal(fixture_file(f, 2), "images/train-00003-00000002.gif GIF8 three");
	assert_int_equal(fixture_scan_bytes(f, &tfrecord_format, file.data, file.len), 0);
	assert_string_equal(fixture_file(f, 2), "images/bytes-00000002.gif GIF8 three");
}

TEST_OF(f, test_fields_that_the_user_names)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;
	SCOPE(buf_release) struct buf features = BUF_INIT;

	put_text(&features, "image", "no image");
	put_text(&features, "x/jpeg", "image");
	put_text(&features, "kind", "dog");
	put_number(&features, "label", 3, true);
	put_text(&features, "id", "d.jpg");
	put_example(&file, &features);
	f->settings.image_key = "x/jpeg";
	f->settings.label_key = "kind";
	f->settings.name_key = "id";
	assert_done(scan(f, &file));
	assert_string_equal(fixture_file(f, 0), "dog/d.jpg image");
}

TEST_OF(f, test_a_label_in_digits_is_a_number)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;
	SCOPE(buf_release) struct buf features = BUF_INIT;

	put_text(&features, "image/encoded", "image");
	put_text(&features, "label", "7");
	put_example(&file, &features);
	assert_done(scan(f, &file));
	assert_string_equal(fixture_file(f, 0), "0007/train-00003-00000000.bin image");
}

TEST_OF(f, test_records_without_an_image)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;
	SCOPE(buf_release) struct buf features = BUF_INIT;

	put_number(&features, "height", 3, true);
	put_text(&features, "picture", "image");
	put_example(&file, &features);
	refuses(f, &file, -EOPNOTSUPP,
		"no record has an image as image/encoded or image; --image-key names another of: "
		"height, picture");
	put_tfds(&file, 0, "a.jpg", "one");
	assert_done(scan(f, &file));
	assert_int_equal(tree_count(&f->tree), 1);
	assert_string_equal(fixture_note(f, 0), "1 records without an image are left out");
}

TEST_OF(f, test_refusals_name_the_record)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;
	SCOPE(buf_release) struct buf features = BUF_INIT;
	size_t first;

	put_tfds(&file, 1, "a.jpg", "one");
	first = file.len;
	put_number(&features, "image", 3, true);
	put_example(&file, &features);
	refuses(f, &file, -EOPNOTSUPP, "record 1: its image is numbers, and no image file");
	file.data[first] ^= 1;
	refuses(f, &file, -EBADMSG,
		"record 1: the checksum of its length, at byte 75, does not hold");
	file.data[first] ^= 1;
	file.len -= 5;
	refuses(f, &file, -EBADMSG, "record 1: truncated: 18 bytes at byte 87 of a file of 104");
	file.len = first + 3;
	refuses(f, &file, -EBADMSG, "record 1: truncated: 12 bytes at 75, of 78 bytes in all");
	file.len = first;
	put_record(&file, "\x08\x01", 2);
	refuses(f, &file, -EBADMSG, "record 1: no Example: it has no features");
	file.len = first;
	put_record(&file, "\x0a\x02\x10\x01", 4);
	refuses(f, &file, -EBADMSG, "record 1: no Example: field 2 in its map");
	file.len = first;
	put_record(&file, "\x0a\x05\x0a\x03\x0a\x01k", 7);
	refuses(f, &file, -EBADMSG, "record 1: no Example: a key or a value is missing");
	file.len = first;
	put_record(&file, "\x0a\x10\x0a\x0e\x0a\x05image\x12\x05\x22\x03\x0a\x01x", 18);
	refuses(f, &file, -EBADMSG, "record 1: no Example: a feature that is no list");
}

TEST_OF(f, test_compressed_ones_are_refused_by_name)
{
	const struct buf file = {.data = (char[]){"\x1f\x8b\x08 of gzip, any"}, .len = 16};

	refuses(f, &file, -EOPNOTSUPP,
		"a compressed TFRecord cannot be read in place: decompress it");
	assert_int_equal(fixture_probe(f, &tfrecord_format, "train-00003.tfrecord"), 1);
	fixture_write(f, "train.tar.gz", file.data, file.len);
	assert_int_equal(fixture_probe(f, &tfrecord_format, "train.tar.gz"), 0);
	fixture_write(f, "short", file.data, 3);
	assert_int_equal(fixture_probe(f, &tfrecord_format, "short"), 0);
}

TEST_OF(f, test_damage_anywhere_is_survived)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;

	put_slim(&file, "n01", "a.jpg", "one");
	put_tfds(&file, 300, "b.jpg", "two");
	fixture_maul(f, &tfrecord_format, (const uint8_t *)file.data, file.len);
}

/* Examples whose frames hold, so that what is damaged is seen. */
TEST_OF(f, test_damaged_examples_are_survived)
{
	SCOPE(buf_release) struct buf whole = BUF_INIT;
	SCOPE(buf_release) struct buf file = BUF_INIT;
	size_t len;

	put_slim(&whole, "n01", "a.jpg", "one");
	len = whole.len - 16;
	for (size_t i = 0; i < 2 * len; i++) {
		char before = whole.data[12 + i / 2];

		file.len = 0;
		if (i % 2)
			whole.data[12 + i / 2] ^= 0x7f;
		put_record(&file, whole.data + 12, i % 2 ? len : i / 2);
		whole.data[12 + i / 2] = before;
		scan(f, &file);
	}
}
