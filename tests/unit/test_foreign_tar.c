/* The members of a tar as a tree, and as classes: pack/foreign/archive/tar.c. */
#include "pack/foreign/archive/tar_header.h"
#include "tests/unit/archive_scan.h"
#include "tests/unit/test.h"

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

/* Records of "key=value", to which their lengths are added. */
static void add_said(struct buf *tar, char type, const char *const *records)
{
	SCOPE(buf_release) struct buf all = BUF_INIT;

	for (; *records; records++) {
		size_t len = strlen(*records) + 2, digits = 1;

		while ((size_t)snprintf(NULL, 0, "%zu", len + digits) > digits)
			digits++;
		assert_done(buf_addf(&all, "%zu %s\n", len + digits, *records));
	}
	add_bytes(tar, type, "PaxHeaders/x", all.data, all.len);
}

#define SAID(...) ((const char *const[]){__VA_ARGS__, NULL})

static void add_end(struct buf *tar)
{
	static const char zeros[1024];

	assert_done(buf_add(tar, zeros, sizeof(zeros)));
}

/* --- fixture ---------------------------------------------------------------------------------- */

static void set_up(struct scan *scan)
{
	scan->format = &tar_format;
}

FIXTURE(scan, struct scan, set_up, scan_release);

static void end_and_expect(struct scan *scan, const char *lines)
{
	add_end(&scan->bytes);
	scan_expect(scan, lines);
}

/* --- a tree ----------------------------------------------------------------------------------- */

TEST_OF(scan, members_keep_names_bytes_and_attributes)
{
	struct buf *tar = &scan->bytes;

	add_head(tar, &(struct head){.type = '5', .name = "./", .mode = 0711});
	add_head(tar, &(struct head){.type = '5', .name = "d/", .mode = 0750});
	add_file(tar, "./d/x", "one");
	add(tar, '2', "d/l", "../y");
	add(tar, '1', "d/h", "./d/x");
	add_file(tar, "/y", "");
	add_file(tar, "old/", "");
	end_and_expect(scan,
		       "folder  711\nfolder d 750\nfile d/x: one\nlink d/l -> ../y\n"
		       "name 1 d/h: one\nfile y: \nfolder old 644\n");
}

TEST_OF(scan, long_names_come_from_gnu_and_from_pax)
{
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
	end_and_expect(scan,
		       "link a/long name -> a/long target\nlink b/name -> target\nfile c: abc\n"
		       "file d: no size of pax\n");
}

TEST_OF(scan, the_prefix_of_ustar_is_part_of_the_name)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "name", "x");
	memcpy(tar->data + 345, "some/folder", 11);
	sum_block(tar->data);
	end_and_expect(scan, "file some/folder/name: x\n");
}

TEST_OF(scan, numbers_may_be_binary)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "x", "1234");
	memcpy(tar->data + 124, "\x80\0\0\0\0\0\0\0\0\0\0\4", 12);
	memset(tar->data + 136, 0xff, 12);
	sum_block(tar->data);
	end_and_expect(scan, "file x: 1234\n");
	memcpy(tar->data + 124, "\x80\0\0\0\x80\0\0\0\0\0\0\4", 12);
	sum_block(tar->data);
	scan_expect_failure(scan, -EBADMSG, "member 0 ('x'): its size is no number");
	memset(tar->data + 124, 0xff, 12);
	sum_block(tar->data);
	scan_expect_failure(scan, -EBADMSG, "member 0 ('x'): its size is no number");
}

TEST_OF(scan, what_a_tree_cannot_hold_is_noted)
{
	struct buf *tar = &scan->bytes;

	add(tar, '3', "tty", NULL);
	add(tar, '4', "sda", NULL);
	add(tar, '6', "pipe", NULL);
	add(tar, 'V', "volume", NULL);
	add_bytes(tar, 'M', "rest", "of it", 5);
	add_file(tar, "x", "1");
	add_file(tar, "x/y", "below a file");
	add_file(tar, "../x", "outside");
	add_file(tar, "a/../x", "outside, perhaps");
	add(tar, '1', "h", "nowhere");
	add(tar, '2', "l", "");
	end_and_expect(
		scan,
		"file x: 1\nnote left out: 2 devices, such as 'tty'\n"
		"note left out: 1 named pipes, such as 'pipe'\n"
		"note left out: 1 parts of files in other volumes, such as 'rest'\n"
		"note left out: 2 members with '..' in their path, such as '../x'\n"
		"note left out: 1 members below what is not a folder, such as 'x/y'\n"
		"note left out: 1 hard links to files that did not come before, such as 'h'\n"
		"note left out: 1 symbolic links to nothing, such as 'l'\n");
}

/* --- what comes again ------------------------------------------------------------------------- */

TEST_OF(scan, the_last_member_of_a_path_counts)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "x", "1");
	add(tar, '1', "h", "x");
	add_file(tar, "./x", "2");
	add(tar, '2', "l", "x");
	add(tar, '2', "l", "h");
	add_file(tar, "d", "a file first");
	add_head(tar, &(struct head){.type = '5', .name = "d", .mode = 0700});
	add_file(tar, "d/in", "3");
	add(tar, '1', "x", "x");
	end_and_expect(scan,
		       "name 1 h: 1\nfile x: 2\nlink l -> h\nfolder d 700\nfile d/in: 3\n"
		       "note paths that come again, of which the last member counts: 3, such as "
		       "'x'\n");
}

TEST_OF(scan, a_folder_that_has_files_gives_way_to_nothing)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "d/x", "1");
	add_file(tar, "d", "a file");
	add(tar, '2', "d", "a link");
	add_head(tar, &(struct head){.type = '5', .name = "d/", .mode = 0700});
	add_head(tar, &(struct head){.type = '5', .name = "empty/", .mode = 0700});
	add_file(tar, "empty", "no folder any more");
	end_and_expect(scan,
		       "folder d 700\nfile d/x: 1\nfile empty: no folder any more\n"
		       "note left out: 2 members in the place of folders that have files, such as "
		       "'d'\n");
}

TEST_OF(scan, members_below_a_link_lie_where_it_leads)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "real/x", "1");
	add(tar, '2', "cat", "./real/");
	add(tar, '2', "to", "cat");
	add_file(tar, "to/y", "2");
	add(tar, '1', "h", "cat/x");
	add(tar, '2', "out", "/real");
	add_file(tar, "out/z", "absolute");
	add(tar, '2', "real/up", "../real");
	add_file(tar, "real/up/z", "up");
	add(tar, '2', "self", "self");
	add_file(tar, "self/z", "for ever");
	add(tar, '2', "none", "nothing");
	add_file(tar, "none/z", "nowhere");
	add(tar, '5', "cat", NULL);
	add_file(tar, "cat/z", "a folder now");
	end_and_expect(scan,
		       "file real/x: 1\nlink to -> cat\nfile real/y: 2\nname 1 h: 1\n"
		       "link out -> /real\nlink real/up -> ../real\nlink self -> self\n"
		       "link none -> nothing\nfolder cat 644\nfile cat/z: a folder now\n"
		       "note left out: 4 members below what is not a folder, such as 'out/z'\n"
		       "note paths that come again, of which the last member counts: 1, such as "
		       "'cat'\n");
}

/* Of old tars the size is that of the file; pax has its bytes. */
TEST_OF(scan, a_hard_link_may_have_bytes)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "x", "text");
	add_head(tar, &(struct head){.type = '1', .name = "old", .target = "x", .size = 4});
	add_head(tar, &(struct head){.type = '1', .name = "pax", .target = "x", .size = 4});
	add_body(tar, "text", 4);
	add_head(tar, &(struct head){.type = '1', .name = "end", .target = "x", .size = 4});
	end_and_expect(scan,
		       "file x: text\nname 1 old: text\nname 1 pax: text\nname 1 end: text\n");
}

TEST_OF(scan, leading_folders_may_be_cut_off)
{
	struct buf *tar = &scan->bytes;

	scan->settings.strip = 1;
	scan->settings.layout = FOREIGN_TREE;
	add(tar, '5', "set/", NULL);
	add_file(tar, "./set/a/x", "1");
	add(tar, '1', "set/y", "set/a/x");
	add_file(tar, "README", "outside");
	end_and_expect(scan,
		       "file a/x: 1\nname 1 y: 1\n"
		       "note left out: 1 members without so many folders, such as 'README'\n");
}

/* --- holes ------------------------------------------------------------------------------------ */

TEST_OF(scan, a_map_of_holes_that_contradicts_itself_is_damage)
{
	static const char bytes[700] = "bytes";
	struct buf *tar = &scan->bytes;

	add_said(tar, 'x', SAID("GNU.sparse.size=20000", "GNU.sparse.map=0,5,3,695"));
	add_bytes(tar, '0', "x", bytes, sizeof(bytes));
	add_end(tar);
	scan_expect_failure(scan, -EBADMSG,
			    "member 0 ('x'): the map of its holes contradicts itself");
}

TEST_OF(scan, a_file_of_holes_without_end_is_left_out)
{
	struct buf *tar = &scan->bytes;

	add_said(tar, 'x', SAID("GNU.sparse.size=1099511627776", "GNU.sparse.map="));
	add_file(tar, "x", "");
	end_and_expect(scan,
		       "note left out: 1 sparse files with over 16 GiB of holes, such as 'x'\n");
}

TEST_OF(scan, tars_one_after_the_other_are_one)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "a", "1");
	add_end(tar);
	add_end(tar);
	add_file(tar, "b", "2");
	end_and_expect(scan, "file a: 1\nfile b: 2\n");
	assert_done(buf_add(tar, "garbage", 7));
	scan_expect(scan,
		    "file a: 1\nfile b: 2\n"
		    "note behind the end of the tar are 7 bytes that are not shown\n");
}

TEST_OF(scan, a_tar_in_a_tar_is_a_folder)
{
	SCOPE(buf_release) struct buf inner = BUF_INIT;
	struct buf *tar = &scan->bytes;

	add_file(&inner, "x.JPEG", "photo");
	add(&inner, '1', "y.JPEG", "x.JPEG");
	add_end(&inner);
	add_bytes(tar, '0', "n01440764.tar", inner.data, inner.len);
	add_bytes(tar, '0', "empty.TAR", inner.data + 3 * RECORD, 2 * RECORD);
	add_file(tar, "none.tar", "is none");
	end_and_expect(
		scan,
		"folder n01440764 755\nfile n01440764/x.JPEG: photo\n"
		"name 1 n01440764/y.JPEG: photo\nfolder empty 755\nfile none.tar: is none\n");
}

TEST_OF(scan, a_damaged_tar_in_a_tar_stays_a_file)
{
	SCOPE(buf_release) struct buf inner = BUF_INIT, outer = BUF_INIT;
	struct buf *tar = &scan->bytes;

	add_file(&inner, "x", "in it");
	add_end(&inner);
	add_file(&outer, "y", "around it");
	add_bytes(&outer, '0', "in.tar", inner.data, RECORD + 2);
	memset(outer.data + 3 * RECORD, 'i', RECORD + 2);
	add_end(&outer);
	add_bytes(tar, '0', "a.tar", inner.data, 2 * RECORD);
	add_bytes(tar, '0', "b.tar", outer.data, outer.len);
	add_bytes(tar, '0', ".tar", inner.data, inner.len);
	add_file(tar, "z", "behind them");
	add_end(tar);
	assert_done(scan_first(scan, tar->len));
	assert_non_null(strstr(scan->seen.data, "file a.tar: "));
	assert_non_null(strstr(scan->seen.data, "file b/y: around it\nfile b/in.tar: iii"));
	assert_non_null(strstr(scan->seen.data, "file .tar: "));
	assert_non_null(
		strstr(scan->seen.data,
		       "file z: behind them\n"
		       "note tars in it that are damaged, and stay files: 1, such as 'a.tar' "
		       "(no end mark behind member 0: truncated, or not finished by its "
		       "writer)\n"));
}

/* --- damage ----------------------------------------------------------------------------------- */

TEST_OF(scan, what_is_cut_off_is_told)
{
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

TEST_OF(scan, a_damaged_header_is_told)
{
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

TEST_OF(scan, records_of_pax_are_checked)
{
	static const char length[] = "a record of no length";

	expect_bad_pax(scan, "path=x\n", length);
	expect_bad_pax(scan, "99 path=x\n", length);
	expect_bad_pax(scan, "2 path=x\n", length);
	expect_bad_pax(scan, "0 path=x\n", length);
	expect_bad_pax(scan, "99999999999999999999 path=x\n", length);
	expect_bad_pax(scan, "9 path=x\n\n", length);
	expect_bad_pax(scan, "12", length);
	expect_bad_pax(scan, "7 path\n", "a record without '='");
	expect_bad_pax(scan, "11 size=-1\n", "a size that is no number");
	expect_bad_pax(scan, "28 size=9223372036854775808\n", "a size that is no number");
	expect_bad_pax(scan, "31 mtime=99999999999999999999\n", length);
	expect_bad_pax(scan, "18 FOLDFS.label=1x\n", length);
	expect_bad_pax(scan, "19 FOLDFS.label=1x\n", "a label that is no number");
	expect_bad_pax(scan, "18 FOLDFS.label=-\n", "a label that is no number");
}

/* As foldpack's scripts write them. */
TEST_OF(scan, a_label_of_pax_makes_a_folder_of_its_class)
{
	struct buf *tar = &scan->bytes;

	add_said(tar, 'x', SAID("FOLDFS.label=7"));
	add_file(tar, "train/1.jpg", "1");
	add_said(tar, 'x', SAID("FOLDFS.label=8", "FOLDFS.class=a/cat"));
	add_file(tar, "train/2.jpg", "2");
	add_said(tar, 'x', SAID("FOLDFS.label=-1"));
	add_file(tar, "3.jpg", "3");
	add_file(tar, "train/4.jpg", "4");
	add_said(tar, 'x', SAID("FOLDFS.label=7", "FOLDFS.label="));
	add_file(tar, "train/5.jpg", "5");
	end_and_expect(scan,
		       "file train/0007/1.jpg: 1\nfile train/a/cat/2.jpg: 2\n"
		       "file images/3.jpg: 3\nfile train/4.jpg: 4\nfile train/5.jpg: 5\n");
}

/* Labelled members have a place as others do: by their own path. */
TEST_OF(scan, files_with_a_label_give_way_to_the_last_of_their_path)
{
	struct buf *tar = &scan->bytes;

	add_said(tar, 'x', SAID("FOLDFS.label=7"));
	add_file(tar, "a/1.jpg", "old");
	add_said(tar, 'x', SAID("FOLDFS.label=8"));
	add_file(tar, "a/1.jpg", "new");
	add(tar, '1', "h", "a/1.jpg");
	add_said(tar, 'x', SAID("FOLDFS.label=8"));
	add(tar, '1', "g", "h");
	add_file(tar, "a", "in the place of a folder");
	add_file(tar, "a/1.jpg/x", "below a file");
	add_end(tar);
	scan_expect(
		scan,
		"file a/0008/1.jpg: new\nname 1 h: new\nname 1 0008/g: new\n"
		"note left out: 1 members below what is not a folder, such as 'a/1.jpg/x'\n"
		"note left out: 1 members in the place of folders that have files, such as 'a'\n"
		"note paths that come again, of which the last member counts: 1, such as "
		"'a/1.jpg'\n");
}

TEST_OF(scan, links_to_files_with_a_label_are_said)
{
	struct buf *tar = &scan->bytes;

	add(tar, '2', "b/before", ".././a//1.jpg");
	add_said(tar, 'x', SAID("FOLDFS.label=7"));
	add_file(tar, "a/1.jpg", "1");
	add_file(tar, "a/2.jpg", "2");
	add(tar, '2', "a/plain", "2.jpg");
	add(tar, '2', "a/after", "1.jpg");
	add(tar, '2', "a/gone", "1.jpg");
	add_file(tar, "a/gone", "3");
	add(tar, '2', "out", "/a/1.jpg");
	add_end(tar);
	scan_expect(
		scan,
		"link b/before -> .././a//1.jpg\nfile a/0007/1.jpg: 1\nfile a/2.jpg: 2\n"
		"link a/plain -> 2.jpg\nlink a/after -> 1.jpg\nfile a/gone: 3\n"
		"link out -> /a/1.jpg\n"
		"note paths that come again, of which the last member counts: 1, such as "
		"'a/gone'\n"
		"note symbolic links to files that are in the folder of their class, which lead "
		"to nothing: 2, such as 'a/after'\n");
}

TEST_OF(scan, labels_of_a_tar_in_a_tar_are_those_of_its_members)
{
	SCOPE(buf_release) struct buf inner = BUF_INIT;
	struct buf *tar = &scan->bytes;

	add_said(&inner, 'x', SAID("FOLDFS.label=7", "FOLDFS.class=a class that is no other one"));
	add_file(&inner, "1.jpg", "1");
	add_said(&inner, 'x', SAID("FOLDFS.label=8", "FOLDFS.class=b"));
	add_file(&inner, "2.jpg", "2");
	add_said(&inner, 'x', SAID("FOLDFS.bad=no image"));
	add_file(&inner, "3.jpg", "3");
	add_end(&inner);
	add_bytes(tar, '0', "in.tar", inner.data, inner.len);
	add_end(tar);
	scan_expect(
		scan,
		"folder in 755\nfile in/a class that is no other one/1.jpg: 1\n"
		"file in/b/2.jpg: 2\n"
		"note left out: 1 members that whoever wrote the archive marked as bad, such as "
		"'in/3.jpg' (no image)\n");
}

/* One of 1 MiB for all members had 10 MB of them take a minute and a half. */
TEST_OF(scan, paths_of_pax_are_no_longer_than_a_tree_has)
{
	static const char *const heads[] = {"4107 path=", "4111 linkpath="};

	for (size_t i = 0; i < 2; i++) {
		char records[4200] = "";

		memset(stpcpy(records, heads[i]), 'p', 4096);
		strcat(records, "\n");
		expect_bad_pax(scan, records, "a path of over 4095 bytes");
	}
}

TEST_OF(scan, headers_without_end_are_refused)
{
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
TEST_OF(scan, a_long_name_of_no_bytes_is_none)
{
	add_file(&scan->bytes, "x", "read");
	add_bytes(&scan->bytes, 'L', "././@LongLink", "", 0);
	scan_expect_failure(
		scan, -EBADMSG,
		"no end mark behind member 0: truncated, or not finished by its writer");
}

/* --- classes ---------------------------------------------------------------------------------- */

TEST_OF(scan, samples_become_classes)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "__info__", "not a sample");
	add_file(tar, "a/x.1.cls", "7\n");
	add_file(tar, "a/x.jpg", "photo");
	end_and_expect(scan,
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
	end_and_expect(scan,
		       "file 0007/a/x.jpg: photo\nfile 0007/a/x.seg.PNG: mask\n"
		       "file tabby cat/y.jpeg: another\nfile dogs/z.jpg: no class\n"
		       "file images/w.png: none at all\n"
		       "note left out, as neither image nor class: 1 members\n"
		       "note left out, as of no sample: 1 members\n"
		       "note left out, as named __NAME__: 1 members\n"
		       "note 2 of 4 samples have no class, as .cls is one, and are in the folders "
		       "of their keys, or in images\n");
}

TEST_OF(scan, a_layout_may_be_asked_for)
{
	struct buf *tar = &scan->bytes;

	add_file(tar, "x.jpg", "photo");
	add_file(tar, "x.cls", "3");
	end_and_expect(scan, "file 0003/x.jpg: photo\n");
	scan->settings.layout = FOREIGN_TREE;
	scan_expect(scan, "file x.jpg: photo\nfile x.cls: 3\n");
	scan->bytes.len = 0;
	add_file(tar, "x.jpg", "photo");
	add_end(tar);
	scan->settings.layout = FOREIGN_CLASSES;
	scan_expect(scan,
		    "file images/x.jpg: photo\nnote 1 of 1 samples have no class, as .cls is one, "
		    "and are in the folders of their keys, or in images\n");
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

TEST_OF(scan, classes_are_checked)
{
	SCOPE_FREE char *text = calloc(1, 5001);

	assert_non_null(text);
	memset(text, '1', 5000);
	expect_bad_class(scan, "\n", "member 0 ('x.cls'): no class in it");
	expect_bad_class(scan, text, "member 0 ('x.cls'): too long for a class");
	expect_bad_class(scan, "1", "member 2 ('x.cls'): the sample has a class already");
}

/* --- numbers ---------------------------------------------------------------------------------- */

TEST_OF(scan, signed_checksums_are_right_too)
{
	struct buf *tar = &scan->bytes;
	int sum = 8 * ' ';

	add_file(tar, "\xc3\xa4", "x");
	add_end(tar);
	for (size_t i = 0; i < RECORD; i++)
		sum += i >= 148 && i < 156 ? 0 : (signed char)tar->data[i];
	put_octal(tar->data + 148, 6, (uint64_t)sum);
	scan_expect(scan, "file \xc3\xa4: x\n");
}

static void expect_time(const char *value, enum tar_said said, int64_t time)
{
	SCOPE(tar_extra_release) struct tar_extra extra = {.mtime = 7};
	char record[64];

	snprintf(record, sizeof(record), "%zu mtime=%s\n", strlen(value) + (strlen(value) ? 10 : 9),
		 value);
	assert_done(tar_extra_read(&extra, record, strlen(record), NULL));
	assert_int_equal(extra.said[TAR_MTIME], said);
	assert_int_equal(extra.mtime, time);
}

/* As tar does, which warns. */
TEST_OF(scan, times_that_are_none_are_passed_over)
{
	expect_time("-12.3456789019", TAR_SAID, -12345678901);
	expect_time("1e9", TAR_SAID, 1000000000);
	expect_time("1.5x", TAR_SAID, 1500000000);
	expect_time("", TAR_TAKEN_BACK, 7);
	expect_time("-", TAR_NOT_SAID, 7);
	expect_time("x", TAR_NOT_SAID, 7);
	expect_time("--1", TAR_NOT_SAID, 7);
	expect_time(" 1", TAR_NOT_SAID, 7);
	expect_time("9223372036854775808", TAR_NOT_SAID, 7);
	expect_time("99999999999999999999", TAR_NOT_SAID, 7);
}

/* As times of a header, and of files. */
TEST_OF(scan, times_that_no_pack_can_hold_become_the_nearest)
{
	expect_time("9223372036.854775806", TAR_SAID, INT64_MAX - 1);
	expect_time("9223372036.9", TAR_SAID, INT64_MAX);
	expect_time("9223372037", TAR_SAID, INT64_MAX);
	expect_time("9223372036854775807.9", TAR_SAID, INT64_MAX);
	expect_time("-9223372036.854775807", TAR_SAID, -INT64_MAX);
	expect_time("-9223372037.5", TAR_SAID, INT64_MIN);
	expect_time("-9223372036854775807", TAR_SAID, INT64_MIN);
}

TEST_OF(scan, a_mode_or_time_of_a_header_that_is_none_costs_only_itself)
{
	add_head(&scan->bytes, &(struct head){.type = '5', .name = "d"});
	memset(scan->bytes.data + 100, 'x', 7);
	memset(scan->bytes.data + 136, 'x', 11);
	sum_block(scan->bytes.data);
	add_file(&scan->bytes, "d/x", "text");
	end_and_expect(scan, "file d/x: text\n");
}

TEST_OF(scan, what_pax_says_of_all_members_can_be_taken_back)
{
	add_said(&scan->bytes, 'g', SAID("size=3", "linkpath=to here"));
	add_head(&scan->bytes, &(struct head){.type = '0', .name = "a"});
	add_body(&scan->bytes, "abc", 3);
	add_said(&scan->bytes, 'x', SAID("size="));
	add_file(&scan->bytes, "b", "text");
	add(&scan->bytes, '2', "l", "of the header");
	add_said(&scan->bytes, 'x', SAID("linkpath="));
	add(&scan->bytes, '2', "m", "of the header");
	end_and_expect(scan,
		       "file a: abc\nfile b: text\nlink l -> to here\nlink m -> of the header\n");
}
