/* LMDBs of files by name: LSUN, BasicSR, paths, CRNN and PySODToolBox. */
#include "tests/unit/foreign_fixture.h"
#include "tests/unit/test.h"

extern const struct foreign_format lsun_format, basicsr_format, paths_format, crnn_format,
	sodtools_format;

#define JPEG "\xff\xd8\xff one"
#define PNG  "\x89PNG two"

TEST_OF(f, test_the_class_of_lsun_is_the_folder)
{
	const struct fixture_record records[] = {
		{"0a1b", JPEG, 0}, {"ffff", "RIFF....WEBP", 0}, {0}};

	fixture_lmdb(f, "church_outdoor_train_lmdb", 0, records);
	fixture_lmdb(f, "test_lmdb", 0, records);
	fixture_lmdb(f, "other", 0, records);
	fixture_lmdb(f, "mytest_lmdb", 0, records);
	assert_int_equal(fixture_probe(f, &lsun_format, "church_outdoor_train_lmdb/data.mdb"), 1);
	assert_int_equal(fixture_probe(f, &lsun_format, "test_lmdb/data.mdb"), 1);
	assert_int_equal(fixture_probe(f, &lsun_format, "other/data.mdb"), 0);
	assert_int_equal(fixture_probe(f, &lsun_format, "mytest_lmdb/data.mdb"), 0);
	assert_done(fixture_scan(f, &lsun_format, "church_outdoor_train_lmdb/data.mdb"));
	assert_string_equal(fixture_file(f, 0), "church_outdoor/0a1b.JPEG " JPEG);
	assert_string_equal(fixture_file(f, 1), "church_outdoor/ffff.webp RIFF....WEBP");
	assert_done(fixture_scan(f, &lsun_format, "test_lmdb/data.mdb"));
	assert_string_equal(fixture_file(f, 0), "images/0a1b.JPEG " JPEG);
	assert_done(fixture_scan(f, &lsun_format, "other/data.mdb"));
	assert_string_equal(fixture_file(f, 0), "other/0a1b.JPEG " JPEG);
}

TEST_OF(f, test_basicsr_is_known_by_its_list)
{
	const struct fixture_record records[] = {{"a/0001.x4", PNG, 0}, {"baboon", PNG, 0}, {0}};

	fixture_lmdb(f, "set.lmdb", 0, records);
	assert_int_equal(fixture_probe(f, &basicsr_format, "set.lmdb/data.mdb"), 0);
	fixture_say(f, "set.lmdb/meta_info.txt", "not (a list) of it\n");
	assert_int_equal(fixture_probe(f, &basicsr_format, "set.lmdb/data.mdb"), 0);
	fixture_say(f, "set.lmdb/meta_info.txt", "baboon.png (480,500,3) 1\n");
	assert_int_equal(fixture_probe(f, &basicsr_format, "set.lmdb/data.mdb"), 1);
	assert_done(fixture_scan(f, &basicsr_format, "set.lmdb/data.mdb"));
	assert_string_equal(fixture_file(f, 0), "a/0001.x4.png " PNG);
	assert_string_equal(fixture_file(f, 1), "baboon.png " PNG);
}

TEST_OF(f, test_keys_that_are_paths)
{
	const struct fixture_record records[] = {{"__len__", "3", 0},
						 {"a/b.jpg", JPEG, 0},
						 {"a/c.json", "{}", 0},
						 {"a/frame.0001", PNG, 0},
						 {"d.v2 final", PNG, 0},
						 {".e", PNG, 0},
						 {0}};

	fixture_lmdb(f, "set", 0, records);
	assert_done(fixture_scan(f, &paths_format, "set/data.mdb"));
	assert_int_equal(tree_count(&f->tree), 5);
	assert_string_equal(fixture_file(f, 0), ".e.png " PNG);
	assert_string_equal(fixture_file(f, 1), "a/b.jpg " JPEG);
	assert_string_equal(fixture_file(f, 2), "a/c.json {}");
	assert_string_equal(fixture_file(f, 3), "a/frame.0001.png " PNG);
	assert_string_equal(fixture_file(f, 4), "d.v2 final.png " PNG);
	assert_string_equal(fixture_note(f, 0), "1 records with keys as __len__ are left out");
}

TEST_OF(f, test_keys_that_are_no_paths_are_refused)
{
	const struct fixture_record records[] = {{"a.jpg", JPEG, 0}, {"b/../c.jpg", JPEG, 0}, {0}};
	const struct fixture_record first[] = {{"../c.jpg", JPEG, 0}, {0}};
	const struct fixture_record text[] = {{"a.jpg", "text", 0}, {0}};

	fixture_lmdb(f, "set", 0, records);
	assert_int_equal(fixture_probe(f, &paths_format, "set/data.mdb"), 1);
	assert_int_equal(fixture_scan(f, &paths_format, "set/data.mdb"), -EBADMSG);
	assert_string_equal(f->err.text, "record 1: its name is not one that a file can have");
	fixture_lmdb(f, "first", 0, first);
	assert_int_equal(fixture_probe(f, &paths_format, "first/data.mdb"), 0);
	fixture_lmdb(f, "text", 0, text);
	assert_int_equal(fixture_probe(f, &paths_format, "text/data.mdb"), 0);
}

TEST_OF(f, test_texts_of_crnn_become_a_table)
{
	const struct fixture_record records[] = {{"image-000000001", JPEG, 0},
						 {"image-000000002", PNG, 0},
						 {"label-000000001",
						  "Stra\xc3\x9f"
						  "e",
						  0},
						 {"label-000000002", "a\tb\n", 0},
						 {"lexicon-000000001", "x", 0},
						 {"num-samples", "2", 0},
						 {0}};

	fixture_lmdb(f, "set", 0, records);
	assert_int_equal(fixture_probe(f, &crnn_format, "set/data.mdb"), 1);
	assert_done(fixture_scan(f, &crnn_format, "set/data.mdb"));
	assert_int_equal(tree_count(&f->tree), 3);
	assert_string_equal(fixture_file(f, 0), "images/000000001.JPEG " JPEG);
	assert_string_equal(fixture_file(f, 1), "images/000000002.png " PNG);
	assert_string_equal(fixture_file(f, 2),
			    "labels.tsv images/000000001.JPEG\tStra\xc3\x9f"
			    "e\n"
			    "images/000000002.png\ta b \n");
	assert_string_equal(fixture_note(f, 0),
			    "1 records with other keys, as lexicons, are left out");
}

TEST_OF(f, test_what_lacks_its_other_half_is_told)
{
	const struct fixture_record records[] = {{"image-000000002", JPEG, 0},
						 {"image-000000003", JPEG, 0},
						 {"image-000000005", JPEG, 0},
						 {"label-000000001", "one", 0},
						 {"label-000000003", "three", 0},
						 {"label-000000004", "four", 0},
						 {0}};

	fixture_lmdb(f, "set", 0, records);
	assert_done(fixture_scan(f, &crnn_format, "set/data.mdb"));
	assert_string_equal(fixture_file(f, 3), "labels.tsv images/000000003.JPEG\tthree\n");
	assert_string_equal(fixture_note(f, 0), "2 images have no text");
	assert_string_equal(fixture_note(f, 1), "2 texts without an image are left out");
	assert_int_equal(f->tree.notes.len,
			 strlen(fixture_note(f, 0)) + strlen(fixture_note(f, 1)) + 2);
}

TEST_OF(f, test_a_count_of_crnn_is_compared)
{
	const struct fixture_record records[] = {{"image-000000001", JPEG, 0},
						 {"label-000000001", "one", 0},
						 {"num-samples", "2", 0},
						 {0}};

	fixture_lmdb(f, "set", 0, records);
	assert_done(fixture_scan(f, &crnn_format, "set/data.mdb"));
	assert_string_equal(fixture_note(f, 0), "1 images, where num-samples says 2");
}

TEST_OF(f, test_refusals_of_crnn)
{
	static char text[5000];
	const struct fixture_record wild[] = {
		{"image-000000001", JPEG, 0}, {"label-000000001", text, sizeof(text)}, {0}};
	const struct fixture_record none[] = {{"image-00000000x", JPEG, 0}, {0}};
	const struct fixture_record count[] = {
		{"image-000000001", JPEG, 0}, {"num-samples", "111111111111111111111", 0}, {0}};

	fixture_lmdb(f, "wild", 0, wild);
	assert_int_equal(fixture_scan(f, &crnn_format, "wild/data.mdb"), -EBADMSG);
	assert_string_equal(f->err.text, "record 0: a label of 5000 bytes");
	fixture_lmdb(f, "none", 0, none);
	assert_int_equal(fixture_probe(f, &crnn_format, "none/data.mdb"), 0);
	assert_int_equal(fixture_scan(f, &crnn_format, "none/data.mdb"), -EBADMSG);
	assert_string_equal(f->err.text, "no record has a key as image-000000001");
	fixture_lmdb(f, "count", 0, count);
	assert_int_equal(fixture_scan(f, &crnn_format, "count/data.mdb"), -EBADMSG);
	assert_string_equal(f->err.text, "num-samples is not a number");
}

/* A pickle of { "keys": ["a.jpg", "b.png"], "resolution": [shapes] }. */
static void say_meta(struct foreign_fixture *f, const char *name, const char *first,
		     const char *second)
{
	SCOPE(buf_release) struct buf pickle = BUF_INIT;
	const char *const shapes[] = {first, second};

	assert_done(buf_add(&pickle, "\x80\x03}(X\4\0\0\0keys](X\5\0\0\0a.jpgX\5\0\0\0b.png", 35));
	assert_done(buf_add(&pickle, "eX\12\0\0\0resolution](", 18));
	for (size_t i = 0; i < 2 && shapes[i]; i++) {
		uint8_t head[] = {'X', (uint8_t)strlen(shapes[i]), 0, 0, 0};

		assert_done(buf_add(&pickle, head, sizeof(head)));
		assert_done(buf_adds(&pickle, shapes[i]));
	}
	assert_done(buf_add(&pickle, "eu.", 3));
	fixture_write(f, name, pickle.data, pickle.len);
}

TEST_OF(f, test_pixels_have_their_shape_beside_them)
{
	const struct fixture_record records[] = {
		{"a.jpg", "bgrBGR", 0}, {"b.png", "123456", 0}, {0}};
	const struct made_row *pictures;

	fixture_lmdb(f, "set", 0, records);
	assert_int_equal(fixture_probe(f, &sodtools_format, "set/data.mdb"), 0);
	say_meta(f, "set/meta_info.pkl", "3_2_1", "1_2_3");
	assert_int_equal(fixture_probe(f, &sodtools_format, "set/data.mdb"), 1);
	assert_done(fixture_scan(f, &sodtools_format, "set/data.mdb"));
	assert_string_equal(fixture_file(f, 0), "a.ppm ");
	assert_string_equal(fixture_file(f, 1), "b.pgm ");
	pictures = (const void *)f->tree.made.data;
	assert_true(pictures[0].pixels.layout == FOREIGN_BGR);
	assert_true(pictures[0].pixels.height == 2 && pictures[0].pixels.width == 1);
	assert_true(pictures[1].pixels.layout == FOREIGN_GRAY && pictures[1].pixels.width == 3);
	say_meta(f, "set/meta_info.pkl", "3_1_2", NULL);
	assert_done(fixture_scan(f, &sodtools_format, "set/data.mdb"));
	assert_string_equal(fixture_file(f, 1), "b.ppm ");
	assert_int_equal(f->tree.notes.len, 0);
}

TEST_OF(f, test_pixels_that_are_not_named_are_counted)
{
	const struct fixture_record records[] = {
		{"a.jpg", "bgrBGR", 0}, {"b.png", "123456", 0}, {"c.png", "123456", 0}, {0}};

	fixture_lmdb(f, "set", 0, records);
	say_meta(f, "set/meta_info.pkl", "3_2_1", NULL);
	assert_done(fixture_scan(f, &sodtools_format, "set/data.mdb"));
	assert_string_equal(fixture_note(f, 0),
			    "1 records that meta_info.pkl does not name are left out");
}

static void refuses_meta(struct foreign_fixture *f, const char *first, const char *second, int code,
			 const char *why)
{
	say_meta(f, "set/meta_info.pkl", first, second);
	assert_int_equal(fixture_scan(f, &sodtools_format, "set/data.mdb"), code);
	assert_string_equal(f->err.text, why);
}

TEST_OF(f, test_refusals_of_pixels)
{
	const struct fixture_record records[] = {
		{"a.jpg", "bgrBGR", 0}, {"b.png", "123456", 0}, {0}};
	const struct fixture_record other[] = {{"a.jpg", "bgrBGR", 0}, {0}};

	fixture_lmdb(f, "set", 0, records);
	assert_int_equal(fixture_scan(f, &sodtools_format, "set/data.mdb"), -ENOENT);
	assert_string_equal(f->err.text, "meta_info.pkl: No such file or directory");
	refuses_meta(f, "3_2_1", "3_2_2", -EBADMSG, "record 1: 6 bytes are not 2 x 2 pixels");
	refuses_meta(f, "3_2_1", "3_0_2", -EBADMSG, "record 1: 6 bytes are not 2 x 0 pixels");
	refuses_meta(f, "2_3_1", NULL, -EOPNOTSUPP, "record 0: pixels of 2 channels");
	refuses_meta(f, "text", NULL, -EBADMSG, "record 0: no shape as \"3_480_640\"");
	refuses_meta(f, "3_2_1", "a shape of very many characters...", -EBADMSG,
		     "record 1: no shape as \"3_480_640\"");
	refuses_meta(f, NULL, NULL, -EBADMSG, "meta_info.pkl: 0 resolutions for 2 keys");
	fixture_write(f, "set/meta_info.pkl", "\x80\x03}.", 4);
	assert_int_equal(fixture_probe(f, &sodtools_format, "set/data.mdb"), 0);
	assert_int_equal(fixture_scan(f, &sodtools_format, "set/data.mdb"), -EBADMSG);
	assert_string_equal(f->err.text, "meta_info.pkl: no lists of keys and resolutions");
	fixture_write(f, "set/meta_info.pkl", "\x80\x03cos\nsystem\n.", 14);
	assert_int_equal(fixture_scan(f, &sodtools_format, "set/data.mdb"), -EOPNOTSUPP);
	fixture_lmdb(f, "other", 0, other);
	say_meta(f, "other/meta_info.pkl", "3_2_1", NULL);
	assert_int_equal(fixture_scan(f, &sodtools_format, "other/data.mdb"), -EBADMSG);
	assert_string_equal(f->err.text, "record 1: 'b.png' of meta_info.pkl is not there");
}
