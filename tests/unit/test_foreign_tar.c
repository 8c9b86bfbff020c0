/* The members of a tar as a tree, and as classes: pack/foreign/archive/tar.c. */
#include "pack/foreign/archive/tar_header.h"
#include "tests/unit/archive_scan.h"

extern const struct foreign_format tar_format;

#define RECORD	 ((size_t)512)
#define A_MOMENT 1500000000

/* --- making tars ------------------------------------------------------------------------------ */

struct head {
	char type;
	const char *name, *target;
	unsigned mode;
	uint64_t size;
};

static void put_octal(char *field, unsigned digits, uint64_t value)
{
	for (; digits > 0; value /= 8)
		field[--digits] = (char)('0' + value % 8);
}

static void sum_block(char *block)
{
	unsigned sum = 8 * ' ';

	for (size_t i = 0; i < RECORD; i++)
		sum += i >= 148 && i < 156 ? 0 : (unsigned char)block[i];
	put_octal(block + 148, 6, sum);
	memcpy(block + 154, "\0 ", 2);
}

static void add_head(struct buf *tar, const struct head *head)
{
	static const char ustar[8] = {'u', 's', 't', 'a', 'r', '\0', '0', '0'};
	char block[512] = {0};

	memcpy(block, head->name, strnlen(head->name, 100));
	put_octal(block + 100, 7, head->mode ? head->mode : 0644);
	put_octal(block + 124, 11, head->size);
	put_octal(block + 136, 11, A_MOMENT);
	block[156] = head->type;
	if (head->target)
		memcpy(block + 157, head->target, strnlen(head->target, 100));
	memcpy(block + 257, ustar, sizeof(ustar));
	sum_block(block);
	assert_done(buf_add(tar, block, sizeof(block)));
}

static void add_body(struct buf *tar, const void *data, size_t len)
{
	static const char zeros[512];

	assert_done(buf_add(tar, data, len));
	assert_done(buf_add(tar, zeros, -len % RECORD));
}

static void add_bytes(struct buf *tar, char type, const char *name, const void *data, size_t len)
{
	add_head(tar, &(struct head){.type = type, .name = name, .size = len});
	add_body(tar, data, len);
}

static void add_file(struct buf *tar, const char *name, const char *text)
{
	add_bytes(tar, '0', name, text, strlen(text));
}

static void add(struct buf *tar, char type, const char *name, const char *target)
{
	add_head(tar, &(struct head){.type = type, .name = name, .target = target});
}

static void add_pax(struct buf *tar, char type, const char *records)
{
	add_bytes(tar, type, "PaxHeaders/x", records, strlen(records));
}

static void add_end(struct buf *tar)
{
	static const char zeros[1024];

	assert_done(buf_add(tar, zeros, sizeof(zeros)));
}

/* --- fixture ---------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct scan *scan = calloc(1, sizeof(*scan));

	assert_non_null(scan);
	scan->format = &tar_format;
	*state = scan;
	return 0;
}

static int tear_down(void **state)
{
	scan_release(*state);
	free(*state);
	return 0;
}

/* --- a tree ----------------------------------------------------------------------------------- */

static void members_keep_names_bytes_and_attributes(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_head(tar, &(struct head){.type = '5', .name = "./", .mode = 0711});
	add_head(tar, &(struct head){.type = '5', .name = "d/", .mode = 0750});
	add_file(tar, "./d/x", "one");
	add(tar, '2', "d/l", "../y");
	add(tar, '1', "d/h", "./d/x");
	add_file(tar, "/y", "");
	add_file(tar, "old/", "");
	add_end(tar);
	scan_expect(scan,
		    "folder  711\nfolder d 750\nfile d/x: one\nlink d/l -> ../y\n"
		    "file d/h: one\nfile y: \nfolder old 644\n");
}

static void long_names_come_from_gnu_and_from_pax(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_bytes(tar, 'L', "././@LongLink", "a/long name", 12);
	add_bytes(tar, 'K', "././@LongLink", "a/long target", 14);
	add(tar, '2', "cut", "cut");
	add_pax(tar, 'x', "15 path=b/name\n19 linkpath=target\n");
	add(tar, '2', "cut", "cut");
	add_pax(tar, 'x', "10 size=3\n");
	add_head(tar, &(struct head){.type = '0', .name = "c"});
	add_body(tar, "abc", 3);
	add_file(tar, "d", "no size of pax");
	add_end(tar);
	scan_expect(scan,
		    "link a/long name -> a/long target\nlink b/name -> target\nfile c: abc\n"
		    "file d: no size of pax\n");
}

/* The header has the first 100 bytes of a long name, of which the last may be a slash. */
static void a_long_name_that_is_cut_at_a_slash_is_a_file(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;
	char name[128] = "", expected[256];

	memset(name, 'd', 99);
	strcpy(name + 99, "/x.jpg");
	add_bytes(tar, 'L', "././@LongLink", name, strlen(name) + 1);
	add_file(tar, name, "photo");
	add_file(tar, "old/", "");
	add_end(tar);
	snprintf(expected, sizeof(expected), "file %s: photo\nfolder old 644\n", name);
	scan_expect(scan, expected);
}

static void the_prefix_of_ustar_is_part_of_the_name(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_file(tar, "name", "x");
	memcpy(tar->data + 345, "some/folder", 11);
	sum_block(tar->data);
	add_end(tar);
	scan_expect(scan, "file some/folder/name: x\n");
}

static void numbers_may_be_binary(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_file(tar, "x", "1234");
	memcpy(tar->data + 124, "\x80\0\0\0\0\0\0\0\0\0\0\4", 12);
	memset(tar->data + 136, 0xff, 12);
	sum_block(tar->data);
	add_end(tar);
	scan_expect(scan, "file x: 1234\n");
	memcpy(tar->data + 124, "\x80\0\0\0\x80\0\0\0\0\0\0\4", 12);
	sum_block(tar->data);
	scan_expect_failure(scan, -EBADMSG, "member 0 ('x'): its size is no number");
	memset(tar->data + 124, 0xff, 12);
	sum_block(tar->data);
	scan_expect_failure(scan, -EBADMSG, "member 0 ('x'): its size is no number");
}

static void what_has_no_bytes_of_its_own_is_noted(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add(tar, '3', "tty", NULL);
	add(tar, '4', "sda", NULL);
	add(tar, '6', "pipe", NULL);
	add_bytes(tar, 'S', "sparse", "part", 4);
	add_pax(tar, 'x', "22 GNU.sparse.major=1\n");
	add_file(tar, "GNUSparseFile.1/x", "map");
	add(tar, 'V', "volume", NULL);
	add_bytes(tar, 'M', "rest", "of it", 5);
	add_file(tar, "x", "1");
	add_file(tar, "./x", "2");
	add(tar, '1', "h", "nowhere");
	add(tar, '2', "l", "");
	add_end(tar);
	scan_expect(scan,
		    "file x: 1\nnote left out: 2 sparse files\nnote left out: 2 devices\n"
		    "note left out: 1 named pipes\nnote left out: 1 members of unknown types\n"
		    "note left out: 1 members whose path came before\n"
		    "note left out: 1 hard links to files that did not come before\n"
		    "note left out: 1 symbolic links to nothing\n");
}

static void the_map_of_a_sparse_file_is_passed_over(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_head(tar, &(struct head){.type = 'S', .name = "sparse", .size = 4});
	tar->data[482] = 1;
	sum_block(tar->data);
	add_body(tar, "map", 3);
	tar->data[RECORD + 504] = 1;
	add_body(tar, "map", 3);
	add_body(tar, "part", 4);
	add_file(tar, "x", "1");
	add_end(tar);
	scan_expect(scan, "file x: 1\nnote left out: 1 sparse files\n");
}

static void tars_one_after_the_other_are_one(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_file(tar, "a", "1");
	add_end(tar);
	add_end(tar);
	add_file(tar, "b", "2");
	add_end(tar);
	scan_expect(scan, "file a: 1\nfile b: 2\n");
	assert_done(buf_add(tar, "garbage", 7));
	scan_expect(scan,
		    "file a: 1\nfile b: 2\n"
		    "note behind the end of the tar are 7 bytes that are not shown\n");
}

static void a_tar_in_a_tar_is_a_folder(void **state)
{
	SCOPE(buf_release) struct buf inner = BUF_INIT;
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_file(&inner, "x.JPEG", "photo");
	add(&inner, '1', "y.JPEG", "x.JPEG");
	add_end(&inner);
	add_bytes(tar, '0', "n01440764.tar", inner.data, inner.len);
	add_bytes(tar, '0', "cut.tar", inner.data, 2 * RECORD);
	add_file(tar, "none.tar", "is none");
	add_end(tar);
	scan_expect_failure(scan, -EBADMSG,
			    "member 1: no end mark behind member 0: truncated, or not finished by "
			    "its writer");
	scan->bytes.len = 0;
	add_bytes(tar, '0', "n01440764.tar", inner.data, inner.len);
	add_file(tar, "none.tar", "is none");
	add_end(tar);
	scan_expect(scan,
		    "file n01440764/x.JPEG: photo\nfile n01440764/y.JPEG: photo\n"
		    "file none.tar: is none\n");
}

/* --- damage ----------------------------------------------------------------------------------- */

static void what_is_cut_off_is_told(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_file(tar, "a", "text");
	add_pax(tar, 'x', "15 path=b/name\n");
	add_file(tar, "b", "text");
	scan_expect_no_beginning(scan, 0);
	scan_expect_failure(scan, -EBADMSG,
			    "no end mark behind member 1: truncated, or not finished by its "
			    "writer");
	assert_int_equal(scan_first(scan, 700), -EBADMSG);
	assert_string_equal(scan->err.text,
			    "no end mark behind member 0: truncated, or not finished by its "
			    "writer");
	assert_int_equal(scan_first(scan, 515), -EBADMSG);
	assert_string_equal(scan->err.text, "member 0 ('a'): truncated: the file ends within it");
}

static void a_damaged_header_is_told(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_file(tar, "a", "text");
	add_file(tar, "b", "text");
	add_end(tar);
	tar->data[2 * RECORD] = 'c';
	scan_expect_failure(scan, -EBADMSG, "member 1: a header with a wrong checksum");
	tar->data[0] = 'c';
	assert_int_equal(scan_first(scan, tar->len), -ENOMSG);
}

static void expect_bad_pax(struct scan *scan, const char *records, const char *reason)
{
	SCOPE(buf_release) struct buf sentence = BUF_INIT;

	scan->bytes.len = 0;
	add_pax(&scan->bytes, 'x', records);
	add_file(&scan->bytes, "x", "");
	add_end(&scan->bytes);
	assert_done(
		buf_addf(&sentence, "member 0 ('PaxHeaders/x'): its pax header has %s", reason));
	scan_expect_failure(scan, -EBADMSG, sentence.data);
}

static void records_of_pax_are_checked(void **state)
{
	static const char length[] = "a record of no length";

	expect_bad_pax(*state, "path=x\n", length);
	expect_bad_pax(*state, "99 path=x\n", length);
	expect_bad_pax(*state, "2 path=x\n", length);
	expect_bad_pax(*state, "0 path=x\n", length);
	expect_bad_pax(*state, "99999999999999999999 path=x\n", length);
	expect_bad_pax(*state, "9 path=x\n\n", length);
	expect_bad_pax(*state, "12", length);
	expect_bad_pax(*state, "7 path\n", "a record without '='");
	expect_bad_pax(*state, "11 size=-1\n", "a size that is no number");
	expect_bad_pax(*state, "28 size=9223372036854775808\n", "a size that is no number");
	expect_bad_pax(*state, "13 mtime=1,5\n", "a time that is no number");
	expect_bad_pax(*state, "31 mtime=99999999999999999999\n", length);
	expect_bad_pax(*state, "30 mtime=99999999999999999999\n", "a time that is no number");
}

/* One of 1 MiB for all members had 10 MB of them take a minute and a half. */
static void paths_of_pax_are_no_longer_than_a_tree_has(void **state)
{
	static const char *const heads[] = {"4107 path=", "4111 linkpath="};

	for (size_t i = 0; i < 2; i++) {
		char records[4200] = "";

		memset(stpcpy(records, heads[i]), 'p', 4096);
		strcat(records, "\n");
		expect_bad_pax(*state, records, "a path of over 4095 bytes");
	}
}

static void headers_without_end_are_refused(void **state)
{
	struct scan *scan = *state;
	SCOPE_FREE char *name = calloc(1, 1100000);

	assert_non_null(name);
	memset(name, 'n', 1099999);
	add_bytes(&scan->bytes, 'L', "././@LongLink", name, 1100000);
	add_file(&scan->bytes, "x", "");
	add_end(&scan->bytes);
	scan_expect_failure(scan, -EBADMSG,
			    "member 0 ('././@LongLink'): a header of over 1 MiB in front of it");
}

/* Its bytes would lie at the end of the file. */
static void a_long_name_of_no_bytes_is_none(void **state)
{
	struct scan *scan = *state;

	add_file(&scan->bytes, "x", "read");
	add_bytes(&scan->bytes, 'L', "././@LongLink", "", 0);
	scan_expect_failure(
		scan, -EBADMSG,
		"no end mark behind member 0: truncated, or not finished by its writer");
}

static void paths_that_lead_out_are_refused(void **state)
{
	struct scan *scan = *state;

	add_file(&scan->bytes, "a", "");
	add_file(&scan->bytes, "../x", "");
	add_end(&scan->bytes);
	scan_expect_failure(scan, -EBADMSG, "record 1: its name is not one that a file can have");
}

/* --- classes ---------------------------------------------------------------------------------- */

static void samples_become_classes(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_file(tar, "__info__", "not a sample");
	add_file(tar, "a/x.1.cls", "7\n");
	add_file(tar, "a/x.jpg", "photo");
	add_end(tar);
	scan_expect(scan,
		    "file __info__: not a sample\nfile a/x.1.cls: 7\n\nfile a/x.jpg: photo\n");
	scan->bytes.len = 0;
	add_file(tar, "__info__", "not a sample");
	add_file(tar, "a/x.cls", "7\n");
	add_file(tar, "a/x.jpg", "photo");
	add_file(tar, "a/x.seg.PNG", "mask");
	add_file(tar, "a/x.json", "{}");
	add_file(tar, "y.jpeg", "another");
	add_file(tar, "y.cls", "tabby cat");
	add_file(tar, "dogs/z.jpg", "no class");
	add_file(tar, "w.png", "none at all");
	add_file(tar, "README", "no sample");
	add_end(tar);
	scan_expect(scan,
		    "file 0007/a/x.jpg: photo\nfile 0007/a/x.seg.PNG: mask\n"
		    "file tabby cat/y.jpeg: another\nfile dogs/z.jpg: no class\n"
		    "file images/w.png: none at all\n"
		    "note left out, as neither image nor class: 1 members\n"
		    "note left out, as of no sample: 1 members\n"
		    "note left out, as named __NAME__: 1 members\n"
		    "note without a .cls member: 2 images\n");
}

static void a_layout_may_be_asked_for(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;

	add_file(tar, "x.jpg", "photo");
	add_file(tar, "x.cls", "3");
	add_end(tar);
	scan_expect(scan, "file 0003/x.jpg: photo\n");
	scan->settings.layout = FOREIGN_TREE;
	scan_expect(scan, "file x.jpg: photo\nfile x.cls: 3\n");
	scan->bytes.len = 0;
	add_file(tar, "x.jpg", "photo");
	add_end(tar);
	scan->settings.layout = FOREIGN_CLASSES;
	scan_expect(scan, "file images/x.jpg: photo\nnote without a .cls member: 1 images\n");
}

static void expect_bad_class(struct scan *scan, const char *class, const char *sentence)
{
	scan->bytes.len = 0;
	add_file(&scan->bytes, "x.cls", class);
	add_file(&scan->bytes, "x.jpg", "photo");
	add_file(&scan->bytes, "x.cls", "1");
	add_end(&scan->bytes);
	scan_expect_failure(scan, -EBADMSG, sentence);
}

static void classes_are_checked(void **state)
{
	SCOPE_FREE char *text = calloc(1, 5001);

	assert_non_null(text);
	memset(text, '1', 5000);
	expect_bad_class(*state, "\n", "member 0 ('x.cls'): no class in it");
	expect_bad_class(*state, text, "member 0 ('x.cls'): too long for a class");
	expect_bad_class(*state, "1", "member 2 ('x.cls'): the sample has a class already");
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void signed_checksums_are_right_too(void **state)
{
	struct scan *scan = *state;
	struct buf *tar = &scan->bytes;
	int sum = 8 * ' ';

	add_file(tar, "\xc3\xa4", "x");
	add_end(tar);
	for (size_t i = 0; i < RECORD; i++)
		sum += i >= 148 && i < 156 ? 0 : (signed char)tar->data[i];
	put_octal(tar->data + 148, 6, (uint64_t)sum);
	scan_expect(scan, "file \xc3\xa4: x\n");
}

static void times_of_pax_are_kept_to_the_nanosecond(void **state)
{
	struct tar_extra extra = {0};

	(void)state;
	assert_done(tar_extra_read(&extra, "24 mtime=-12.3456789019\n", 24, NULL));
	assert_int_equal(extra.mtime, -12345678901);
	assert_done(tar_extra_read(&extra, "9 mtime=\n", 9, NULL));
	assert_false(extra.has_mtime);
	tar_extra_release(&extra);
}

#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(members_keep_names_bytes_and_attributes),
		test(long_names_come_from_gnu_and_from_pax),
		test(a_long_name_that_is_cut_at_a_slash_is_a_file),
		test(the_prefix_of_ustar_is_part_of_the_name),
		test(numbers_may_be_binary),
		test(what_has_no_bytes_of_its_own_is_noted),
		test(the_map_of_a_sparse_file_is_passed_over),
		test(tars_one_after_the_other_are_one),
		test(a_tar_in_a_tar_is_a_folder),
		test(what_is_cut_off_is_told),
		test(a_damaged_header_is_told),
		test(records_of_pax_are_checked),
		test(paths_of_pax_are_no_longer_than_a_tree_has),
		test(headers_without_end_are_refused),
		test(a_long_name_of_no_bytes_is_none),
		test(paths_that_lead_out_are_refused),
		test(samples_become_classes),
		test(a_layout_may_be_asked_for),
		test(classes_are_checked),
		test(signed_checksums_are_right_too),
		test(times_of_pax_are_kept_to_the_nanosecond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
