/* The entries of a zip as a tree: pack/foreign/zip.c. */
#include "base/le.h"
#include "tests/unit/archive_scan.h"
#include <sys/stat.h>

extern const struct foreign_format zip_format;

/* --- making zips ------------------------------------------------------------------------------ */

struct entry {
	const char *name, *text;
	uint16_t flags, method;
	uint32_t mode;	      /* of Unix; 0: made elsewhere */
	uint32_t local_extra; /* bytes, of zeros */
	bool zip64;
	uint64_t at; /* of the local header: set by add_local() */
};

static void put16(struct buf *zip, uint16_t v)
{
	v = htole16(v);
	assert_done(buf_add(zip, &v, sizeof(v)));
}

static void put32(struct buf *zip, uint32_t v)
{
	v = htole32(v);
	assert_done(buf_add(zip, &v, sizeof(v)));
}

static void put64(struct buf *zip, uint64_t v)
{
	v = htole64(v);
	assert_done(buf_add(zip, &v, sizeof(v)));
}

static void add_local(struct buf *zip, struct entry *e)
{
	static const char zeros[64];

	e->at = zip->len;
	put32(zip, 0x04034b50);
	put16(zip, 20);
	put16(zip, e->flags);
	put16(zip, e->method);
	put32(zip, 0);
	put32(zip, 0);
	put64(zip, 0); /* the sizes: only the central directory has them, as of a pipe */
	put16(zip, (uint16_t)strlen(e->name));
	put16(zip, (uint16_t)e->local_extra);
	assert_done(buf_add(zip, e->name, strlen(e->name)));
	assert_done(buf_add(zip, zeros, e->local_extra));
	assert_done(buf_add(zip, e->text, strlen(e->text)));
}

static void add_central(struct buf *zip, const struct entry *e)
{
	uint32_t size = (uint32_t)strlen(e->text);

	put32(zip, 0x02014b50);
	put16(zip, e->mode ? 3 << 8 : 0);
	put16(zip, 20);
	put16(zip, e->flags);
	put16(zip, e->method);
	put16(zip, 12 << 11 | 30 << 5 | 2); /* 12:30:04 */
	put16(zip, 40 << 9 | 2 << 5 | 29);  /* 2020-02-29 */
	put32(zip, 0);
	put32(zip, e->zip64 ? UINT32_MAX : size);
	put32(zip, e->zip64 ? UINT32_MAX : size);
	put16(zip, (uint16_t)strlen(e->name));
	put16(zip, e->zip64 ? 28 : 0);
	put32(zip, 0);
	put16(zip, 0);
	put32(zip, e->mode << 16);
	put32(zip, e->zip64 ? UINT32_MAX : (uint32_t)e->at);
	assert_done(buf_add(zip, e->name, strlen(e->name)));
	if (!e->zip64)
		return;
	put16(zip, 1);
	put16(zip, 24);
	put64(zip, size);
	put64(zip, size);
	put64(zip, e->at);
}

static void add_end(struct buf *zip, size_t count, uint64_t at, const char *comment)
{
	uint32_t bytes = (uint32_t)(zip->len - at);

	put32(zip, 0x06054b50);
	put32(zip, 0);
	put16(zip, (uint16_t)count);
	put16(zip, (uint16_t)count);
	put32(zip, bytes);
	put32(zip, (uint32_t)at);
	put16(zip, (uint16_t)strlen(comment));
	assert_done(buf_add(zip, comment, strlen(comment)));
}

static void add_end64(struct buf *zip, size_t count, uint64_t at)
{
	uint64_t end = zip->len;

	put32(zip, 0x06064b50);
	put64(zip, 44);
	put32(zip, 45 << 16 | 45);
	put64(zip, 0);
	put64(zip, count);
	put64(zip, count);
	put64(zip, end - at);
	put64(zip, at);
	put32(zip, 0x07064b50);
	put32(zip, 0);
	put64(zip, end);
	put32(zip, 1);
	put32(zip, 0x06054b50);
	put32(zip, 0);
	put32(zip, UINT32_MAX);
	put64(zip, UINT64_MAX);
	put16(zip, 0);
}

/* Returns where its central directory begins. */
static uint64_t make_zip(struct buf *zip, struct entry *entries, size_t count, const char *comment)
{
	uint64_t at;

	zip->len = 0;
	for (size_t i = 0; i < count; i++)
		add_local(zip, &entries[i]);
	at = zip->len;
	for (size_t i = 0; i < count; i++)
		add_central(zip, &entries[i]);
	if (comment)
		add_end(zip, count, at, comment);
	else
		add_end64(zip, count, at);
	return at;
}

/* --- fixture ---------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct scan *scan = calloc(1, sizeof(*scan));

	assert_non_null(scan);
	scan->format = &zip_format;
	*state = scan;
	return 0;
}

static int tear_down(void **state)
{
	scan_release(*state);
	free(*state);
	return 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void stored_entries_are_where_their_headers_end(void **state)
{
	struct entry entries[] = {
		{.name = "d/", .text = "", .mode = S_IFDIR | 0750},
		{.name = "d/x.jpg", .text = "photo", .flags = 8, .local_extra = 28},
		{.name = "l", .text = "d/x.jpg", .mode = S_IFLNK | 0777},
		{.name = "pipe", .text = "", .mode = S_IFIFO | 0600},
		{.name = "empty", .text = "", .mode = S_IFREG | 0644},
	};
	static const char lines[] =
		"folder d 750\nfile d/x.jpg: photo\nlink l -> d/x.jpg\n"
		"file empty: \nnote left out: 1 devices and their like\n";
	struct scan *scan = *state;

	make_zip(&scan->bytes, entries, 5, "");
	scan_expect(scan, lines);
	make_zip(&scan->bytes, entries, 5, "a comment with PK\5\6 in it, and more than 22 bytes");
	scan_expect(scan, lines);
	for (size_t i = 0; i < 5; i++)
		entries[i].zip64 = true;
	make_zip(&scan->bytes, entries, 5, NULL);
	scan_expect(scan, lines);
}

static void an_empty_zip_is_an_empty_tree(void **state)
{
	struct scan *scan = *state;

	make_zip(&scan->bytes, NULL, 0, "");
	scan_expect(scan, "");
}

static void what_cannot_be_read_in_place_is_refused(void **state)
{
	struct entry packed[] = {{.name = "a", .text = "x"},
				 {.name = "b.jpg", .text = "x", .method = 8}};
	struct entry secret[] = {{.name = "a", .text = "x", .flags = 1}};
	struct scan *scan = *state;

	make_zip(&scan->bytes, packed, 2, "");
	scan_expect_failure(scan, -EOPNOTSUPP,
			    "entry 1 ('b.jpg'): compressed, so that there is nothing to read in "
			    "place: 'zip -0' stores, and 'foldpack create' packs the unzipped "
			    "folder");
	make_zip(&scan->bytes, secret, 1, "");
	scan_expect_failure(scan, -EOPNOTSUPP, "entry 0 ('a'): encrypted");
}

static void a_zip_that_is_cut_off_is_told(void **state)
{
	struct entry entries[] = {{.name = "a", .text = "text"},
				  {.name = "b", .text = "text", .zip64 = true}};
	struct scan *scan = *state;

	make_zip(&scan->bytes, entries, 2, "");
	scan_expect_no_beginning(scan, 0);
	assert_int_equal(scan_first(scan, 60), -EBADMSG);
	assert_string_equal(scan->err.text, "truncated: no end of a zip in it");
	make_zip(&scan->bytes, entries, 2, NULL);
	scan_expect_no_beginning(scan, 0);
}

static void the_two_headers_of_an_entry_must_agree(void **state)
{
	struct entry entries[] = {{.name = "name", .text = "text"}};
	struct scan *scan = *state;

	make_zip(&scan->bytes, entries, 1, "");
	scan->bytes.data[30] = 'g';
	scan_expect_failure(scan, -EBADMSG, "entry 0 ('name'): its local header is another one");
	make_zip(&scan->bytes, entries, 1, "");
	scan->bytes.data[8] = 8;
	scan_expect_failure(scan, -EBADMSG, "entry 0 ('name'): its local header is another one");
	make_zip(&scan->bytes, entries, 1, "");
	le_put16(scan->bytes.data + 28, 1);
	scan_expect_failure(scan, -EBADMSG,
			    "entry 0 ('name'): not in front of the central directory");
}

static void wild_numbers_are_refused(void **state)
{
	struct entry entries[] = {{.name = "name", .text = "text"}};
	struct scan *scan = *state;
	struct buf *zip = &scan->bytes;
	uint64_t at = make_zip(zip, entries, 1, "");

	le_put32(zip->data + at + 42, (uint32_t)at - 3);
	scan_expect_failure(scan, -EBADMSG,
			    "entry 0 ('name'): not in front of the central directory");
	le_put32(zip->data + at + 42, (uint32_t)at - 10);
	scan_expect_failure(scan, -EBADMSG, "entry 0 ('name'): its local header is cut off");
	make_zip(zip, entries, 1, "");
	le_put32(zip->data + at + 20, UINT32_MAX);
	scan_expect_failure(scan, -EBADMSG, "entry 0 ('name'): stored, but of two sizes");
	make_zip(zip, entries, 1, "");
	le_put16(zip->data + at + 28, UINT16_MAX);
	scan_expect_failure(scan, -EBADMSG, "entry 0: longer than the central directory");
	make_zip(zip, entries, 1, "");
	le_put16(zip->data + zip->len - 12, UINT16_MAX);
	scan_expect_failure(scan, -EBADMSG, "entry 1: behind the central directory");
	make_zip(zip, entries, 1, "");
	le_put32(zip->data + zip->len - 6, UINT32_MAX);
	scan_expect_failure(scan, -EBADMSG,
			    "the central directory, 50 bytes at 4294967295, is not in front of the "
			    "end at 88");
	make_zip(zip, entries, 1, NULL);
	le_put64(zip->data + zip->len - 34, UINT64_MAX);
	scan_expect_failure(scan, -EBADMSG, "the end of zip64 is not where its locator says");
	make_zip(zip, entries, 1, "");
	le_put16(zip->data + zip->len - 18, 1);
	scan_expect_failure(scan, -EOPNOTSUPP, "one of several volumes of a zip");
}

#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(stored_entries_are_where_their_headers_end),
		test(an_empty_zip_is_an_empty_tree),
		test(what_cannot_be_read_in_place_is_refused),
		test(a_zip_that_is_cut_off_is_told),
		test(the_two_headers_of_an_entry_must_agree),
		test(wild_numbers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
