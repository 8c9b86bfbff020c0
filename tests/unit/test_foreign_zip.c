/* The entries of a zip as a tree: pack/foreign/archive/zip.c. */
#include "base/le.h"
#include "tests/unit/archive_scan.h"
#include "tests/unit/test.h"
#include "tests/unit/zip_writer.h"
#include <sys/stat.h>

extern const struct foreign_format zip_format;

/* --- fixture ---------------------------------------------------------------------------------- */

static void set_up(struct scan *scan)
{
	scan->format = &zip_format;
}

FIXTURE(scan, struct scan, set_up, scan_release);

/* --- tests ------------------------------------------------------------------------------------ */

TEST_OF(scan, stored_entries_are_where_their_headers_end)
{
	struct zip_written entries[] = {
		{.name = "d/", .text = "", .mode = S_IFDIR | 0750},
		{.name = "d/x.jpg", .text = "photo", .flags = 8, .local_extra = 28},
		{.name = "l", .text = "d/x.jpg", .mode = S_IFLNK | 0777},
		{.name = "pipe", .text = "", .mode = S_IFIFO | 0600},
		{.name = "empty", .text = "", .mode = S_IFREG | 0644},
	};
	static const char lines[] =
		"folder d 750\nfile d/x.jpg: photo\nlink l -> d/x.jpg\n"
		"file empty: \nnote left out: 1 named pipes, such as 'pipe'\n";

	zip_write(&scan->bytes, entries, 5, "");
	scan_expect(scan, lines);
	zip_write(&scan->bytes, entries, 5, "a comment with PK\5\6 in it, and more than 22 bytes");
	scan_expect(scan, lines);
	for (size_t i = 0; i < 5; i++)
		entries[i].zip64 = true;
	zip_write(&scan->bytes, entries, 5, NULL);
	scan_expect(scan, lines);
}

TEST_OF(scan, an_empty_zip_is_an_empty_tree)
{
	zip_write(&scan->bytes, NULL, 0, "");
	scan_expect(scan, "");
}

TEST_OF(scan, an_entry_without_a_name_is_left_out)
{
	struct zip_written entries[] = {{.name = "", .text = "photo"}};

	zip_write(&scan->bytes, entries, 1, "");
	scan_expect(scan, "note left out: 1 members without a name, such as ''\n");
}

TEST_OF(scan, what_cannot_be_read_in_place_is_refused)
{
	struct zip_written packed[] = {{.name = "a", .text = "x"},
				       {.name = "b.jpg", .text = "x", .method = 8}};
	struct zip_written secret[] = {{.name = "a", .text = "x", .flags = 1}};

	zip_write(&scan->bytes, packed, 2, "");
	scan_expect_failure(scan, -EOPNOTSUPP,
			    "entry 1 ('b.jpg'): compressed, so that there is nothing to read in "
			    "place: 'zip -0' stores, and 'foldpack create' makes a pack of it");
	zip_write(&scan->bytes, secret, 1, "");
	scan_expect_failure(scan, -EOPNOTSUPP,
			    "entry 0 ('a'): encrypted: unpack the zip and pack the folder");
}

static void insert(struct buf *zip, const char *text)
{
	size_t len = strlen(text);

	assert_done(buf_reserve(zip, len));
	memmove(zip->data + len, zip->data, zip->len);
	memcpy(zip->data, text, len);
	zip->len += len;
}

TEST_OF(scan, what_lies_around_a_zip_is_noted)
{
	struct zip_written entries[] = {{.name = "x.jpg", .text = "photo"}};
	struct buf *zip = &scan->bytes;

	for (unsigned zip64 = 0; zip64 < 2; zip64++) {
		const char *comment = zip64 ? NULL : "a comment";

		zip_write(zip, entries, 1, comment);
		assert_done(buf_add(zip, "\r\n", 2));
		scan_expect(scan,
			    "file x.jpg: photo\n"
			    "note behind the end of the zip are 2 bytes that are not shown\n");
		insert(zip, "#!/usr/bin/env python3\n");
		scan_expect(scan,
			    "file x.jpg: photo\n"
			    "note in front of the zip are 23 bytes that are not shown\n"
			    "note behind the end of the zip are 2 bytes that are not shown\n");
	}
}

/* The program has moved what the zip says of its places. */
TEST_OF(scan, places_that_count_what_lies_in_front_are_right_too)
{
	struct zip_written entries[] = {{.name = "x.jpg", .text = "photo"}};
	struct buf *zip = &scan->bytes;
	uint64_t at = zip_write(zip, entries, 1, "");

	insert(zip, "MZ is a program");
	le_put32(zip->data + 15 + at + 42, 15);
	le_put32(zip->data + zip->len - 6, (uint32_t)at + 15);
	scan_expect(scan, "file x.jpg: photo\n");
}

TEST_OF(scan, names_are_utf8_whatever_they_were)
{
	/* 0x7075, 11 bytes, version 1, CRC-32 of the name, the name in UTF-8. */
	static const char unicode[] = "\x75\x70\x0c\0\1\xb7\xef\xdc\x83\xe6\x97\xa5.jpg";
	struct zip_written entries[] = {
		{.name = "caf\x82/\xe0\xb0.jpg", .text = "1"},
		{.name = "caf\xc3\xa9.jpg", .text = "2"},
		{.name = "caf\xc3\xa9 says.jpg", .text = "3", .flags = 1 << 11},
		{.name = "1", .text = "4", .extra = unicode, .extra_len = 16},
		{.name = "2", .text = "5", .extra = unicode, .extra_len = 16},
		{.name = "unix\x82.jpg", .text = "6", .mode = S_IFREG | 0644},
	};

	zip_write(&scan->bytes, entries, 6, "");
	scan_expect(scan,
		    "file caf\xc3\xa9/\xce\xb1\xe2\x96\x91.jpg: 1\nfile caf\xc3\xa9.jpg: 2\n"
		    "file caf\xc3\xa9 says.jpg: 3\nfile \xe6\x97\xa5.jpg: 4\nfile 2: 5\n"
		    "file unix\x82.jpg: 6\n");
}

TEST_OF(scan, backslashes_of_windows_lie_between_folders)
{
	struct zip_written entries[] = {
		{.name = "cat\\", .text = ""},
		{.name = "cat\\x.jpg", .text = "1"},
		{.name = "dog/a\\b.jpg", .text = "2"},
		{.name = "unix\\c.jpg", .text = "3", .mode = S_IFREG | 0644},
	};

	zip_write(&scan->bytes, entries, 4, "");
	scan_expect(scan, "file cat/x.jpg: 1\nfile dog/a\\b.jpg: 2\nfile unix\\c.jpg: 3\n");
}

TEST_OF(scan, the_last_entry_of_a_path_counts)
{
	struct zip_written entries[] = {{.name = "x", .text = "old"}, {.name = "x", .text = "new"}};

	zip_write(&scan->bytes, entries, 2, "");
	scan_expect(scan,
		    "file x: new\nnote paths that come again, of which the last member counts: 1, "
		    "such as 'x'\n");
}

TEST_OF(scan, a_zip_that_is_cut_off_is_told)
{
	struct zip_written entries[] = {{.name = "a", .text = "text"},
					{.name = "b", .text = "text", .zip64 = true}};

	zip_write(&scan->bytes, entries, 2, "");
	scan_expect_no_beginning(scan, 0);
	assert_int_equal(scan_first(scan, 60), -EBADMSG);
	assert_string_equal(scan->err.text, "truncated: no end of a zip in it");
	zip_write(&scan->bytes, entries, 2, NULL);
	scan_expect_no_beginning(scan, 0);
}

TEST_OF(scan, the_two_headers_of_an_entry_must_agree)
{
	struct zip_written entries[] = {{.name = "name", .text = "text"}};

	zip_write(&scan->bytes, entries, 1, "");
	scan->bytes.data[30] = 'g';
	scan_expect_failure(scan, -EBADMSG, "entry 0 ('name'): its local header is another one");
	zip_write(&scan->bytes, entries, 1, "");
	scan->bytes.data[8] = 8;
	scan_expect_failure(scan, -EBADMSG, "entry 0 ('name'): its local header is another one");
	zip_write(&scan->bytes, entries, 1, "");
	le_put16(scan->bytes.data + 28, 1);
	scan_expect_failure(scan, -EBADMSG,
			    "entry 0 ('name'): not in front of the central directory");
}

TEST_OF(scan, wild_numbers_are_refused)
{
	struct zip_written entries[] = {{.name = "name", .text = "text"}};
	struct buf *zip = &scan->bytes;
	uint64_t at = zip_write(zip, entries, 1, "");

	le_put32(zip->data + at + 42, (uint32_t)at - 3);
	scan_expect_failure(scan, -EBADMSG,
			    "entry 0 ('name'): not in front of the central directory");
	le_put32(zip->data + at + 42, (uint32_t)at - 10);
	scan_expect_failure(scan, -EBADMSG, "entry 0 ('name'): its local header is cut off");
	zip_write(zip, entries, 1, "");
	le_put32(zip->data + at + 20, UINT32_MAX);
	scan_expect_failure(scan, -EBADMSG, "entry 0 ('name'): stored, but of two sizes");
	zip_write(zip, entries, 1, "");
	le_put16(zip->data + at + 28, UINT16_MAX);
	scan_expect_failure(scan, -EBADMSG, "entry 0: longer than the central directory");
	zip_write(zip, entries, 1, "");
	le_put16(zip->data + zip->len - 12, UINT16_MAX);
	scan_expect_failure(scan, -EBADMSG, "its end counts 65535 entries, its directory has 1");
	zip_write(zip, entries, 1, "");
	le_put32(zip->data + zip->len - 6, UINT32_MAX);
	scan_expect_failure(scan, -EBADMSG,
			    "the central directory, 50 bytes at 4294967295, is not in front of the "
			    "end at 88");
	zip_write(zip, entries, 1, NULL);
	le_put64(zip->data + zip->len - 34, UINT64_MAX);
	zip->data[zip->len - 98]++;
	scan_expect_failure(scan, -EBADMSG, "the end of zip64 is not where its locator says");
	zip_write(zip, entries, 1, "");
	le_put16(zip->data + zip->len - 18, 1);
	scan_expect_failure(scan, -EOPNOTSUPP, "one of several volumes of a zip");
}

/* Java and macOS wrote the lower 16 bits of the count. */
TEST_OF(scan, over_65535_entries_need_no_zip64)
{
	struct zip_written entry = {.name = "same", .text = ""};
	struct buf *zip = &scan->bytes;
	uint64_t at;
	size_t lines = 0;

	zip_add_local(zip, &entry);
	at = zip->len;
	for (unsigned i = 0; i < 65538; i++)
		zip_add_central(zip, &entry);
	zip_add_end(zip, 65538, at, "");
	assert_done(scan_first(scan, zip->len));
	for (size_t i = 0; i < scan->seen.len; i++)
		lines += scan->seen.data[i] == '\n';
	assert_int_equal(lines, 2);
	assert_non_null(strstr(scan->seen.data, "of which the last member counts: 65537"));
}

TEST_OF(scan, entries_that_the_end_does_not_count_are_not_dropped)
{
	struct zip_written entries[] = {{.name = "a", .text = "x"}, {.name = "b", .text = "y"}};
	struct buf *zip = &scan->bytes;

	zip_write(zip, entries, 2, "");
	le_put16(zip->data + zip->len - 12, 1);
	scan_expect_failure(scan, -EBADMSG, "its end counts 1 entries, its directory has 2");
	zip_write(zip, entries, 2, NULL);
	le_put64(zip->data + zip->len - 98 + 32, 2 + 65536);
	scan_expect_failure(scan, -EBADMSG, "its end counts 65538 entries, its directory has 2");
}

TEST_OF(scan, damage_anywhere_is_survived)
{
	struct zip_written entries[] = {{.name = "a", .text = "x"},
					{.name = "l", .text = "a", .mode = S_IFLNK | 0777}};

	zip_write(&scan->bytes, entries, 2, "");
	scan_maul(scan);
	entries[0].zip64 = true;
	zip_write(&scan->bytes, entries, 2, NULL);
	scan_maul(scan);
}
