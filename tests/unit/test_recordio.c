/* RecordIO of images: pack/foreign/record/recordio.c. */
#include "tests/unit/foreign_fixture.h"
#include "tests/unit/test.h"

#define MAGIC 0xced7230au

extern const struct foreign_format recordio_format;

static void put32(struct buf *file, uint32_t value)
{
	value = htole32(value);
	assert_done(buf_add(file, &value, sizeof(value)));
}

static void put_float(struct buf *file, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put32(file, bits);
}

static void put_frame(struct buf *file, uint32_t part, const void *bytes, size_t len)
{
	put32(file, MAGIC);
	put32(file, part << 29 | (uint32_t)len);
	assert_done(buf_add(file, bytes, len));
	assert_done(buf_add(file, "\0\0\0", (4 - len % 4) % 4));
}

/* A record of an image with a label, or, flag > 0, with as many. */
static void put_image(struct buf *file, uint32_t flag, float label, uint32_t id, const char *image)
{
	SCOPE(buf_release) struct buf record = BUF_INIT;

	put32(&record, flag);
	put_float(&record, flag ? 99 : label);
	put32(&record, id);
	for (int i = 0; i < 3; i++)
		put32(&record, 0);
	for (uint32_t i = 0; i < flag; i++)
		put_float(&record, label + (float)i);
	assert_done(buf_adds(&record, image));
	put_frame(file, 0, record.data, record.len);
}

static int scan(struct foreign_fixture *f, const struct buf *file)
{
	fixture_write(f, "train.rec", file->data, file->len);
	return fixture_scan(f, &recordio_format, "train.rec");
}

static void refuses(struct foreign_fixture *f, const struct buf *file, const char *why)
{
	assert_int_equal(scan(f, file), -EBADMSG);
	assert_string_equal(f->err.text, why);
}

TEST_OF(f, test_images_get_their_class_by_label)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;

	put_image(&file, 0, 7, 3, "\xff\xd8\xff one");
	put_image(&file, 2, 12, 4, "\x89PNG\r\n\x1a\n");
	put_image(&file, 0, 0.5, 5, "\xff\xd8\xff");
	assert_done(scan(f, &file));
	assert_int_equal(fixture_probe(f, &recordio_format, "train.rec"), 1);
	assert_done(scan(f, &file));
	assert_int_equal(tree_count(&f->tree), 3);
	assert_string_equal(fixture_file(f, 0), "0007/train-00000000.JPEG \xff\xd8\xff one");
	assert_string_equal(fixture_file(f, 1), "0012/train-00000001.png \x89PNG\r\n\x1a\n");
	assert_string_equal(fixture_file(f, 2), "images/train-00000002.JPEG \xff\xd8\xff");
	assert_string_equal(fixture_note(f, 0), "1 records have several labels: the first counts");
	assert_string_equal(fixture_note(f, 1),
			    "1 records have a label that is no number of a class");
}

TEST_OF(f, test_the_list_beside_it_has_paths)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;

	put_image(&file, 0, 1, 9, "nine");
	put_image(&file, 0, 2, 3, "three");
	put_image(&file, 0, 3, 4, "four");
	put_image(&file, 0, 4, 5, "five");
	fixture_say(f, "train.lst",
		    "3\t2.000000\tcat/a.jpg\r\n\nx\ty\n4\t3.0\tb.png\n9\t1.0\t0.5\tdog/n.jpg\n"
		    "5\t4.0\t12.5");
	assert_done(scan(f, &file));
	assert_string_equal(fixture_file(f, 0), "dog/n.jpg nine");
	assert_string_equal(fixture_file(f, 1), "cat/a.jpg three");
	assert_string_equal(fixture_file(f, 2), "0003/b.png four");
	assert_string_equal(fixture_file(f, 3), "0004/train-00000003.bin five");
}

/* The magic number at a multiple of 4 is that of the next part's frame. */
TEST_OF(f, test_what_is_in_parts_is_one_and_what_has_no_image_is_left_out)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;
	SCOPE(buf_release) struct buf image = BUF_INIT;

	put_image(&image, 0, 1, 0, "begin...middle..end");
	put_image(&file, 0, 1, 0, "");
	put_frame(&file, 1, image.data + 8, 24 + 8);
	put_frame(&file, 2, image.data + 8 + 32, 8);
	put_frame(&file, 3, image.data + 8 + 40, 3);
	put_image(&file, 0, 1, 1, "one");
	assert_done(scan(f, &file));
	assert_int_equal(tree_count(&f->tree), 2);
	assert_string_equal(fixture_file(f, 0), "0001/train-00000001.bin ");
	assert_int_equal(tree_rows(&f->tree)[0].size, strlen("begin...MAGCmiddle..MAGCend"));
	assert_string_equal(fixture_file(f, 1), "0001/train-00000002.bin one");
	assert_string_equal(fixture_note(f, 0), "1 records without an image are left out");
}

TEST_OF(f, test_refusals_name_the_record)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;
	size_t first;

	put_image(&file, 0, 1, 1, "one!");
	first = file.len;
	put_frame(&file, 0, "short", 5);
	refuses(f, &file, "record 1: 5 bytes are no image record");
	file.len = first;
	put_frame(&file, 2, "odd", 3);
	refuses(f, &file, "record 1: part 2 at byte 36 is out of order");
	file.len = first;
	put_frame(&file, 1, "odd", 3);
	refuses(f, &file, "record 1: its last part is missing");
	file.len = first;
	put_image(&file, 0, 1, 1, "two");
	le_put32(file.data + first, 1);
	refuses(f, &file, "record 1: no magic number at byte 36");
	le_put32(file.data + first, MAGIC);
	le_put32(file.data + first + 8, UINT32_MAX);
	refuses(f, &file, "record 1: 4294967295 labels in 27 bytes");
	file.len = first + 20;
	refuses(f, &file, "record 1: truncated: 27 bytes at byte 44 of a file of 56");
	file.len = first + 6;
	refuses(f, &file, "record 1: truncated: 8 bytes at 36, of 42 bytes in all");
}

TEST_OF(f, test_damage_anywhere_is_survived)
{
	SCOPE(buf_release) struct buf file = BUF_INIT;

	put_image(&file, 0, 1, 1, "one");
	put_frame(&file, 1, "begin", 5);
	put_frame(&file, 3, "end", 3);
	put_image(&file, 2, 2, 2, "two");
	fixture_maul(f, &recordio_format, (const uint8_t *)file.data, file.len);
}
