/* What torch.save() wrote as a tree: pack/foreign/archive/torch_pth.c. */
#include "tests/unit/archive_scan.h"
#include "tests/unit/test.h"
#include "tests/unit/zip_writer.h"

extern const struct foreign_format torch_format;

/* Pickles without NUL, so that they are text. A tensor of a storage that begins with a byte that is
 * not of it. */
#define STORAGE(type, key)                      \
	"((\x8c\x07storage"                     \
	"ctorch\n" type "Storage\n\x8c\x01" key \
	"\x8c\x03"                              \
	"cpuK\x06tQK\x01"
#define TENSOR(type, key, shape, stride) \
	"ctorch._utils\n_rebuild_tensor_v2\n" STORAGE(type, key) shape stride "\x89NtR"
#define BYTES(n)     TENSOR("Byte", "0", "K" n "\x85", "K\x01\x85")
#define OBJECT(text) "\x80\x04" text "."

static void save(struct scan *scan, const char *object)
{
	struct zip_written entries[] = {{.name = "archive/data.pkl", .text = object},
					{.name = "archive/version", .text = "3\n"},
					{.name = "archive/data/0", .text = "-PHOTO"},
					{.name = "archive/data/1", .text = "-rgbRG"}};

	zip_write(&scan->bytes, entries, 4, "");
}

static void set_up(struct scan *scan)
{
	scan->format = &torch_format;
}

static void expect(struct scan *scan, const char *object, const char *lines)
{
	save(scan, object);
	scan_expect(scan, lines);
}

static void refuse(struct scan *scan, const char *object, int code, const char *sentence)
{
	save(scan, object);
	scan_expect_failure(scan, code, sentence);
}

FIXTURE(scan, struct scan, set_up, scan_release);

/* --- tests ------------------------------------------------------------------------------------ */

TEST_OF(scan, lists_dicts_and_columns_are_read)
{
	expect(scan, OBJECT("](" BYTES("\x05") "K\x07\x86" BYTES("\x02") "e"),
	       "file 0007/00000000.bin: PHOTO\nfile images/00000001.bin: PH\n");
	expect(scan,
	       OBJECT("}(\x8c\x05"
		      "a/b.c" BYTES("\x05") "\x8c\x01"
					    "d" BYTES("\x01") "\x8c\x03"
							      "cat\x86u"),
	       "file a/b.c: PHOTO\nfile cat/d.bin: P\n");
	expect(scan,
	       OBJECT("](" BYTES("\x05") BYTES("\x01") "e](K\x01K\x02"
						       "e\x86"),
	       "file 0001/00000000.bin: PHOTO\nfile 0002/00000001.bin: P\n");
}

TEST_OF(scan, tensors_of_pixels_are_images)
{
	expect(scan,
	       OBJECT("](" TENSOR("Byte", "1", "(K\x03K\x01K\x01t", "(K\x01K\x01K\x01t")
			      TENSOR("Byte", "1", "(K\x01K\x01K\x03t", "(K\x03K\x03K\x01t")
				      TENSOR("Byte", "1", "K\x02K\x02\x86", "K\x02K\x01\x86") "e"),
	       "pixels images/00000000.ppm of 14 bytes\npixels images/00000001.ppm of 14 bytes\n"
	       "pixels images/00000002.pgm of 15 bytes\n");
}

TEST_OF(scan, what_is_not_read_is_refused_with_its_record)
{
	refuse(scan, OBJECT("](" TENSOR("Float", "0", "K\x01\x85", "K\x01\x85") "e"), -EOPNOTSUPP,
	       "record 0: a tensor of FloatStorage, which holds no integers");
	refuse(scan, OBJECT("](" TENSOR("Long", "0", "K\x01\x85", "K\x01\x85") "e"), -EBADMSG,
	       "record 0: a tensor that is not in its storage");
	refuse(scan, OBJECT("](" BYTES("\x06") "e"), -EBADMSG,
	       "record 0: a tensor that is not in its storage");
	refuse(scan, OBJECT("](" TENSOR("Byte", "9", "K\x01\x85", "K\x01\x85") "e"), -EBADMSG,
	       "record 0: a tensor whose bytes are not in the file");
	refuse(scan, OBJECT("](" TENSOR("Byte", "0", "K\x02\x85", "K\x02\x85") "e"), -EOPNOTSUPP,
	       "record 0: a tensor that is not contiguous: save tensor.contiguous()");
	refuse(scan,
	       OBJECT("](" BYTES("\x05") BYTES("\x05") "\x86"
						       "e"),
	       -EOPNOTSUPP, "record 0: a label that is a tensor of several numbers");
	refuse(scan,
	       OBJECT("](K\x01"
		      "e"),
	       -EOPNOTSUPP, "record 0: an image that is neither bytes nor a tensor");
	refuse(scan,
	       OBJECT("](" BYTES("\x05") "N\x86"
					 "e"),
	       -EOPNOTSUPP, "record 0: a label that is neither a number nor text");
	refuse(scan,
	       OBJECT("](" BYTES("\x05") "e](K\x01K\x02"
					 "e\x86"),
	       -EBADMSG, "1 images and 2 labels");
	refuse(scan, OBJECT("K\x01"), -EOPNOTSUPP,
	       "an object that is neither a list nor a dict of images");
}

/* [2^31 - 1, 0] has no bytes, and so many images. */
TEST_OF(scan, tensors_of_nothing_are_no_images)
{
	char object[] = OBJECT(TENSOR("Byte", "0", "J\xff\xff\xff\x7fK!\x86", "K!K\x01\x86"));

	for (char *at = object; (at = strchr(at, '!')); at++)
		*at = '@';
	save(scan, object);
	for (size_t i = 0; i < scan->bytes.len; i++)
		if (scan->bytes.data[i] == '@')
			scan->bytes.data[i] = '\0';
	scan_expect(scan, "");
}

TEST_OF(scan, damage_anywhere_is_survived)
{
	save(scan, OBJECT("](" BYTES("\x05") "K\x07\x86" BYTES("\x02") "e"));
	scan_maul(scan);
	scan_expect_no_beginning(scan, 0);
}
