/* Images and labels in Python's encodings: where they are found, and what is refused. */
#include "pack/foreign/lmdb/sample.h"
#include "tests/unit/arrow_samples.h"
#include "tests/unit/foreign_bytes.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <string.h>

struct fixture {
	struct pickle *pickle;
	struct foreign_bytes bytes;
	uint8_t data[ARROW_SAMPLE_MOST];
	size_t len;
	struct sample sample;
	struct err err;
};

static void setup(struct fixture *f)
{
	assert_int_equal(pickle_new(&f->pickle), 0);
}

static void teardown(struct fixture *f)
{
	if (f->bytes.reader)
		foreign_bytes_release(&f->bytes);
	pickle_free(f->pickle);
}

static void must_lie_within(const struct fixture *f, size_t len)
{
	assert_true(f->sample.offset <= len && f->sample.size <= len - f->sample.offset);
}

static int read_bytes(struct fixture *f, const void *data, size_t len)
{
	int r;

	if (f->bytes.reader)
		foreign_bytes_release(&f->bytes);
	foreign_bytes_init(&f->bytes, data, len);
	f->err.text[0] = '\0';
	r = sample_read(f->pickle, &f->bytes.source, 0, len, &f->sample, &f->err);
	if (r == 0)
		must_lie_within(f, len);
	else
		assert_true(f->err.text[0]);
	return r;
}

#define refuses(f, literal, error, words)                                             \
	do {                                                                          \
		assert_int_equal(read_bytes(f, literal, sizeof(literal) - 1), error); \
		assert_string_equal((f)->err.text, words);                            \
	} while (0)

static void assert_sample(struct fixture *f, const void *data, size_t len, int64_t label)
{
	int r = read_bytes(f, data, len);

	if (r < 0)
		fail_msg("%d: %s", r, f->err.text);
	assert_int_equal(f->sample.size, 5);
	assert_memory_equal((const uint8_t *)data + f->sample.offset, "image", 5);
	assert_int_equal(f->sample.label, label);
}

static void load(struct fixture *f, const char *text)
{
	f->len = arrow_sample(text, f->data);
}

/* --- pickle ------------------------------------------------------------------------------ */

#define U1                                                                          \
	"cnumpy\ndtype\nX\2\0\0\0u1\x89\x88\x87R(K\3X\1\0\0\0|NNNJ\xff\xff\xff\xff" \
	"J\xff\xff\xff\xffK\0tb"
#define ARRAY                                                            \
	"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85" \
	"C\1b\x87R"

FIXTURE(f, struct fixture, setup, teardown);

TEST_OF(f, test_pickles)
{
	static const char pair[] = "\x80\3C\5image\x8a\1\7\x86.", plain[] = "\x80\3C\5image.";
	static const char array[] = "\x80\3](" ARRAY "(K\1K\5\x85" U1
				    "\x89"
				    "C\5imagetbK\7e.";
	static const char buffer[] =
		"\x80\4](cnumpy.core.numeric\n_frombuffer\n(C\5image" U1 "K\5\x85X\1\0\0\0CtRK\7e.";
	static const char python2[] = "\x80\2U\5imageq\1K\7\x86q\2.";

	assert_sample(f, pair, sizeof(pair) - 1, 7);
	assert_sample(f, python2, sizeof(python2) - 1, 7);
	assert_sample(f, plain, sizeof(plain) - 1, FOREIGN_NO_LABEL);
	assert_sample(f, array, sizeof(array) - 1, 7);
	assert_int_equal(f->sample.dimensions, 1);
	assert_sample(f, buffer, sizeof(buffer) - 1, 7);
}

TEST_OF(f, test_pickles_of_something_else)
{
	refuses(f, "\x80\3K\1C\1x\x86.", -EOPNOTSUPP, "a number, where an image is expected");
	refuses(f, "\x80\3C\1xK\1K\1\x87.", -EOPNOTSUPP, "more than an image and its label");
	refuses(f, "\x80\3C\1x\x8c\1aK\1\x87.", -EOPNOTSUPP, "more than an image and its label");
	refuses(f, "\x80\3C\1xG\0\0\0\0\0\0\0\0\x86.", -EOPNOTSUPP,
		"a float, where an image and its label are expected");
	refuses(f, "\x80\4]q\0h\0a.", -EOPNOTSUPP,
		"lists in lists, where an image and its label are expected");
	refuses(f, "\x80\4}\x8c\1aC\1xs.", -EOPNOTSUPP,
		"a dict without 'image': --image-key names the image");
	refuses(f, "(S'x'\nI1\nt.", -EOPNOTSUPP, "a pickle with the opcode STRING");
	refuses(f, "\x80\3).", -EOPNOTSUPP, "no image");
	refuses(f,
		"\x80\3](" ARRAY "(K\1K\6\x85" U1
		"\x89"
		"C\5imagetbK\7e.",
		-EBADMSG, "an array that has not as many bytes as it says");
	refuses(f,
		"\x80\3](" ARRAY "(K\1K\5\x85" U1
		"\x88"
		"C\5imagetbK\7e.",
		-EOPNOTSUPP, "another object, where an image and its label are expected");
	refuses(f, "\x80\3](" ARRAY "e.", -EOPNOTSUPP,
		"another object, where an image and its label are expected");
}

static void assert_texts(struct fixture *f, const char *class, const char *path)
{
	assert_int_equal(f->sample.class.len, strlen(class));
	assert_memory_equal(f->sample.class.data ? f->sample.class.data : "", class, strlen(class));
	assert_int_equal(f->sample.path.len, strlen(path));
	assert_memory_equal(f->sample.path.data ? f->sample.path.data : "", path, strlen(path));
}

#define assert_pickle(f, literal, label) assert_sample(f, literal, sizeof(literal) - 1, label)

/* An array of one element, of this type and these bytes. */
#define ONE(type, bytes)                                                 \
	"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85" \
	"C\1b\x87R(K\1K\1\x85"                                           \
	"cnumpy\ndtype\nX\2\0\0\0" type                                  \
	"\x89\x88\x87R(K\3X\1\0\0\0<NNNJ\xff\xff\xff\xff"                \
	"J\xff\xff\xff\xffK\0tb\x89" bytes "tb"

TEST_OF(f, test_pickles_as_loaders_collate_them)
{
	assert_pickle(f, "\x80\4C\5image\x85K\7\x86.", 7);
	assert_pickle(f,
		      "\x80\4](C\5imageK\7\x86"
		      "e.",
		      7);
	assert_pickle(f, "\x80\4C\5image\x85" ONE("i8", "C\10\7\0\0\0\0\0\0\0") "\x86.", 7);
	assert_pickle(f, "\x80\4C\5image" ONE("u1", "C\1\7") "\x86.", 7);
	assert_pickle(f, "\x80\4C\5imageN\x86.", FOREIGN_NO_LABEL);
	assert_texts(f, "", "");
	assert_pickle(f, "(U\5imageI7\nt.", 7);
}

TEST_OF(f, test_pickles_with_texts)
{
	assert_pickle(f,
		      "\x80\4C\5image\x8c\1"
		      "7\x86.",
		      7);
	assert_pickle(f, "\x80\4C\5imageC\3cat\x86.", FOREIGN_NO_LABEL);
	assert_texts(f, "cat", "");
	assert_pickle(f, "\x80\4C\5image\x8c\7a/b.PNG\x86.", FOREIGN_NO_LABEL);
	assert_texts(f, "", "a/b.PNG");
	assert_pickle(f, "\x80\4\x8c\5b.jpgC\5imageK\7\x87.", 7);
	assert_texts(f, "", "b.jpg");
	assert_pickle(f, "\x80\4C\5image\x8c\3jpg\x86.", FOREIGN_NO_LABEL);
	assert_texts(f, "jpg", "");
}

TEST_OF(f, test_pickles_of_dicts)
{
	assert_pickle(f, "\x80\4}(\x8c\5labelK\7\x8c\3imgC\5imageu.", 7);
	assert_false(f->sample.others);
	assert_pickle(f,
		      "\x80\4}(\x8c\5image}(\x8c\5bytesC\5image\x8c\4path\x8c\5a.jpgu"
		      "\x8c\5labelK\7\x8c\4maskK\1u.",
		      7);
	assert_texts(f, "", "a.jpg");
	assert_true(f->sample.others);
}

/* --- msgpack ----------------------------------------------------------------------------- */

#define ND                                                                     \
	"\xc4\2nd\xc3\xc4\4type\xa3|u1\xc4\4kind\xc4\0\xc4\5shape\x91\5\xc4\4" \
	"data"

TEST_OF(f, test_msgpack)
{
	static const char array[] = "\x92\x85" ND "\xc4\5image\xcd\1\0";
	static const char raw[] =
		"\x92\x84\xa2nd\xc3\xa4type\xa3|u1\xa5shape\x91\5\xa4"
		"data\xa5image\7";
	static const char wide[] = "\x92\xc6\0\0\0\5image\xd3\0\0\0\0\0\0\0\7";
	static const char number[] =
		"\x92\xc4\5image\x83\xc4\2nd\xc2\xc4\4type\xa3<i8\xc4\4"
		"data\xc4\x08\7\0\0\0\0\0\0\0";
	static const char one[] =
		"\x92\xc4\5image\x84\xc4\2nd\xc3\xc4\4type\xa3<i4\xc4\5shape\x91\1\xc4\4"
		"data\xc4\4\7\0\0\0";

	assert_sample(f, number, sizeof(number) - 1, 7);
	assert_sample(f, one, sizeof(one) - 1, 7);
	assert_sample(f, array, sizeof(array) - 1, 256);
	assert_sample(f, raw, sizeof(raw) - 1, 7);
	assert_sample(f, wide, sizeof(wide) - 1, 7);
	for (size_t len = 0; len < sizeof(array) - 1; len++)
		assert_true(read_bytes(f, array, len) < 0);
}

TEST_OF(f, test_msgpack_of_something_else)
{
	refuses(f, "\x92\xc1\7", -EOPNOTSUPP, "msgpack with the type 0xc1");
	refuses(f, "\x92\xca\0\0\0\0", -EOPNOTSUPP, "msgpack with the type 0xca");
	refuses(f, "\x92\xc4\1x\xcf\xff\xff\xff\xff\xff\xff\xff\xff", -EOPNOTSUPP,
		"a number of more than 63 bits");
	refuses(f, "\x92\xdf\xff\xff\xff\xff", -EOPNOTSUPP,
		"a dict, where an image and its label are expected");
	refuses(f, "\x92\xc6\xff\xff\xff\xffx", -EBADMSG, "msgpack that is cut off");
	refuses(f, "\x92\xc4\1x\7x", -EBADMSG, "msgpack that ends before its record");
	refuses(f, "\x92\x81\xc4\5shape\x94\1\1\1\1", -EOPNOTSUPP,
		"an array of another shape, where an image and its label are expected");
	refuses(f, "\x92\x81\xc4\5shape\x92\xd3\x7f\xff\xff\xff\xff\xff\xff\xff", -EBADMSG,
		"msgpack that is cut off");
}

/* --- Arrow ------------------------------------------------------------------------------- */

static const char *const pairs[] = {arrow_pair_0_9_0, arrow_pair_0_12_1, arrow_pair_0_14_1,
				    arrow_pair_0_17_1, arrow_pair_10_0_1};
static const char *const arrays[] = {arrow_array_0_9_0,	 arrow_array_0_10_0, arrow_array_0_11_1,
				     arrow_array_0_12_1, arrow_array_0_14_1, arrow_array_0_17_1,
				     arrow_array_10_0_1};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

TEST_OF(f, test_arrow_of_all_eras)
{
	for (size_t i = 0; i < COUNT(pairs); i++) {
		load(f, pairs[i]);
		assert_sample(f, f->data, f->len, 7);
		assert_int_equal(f->sample.dimensions, 0);
	}
	for (size_t i = 0; i < COUNT(arrays); i++) {
		load(f, arrays[i]);
		assert_sample(f, f->data, f->len, 7);
		assert_int_equal(f->sample.dimensions, 1);
	}
}

static void cut_off(struct fixture *f, const char *text)
{
	load(f, text);
	/* What fills the last block up is not needed. */
	for (size_t len = 0; len + 64 < f->len; len++)
		assert_true(read_bytes(f, f->data, len) < 0);
}

TEST_OF(f, test_arrow_that_is_cut_off)
{
	for (size_t i = 0; i < COUNT(pairs); i++)
		cut_off(f, pairs[i]);
	for (size_t i = 0; i < COUNT(arrays); i++)
		cut_off(f, arrays[i]);
}

/* These end with the array, and bytes that were not counted are before it. */
TEST_OF(f, test_arrays_of_0_10_that_are_cut_off)
{
	load(f, arrow_array_0_10_0);
	for (size_t len = f->len - 5; len < f->len; len++)
		assert_int_equal(read_bytes(f, f->data, len), -EBADMSG);
}

static void change_bytes(struct fixture *f, const char *text)
{
	static const uint8_t values[] = {0, 1, 2, 3, 4, 0x0c, 0x10, 0x40, 0x7f, 0x80, 0xfe, 0xff};

	load(f, text);
	for (size_t at = 0; at < f->len; at++) {
		uint8_t kept = f->data[at];

		f->data[at] = values[at % sizeof(values)];
		read_bytes(f, f->data, f->len);
		f->data[at] = 0xff;
		read_bytes(f, f->data, f->len);
		f->data[at] = kept;
	}
}

TEST_OF(f, test_no_byte_of_arrow_is_trusted)
{
	change_bytes(f, arrow_pair_0_12_1);
	change_bytes(f, arrow_array_0_10_0);
	change_bytes(f, arrow_array_10_0_1);
}

TEST_OF(f, test_other_arrow)
{
	load(f, arrow_pair_10_0_1);
	f->data[0] = 1;
	assert_int_equal(read_bytes(f, f->data, f->len), -EOPNOTSUPP);
	assert_string_equal(f->err.text,
			    "tensors or buffers, where an image and its label are expected");
	load(f, arrow_array_10_0_1);
	f->data[8] = 0;
	assert_int_equal(read_bytes(f, f->data, f->len), -EBADMSG);
	assert_string_equal(f->err.text, "Arrow without the array that it names");
	refuses(f, "an image of an LMDB", -EOPNOTSUPP, "neither a pickle, nor Arrow, nor msgpack");
}

/* --- pixels ------------------------------------------------------------------------------ */

TEST_OF(f, test_arrays_that_are_pixels)
{
	struct foreign_pixels pixels;
	struct sample sample = {.dimensions = 3, .shape = {4, 6, 3}};

	assert_true(sample_pixels(&sample, &pixels));
	assert_int_equal(pixels.width, 6);
	assert_int_equal(pixels.height, 4);
	assert_int_equal(pixels.layout, FOREIGN_BGR);
	sample.shape[2] = 1;
	assert_true(sample_pixels(&sample, &pixels));
	assert_int_equal(pixels.layout, FOREIGN_GRAY);
	sample.shape[2] = 4;
	assert_false(sample_pixels(&sample, &pixels));
	sample = (struct sample){.dimensions = 2, .shape = {65536, 1}};
	assert_false(sample_pixels(&sample, &pixels));
}
