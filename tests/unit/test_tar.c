/* Entries out of tars, good and bad ones: pack/tool/import/tar.h. The tars are made here, block by
 * block; libarchive only compresses them. */
#include "base/buf.h"
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/import/tar.h"
#include "tests/unit/test.h"
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define RECORD	 ((size_t)512)
#define SHOWN	 64 /* bytes of a file that are shown */
#define A_MOMENT 1500000000

#define assert_done(r) assert_int_equal(r, 0)

/* --- making tars -------------------------------------------------------------------------- */

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

/* ustar's fields; a name that is too long for them is cut. */
static void add_head(struct buf *tar, const struct head *head)
{
	char block[512] = {0};
	unsigned sum = 8 * ' ';

	memcpy(block, head->name, strnlen(head->name, 100));
	put_octal(block + 100, 7, head->mode ? head->mode : 0644);
	put_octal(block + 108, 7, 0);
	put_octal(block + 116, 7, 0);
	put_octal(block + 124, 11, head->size);
	put_octal(block + 136, 11, A_MOMENT);
	block[156] = head->type;
	if (head->target)
		memcpy(block + 157, head->target, strnlen(head->target, 100));
	memcpy(block + 257,
	       "ustar\0"
	       "00",
	       8);
	for (size_t i = 0; i < sizeof(block); i++)
		sum += (unsigned char)block[i];
	put_octal(block + 148, 7, sum);
	assert_done(buf_add(tar, block, sizeof(block)));
}

static void add_body(struct buf *tar, const void *data, size_t len)
{
	static const char zeros[512];

	assert_done(buf_add(tar, data, len));
	assert_done(buf_add(tar, zeros, -len % RECORD));
}

static void add(struct buf *tar, char type, const char *name, const char *target)
{
	add_head(tar, &(struct head){.type = type, .name = name, .target = target});
}

static void add_bytes(struct buf *tar, const char *name, const void *data, size_t len)
{
	add_head(tar, &(struct head){.type = '0', .name = name, .size = len});
	add_body(tar, data, len);
}

static void add_file(struct buf *tar, const char *name, const char *text)
{
	add_bytes(tar, name, text, strlen(text));
}

static void add_folder(struct buf *tar, const char *name)
{
	add_head(tar, &(struct head){.type = '5', .name = name, .mode = 0711});
}

/* What GNU tar has in front of names ('L') and targets ('K') over 100 bytes. */
static void add_long(struct buf *tar, char type, const char *text)
{
	size_t len = strlen(text) + 1;

	add_head(tar, &(struct head){.type = type, .name = "././@LongLink", .size = len});
	add_body(tar, text, len);
}

static void add_record(struct buf *records, const char *key, const char *value)
{
	size_t bare = strlen(key) + strlen(value) + 3, len = bare + 1;

	/* Its length counts, too. */
	while ((size_t)snprintf(NULL, 0, "%zu", len) + bare != len)
		len++;
	assert_done(buf_addf(records, "%zu %s=%s\n", len, key, value));
}

/* Names and values, NULL-ended. */
static void add_pax(struct buf *tar, const char *const *pairs)
{
	SCOPE(buf_release) struct buf records = BUF_INIT;

	for (; *pairs; pairs += 2)
		add_record(&records, pairs[0], pairs[1]);
	add_head(tar, &(struct head){.type = 'x', .name = "pax", .size = records.len});
	add_body(tar, records.data, records.len);
}

#define PAX(...) ((const char *const[]){__VA_ARGS__, NULL})

static void add_end(struct buf *tar)
{
	static const char zeros[1024];

	assert_done(buf_add(tar, zeros, sizeof(zeros)));
}

/* A tar of one file. */
static void add_tar(struct buf *tar, const char *name, const char *file, const char *text)
{
	SCOPE(buf_release) struct buf inner = BUF_INIT;

	add_file(&inner, file, text);
	add_end(&inner);
	add_bytes(tar, name, inner.data, inner.len);
}

static la_ssize_t take_compressed(struct archive *archive, void *context, const void *data,
				  size_t len)
{
	(void)archive;
	assert_done(buf_add(context, data, len));
	return (la_ssize_t)len;
}

static void compress(struct buf *bytes, const char *filter)
{
	struct archive *archive = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	struct buf compressed = BUF_INIT;

	archive_entry_set_filetype(entry, AE_IFREG);
	assert_done(archive_write_set_format_raw(archive));
	assert_done(archive_write_add_filter_by_name(archive, filter));
	assert_done(archive_write_set_bytes_per_block(archive, 0));
	assert_done(archive_write_open(archive, &compressed, NULL, take_compressed, NULL));
	assert_done(archive_write_header(archive, entry));
	assert_int_equal(archive_write_data(archive, bytes->data, bytes->len), bytes->len);
	assert_done(archive_write_close(archive));
	archive_write_free(archive);
	archive_entry_free(entry);
	buf_release(bytes);
	*bytes = compressed;
}

/* --- reading them ------------------------------------------------------------------------- */

struct fixture {
	struct buf bytes; /* of the tar */
	struct buf seen;  /* its entries, a line each */
	int fd;
	struct tar *tar;
	struct err err;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fd = -1;
	*state = f;
	return 0;
}

static void close_tar(struct fixture *f)
{
	tar_free(f->tar);
	f->tar = NULL;
	scope_close(&f->fd);
	f->fd = -1;
	f->seen.len = 0;
	f->err.text[0] = '\0';
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close_tar(f);
	buf_release(&f->bytes);
	buf_release(&f->seen);
	free(f);
	return 0;
}

static int open_first(struct fixture *f, size_t len)
{
	close_tar(f);
	f->fd = memfd_create("tar", MFD_CLOEXEC);
	assert_true(f->fd >= 0);
	assert_done(io_pwrite_full(f->fd, f->bytes.data, len, 0));
	return tar_new(f->fd, TAR_NESTED, &f->tar, &f->err);
}

static void open_tar(struct fixture *f)
{
	int r = open_first(f, f->bytes.len);

	if (r < 0)
		fail_msg("tar_new: %s", err_text(&f->err, r));
}

static int next(struct fixture *f, struct tar_entry *ret)
{
	return tar_next(f->tar, ret, &f->err);
}

static int show_file(struct fixture *f, const struct tar_entry *entry)
{
	char data[SHOWN];
	size_t len = entry->size < SHOWN ? entry->size : SHOWN;
	int r = tar_read(f->tar, data, len, &f->err);

	if (r < 0)
		return r;
	return buf_addf(&f->seen, "file %s: %.*s\n", entry->path, (int)len, data);
}

static int show(struct fixture *f, const struct tar_entry *entry)
{
	switch (entry->kind) {
	case TAR_DIRECTORY:
		return buf_addf(&f->seen, "%s %s\n", entry->implied ? "for" : "folder",
				entry->path);
	case TAR_FILE:
		return show_file(f, entry);
	case TAR_SYMLINK:
		return buf_addf(&f->seen, "link %s -> %s\n", entry->path, entry->target);
	case TAR_HARDLINK:
		return buf_addf(&f->seen, "name %s of %s\n", entry->path, entry->target);
	default:
		return buf_addf(&f->seen, "%s %s: %s\n",
				entry->kind == TAR_SPECIAL ? "special" : "unfit", entry->path,
				entry->target);
	}
}

/* Reads on to the end: 1, or the failure. */
static int read_on(struct fixture *f)
{
	struct tar_entry entry;
	int r = 0;

	assert_done(buf_adds(&f->seen, ""));
	while (r == 0) {
		r = next(f, &entry);
		if (r == 0)
			r = show(f, &entry);
	}
	return r;
}

/* What comes of the first `len` bytes. */
static int read_first(struct fixture *f, size_t len)
{
	int r = open_first(f, len);

	return r < 0 ? r : read_on(f);
}

static void expect(struct fixture *f, const char *lines)
{
	int r = read_first(f, f->bytes.len);

	if (r < 0)
		fail_msg("%s", err_text(&f->err, r));
	assert_string_equal(f->seen.data, lines);
}

static void expect_failure(struct fixture *f, int code, const char *sentence)
{
	int r = read_first(f, f->bytes.len);

	assert_string_equal(r > 0 ? "read to its end" : err_text(&f->err, r), sentence);
	assert_int_equal(r, code);
}

static char *letters(char letter, size_t count)
{
	char *text = malloc(count + 1);

	assert_non_null(text);
	memset(text, letter, count);
	text[count] = '\0';
	return text;
}

FIXTURE(fresh, set_up, tear_down);

/* --- entries ------------------------------------------------------------------------------ */

TEST_OF(fresh, entries_come_as_they_lie_in_the_tar)
{
	struct fixture *f = *state;

	add_folder(&f->bytes, "b/");
	add_file(&f->bytes, "b/y", "why");
	add_file(&f->bytes, "b/x", "");
	add(&f->bytes, '2', "b/link", "../anywhere/./else");
	add(&f->bytes, '1', "b/z", "b/y");
	add_file(&f->bytes, "a", "A");
	add_end(&f->bytes);
	expect(f,
	       "folder b\nfile b/y: why\nfile b/x: \nlink b/link -> ../anywhere/./else\n"
	       "name b/z of b/y\nfile a: A\n");
}

TEST_OF(fresh, modes_times_and_sizes_are_those_of_the_tar)
{
	struct fixture *f = *state;
	struct tar_entry entry;

	add_head(&f->bytes, &(struct head){.type = '0', .name = "x", .mode = 04751, .size = 3});
	add_body(&f->bytes, "abc", 3);
	add_end(&f->bytes);
	open_tar(f);
	assert_done(next(f, &entry));
	assert_int_equal(entry.mode, 04751);
	assert_int_equal(entry.mtime.tv_sec, A_MOMENT);
	assert_int_equal(entry.size, 3);
	assert_int_equal(entry.holes, 0);
	assert_false(entry.implied);
}

static void expect_time(struct fixture *f, const char *pax, int64_t seconds, long nanoseconds)
{
	struct tar_entry entry;

	f->bytes.len = 0;
	add_pax(&f->bytes, PAX("mtime", pax));
	add_file(&f->bytes, "x", "");
	add_end(&f->bytes);
	open_tar(f);
	assert_done(next(f, &entry));
	assert_int_equal(entry.mtime.tv_sec, seconds);
	assert_int_equal(entry.mtime.tv_nsec, nanoseconds);
}

TEST_OF(fresh, times_are_kept_to_the_nanosecond_before_1970_too)
{
	struct fixture *f = *state;

	expect_time(f, "1700000000.123456789", 1700000000, 123456789);
	expect_time(f, "4102444800.5", 4102444800, 500000000);
	expect_time(f, "-86400", -86400, 0);
	expect_time(f, "-86399.000000001", -86400, 999999999);
}

TEST_OF(fresh, paths_are_made_relative_and_clean)
{
	struct fixture *f = *state;

	add_folder(&f->bytes, "./");
	add_folder(&f->bytes, "/d//");
	add_file(&f->bytes, "./d/./x", "1");
	add_file(&f->bytes, "//d///y", "2");
	add(&f->bytes, '1', "d/z", "/./d//x");
	add_file(&f->bytes, "d/...", "3");
	add_file(&f->bytes, "..a/b..", "4");
	add_end(&f->bytes);
	expect(f,
	       "folder \nfolder d\nfile d/x: 1\nfile d/y: 2\nname d/z of d/x\nfile d/...: 3\n"
	       "file ..a/b..: 4\n");
}

TEST_OF(fresh, what_no_pack_can_hold_is_told_and_the_rest_goes_on)
{
	struct fixture *f = *state;
	SCOPE_FREE char *name = letters('n', 256), *path = letters('/', 16400);
	SCOPE(buf_release) struct buf lines = BUF_INIT;

	for (size_t i = 1; i < 16400; i += 2)
		path[i] = 'p';
	add_file(&f->bytes, "../up", "");
	add_file(&f->bytes, "/a/../b", "not read");
	add(&f->bytes, '1', "h", "../x");
	add(&f->bytes, '1', "i", "/");
	add(&f->bytes, '2', "l", NULL);
	add_file(&f->bytes, ".", "");
	add_long(&f->bytes, 'L', name);
	add_file(&f->bytes, "cut", "");
	add_long(&f->bytes, 'L', path);
	add_file(&f->bytes, "cut", "");
	add_file(&f->bytes, "good", "read");
	add_end(&f->bytes);
	name[255] = '\0';
	assert_done(buf_addf(&lines,
			     "unfit ../up: a path with '..'\nunfit /a/../b: a path with '..'\n"
			     "unfit h: a hard link to a path that no pack can hold\n"
			     "unfit i: a hard link to the root\n"
			     "unfit l: a symbolic link to nothing\nunfit .: no name\n"
			     "unfit %sn: a name over 255 bytes\n",
			     name));
	assert_done(buf_addf(&lines, "unfit %s: a path over 8191 bytes\nfile good: read\n", path));
	expect(f, lines.data);
}

TEST_OF(fresh, the_longest_name_fits)
{
	struct fixture *f = *state;
	SCOPE_FREE char *name = letters('n', 255);
	SCOPE(buf_release) struct buf line = BUF_INIT;

	add_long(&f->bytes, 'L', name);
	add_file(&f->bytes, "cut", "");
	add_end(&f->bytes);
	assert_done(buf_addf(&line, "file %s: \n", name));
	expect(f, line.data);
}

TEST_OF(fresh, a_path_that_comes_twice_is_told_twice)
{
	struct fixture *f = *state;

	add_file(&f->bytes, "x", "old");
	add_file(&f->bytes, "x", "new");
	add_folder(&f->bytes, "x");
	add_end(&f->bytes);
	expect(f, "file x: old\nfile x: new\nfolder x\n");
}

TEST_OF(fresh, what_is_neither_file_nor_link_is_special)
{
	struct fixture *f = *state;

	add(&f->bytes, '3', "dev/tty", NULL);
	add(&f->bytes, '4', "sda", NULL);
	add(&f->bytes, '6', "pipe", NULL);
	add(&f->bytes, 'M', "rest", NULL);
	add_file(&f->bytes, "x", "1");
	add_end(&f->bytes);
	expect(f,
	       "special dev/tty: a device\nspecial sda: a device\nspecial pipe: a named pipe\n"
	       "special rest: a part of a file in another volume\nfile x: 1\n");
}

TEST_OF(fresh, a_hard_link_may_name_what_is_not_there)
{
	struct fixture *f = *state;

	add(&f->bytes, '1', "x", "y");
	add_end(&f->bytes);
	expect(f, "name x of y\n");
}

TEST_OF(fresh, what_macos_adds_are_files)
{
	struct fixture *f = *state;

	add_file(&f->bytes, "./._x", "attributes");
	add_file(&f->bytes, "./x", "1");
	add_end(&f->bytes);
	expect(f, "file ._x: attributes\nfile x: 1\n");
}

/* --- names are bytes ---------------------------------------------------------------------- */

static const char *const strange[] = {
	"new\nline",
	"\xff\xfe not UTF-8",
	"\x01\x1b[31m",
	"a\xcc\x88 decomposed",
	"\xc3\xa4 composed",
	"\xed\xa0\x80 surrogate",
	"back\\slash",
	" ",
	"*",
	"%s",
	NULL,
};

static void expect_strange_names(struct fixture *f)
{
	SCOPE(buf_release) struct buf lines = BUF_INIT;

	f->bytes.len = 0;
	for (const char *const *name = strange; *name; name++) {
		add(&f->bytes, '2', *name, *name);
		add_long(&f->bytes, 'K', *name);
		add_long(&f->bytes, 'L', *name);
		add(&f->bytes, '2', "cut", "cut");
		add_pax(&f->bytes, PAX("path", *name, "linkpath", *name));
		add(&f->bytes, '2', "cut", "cut");
		add_pax(&f->bytes, PAX("hdrcharset", "BINARY", "path", *name, "linkpath", *name));
		add(&f->bytes, '2', "cut", "cut");
		for (unsigned i = 0; i < 4; i++)
			assert_done(buf_addf(&lines, "link %s -> %s\n", *name, *name));
	}
	add_end(&f->bytes);
	expect(f, lines.data);
}

TEST_OF(fresh, names_keep_their_bytes_whatever_the_locale)
{
	struct fixture *f = *state;

	expect_strange_names(f);
	if (!setlocale(LC_ALL, "C.UTF-8"))
		skip();
	expect_strange_names(f);
	setlocale(LC_ALL, "C");
}

TEST_OF(fresh, names_of_any_format_may_be_long)
{
	struct fixture *f = *state;
	SCOPE_FREE char *name = letters('n', 200), *path;
	SCOPE(buf_release) struct buf lines = BUF_INIT;

	assert_true(asprintf(&path, "%s/%s", name, name) > 0);
	add_pax(&f->bytes, PAX("path", path));
	add_file(&f->bytes, "cut", "1");
	add_long(&f->bytes, 'L', path);
	add_file(&f->bytes, "cut", "2");
	add_end(&f->bytes);
	assert_done(buf_addf(&lines, "file %s: 1\nfile %s: 2\n", path, path));
	expect(f, lines.data);
}

/* --- bytes -------------------------------------------------------------------------------- */

TEST_OF(fresh, files_are_read_in_pieces_and_what_is_not_read_is_passed_over)
{
	struct fixture *f = *state;
	SCOPE_FREE char *long_text = letters('l', 1000000);
	struct tar_entry entry;
	char data[16];

	add_file(&f->bytes, "x", "0123456789");
	add_file(&f->bytes, "y", long_text);
	add_file(&f->bytes, "z", "end");
	add_end(&f->bytes);
	open_tar(f);
	assert_done(next(f, &entry));
	assert_done(tar_read(f->tar, data, 4, &f->err));
	assert_done(tar_read(f->tar, data + 4, 6, &f->err));
	assert_memory_equal(data, "0123456789", 10);
	assert_int_equal(tar_read(f->tar, data, 1, &f->err), -EINVAL);
	assert_done(next(f, &entry));
	assert_done(tar_read(f->tar, data, 1, &f->err));
	assert_done(next(f, &entry));
	assert_string_equal(entry.path, "z");
	assert_done(tar_read(f->tar, data, 3, &f->err));
	assert_memory_equal(data, "end", 3);
	assert_int_equal(next(f, &entry), 1);
	assert_int_equal(next(f, &entry), 1);
	assert_int_equal(tar_position(f->tar), f->bytes.len);
}

/* Pieces that fit nothing: headers and files go over their edges. */
static void write_in_pieces(int fd, const struct buf *bytes)
{
	for (size_t at = 0, len; at < bytes->len; at += len) {
		len = 1 + at % 97;
		if (len > bytes->len - at)
			len = bytes->len - at;
		if (io_write_full(fd, bytes->data + at, len) < 0)
			_exit(1);
	}
	_exit(0);
}

TEST_OF(fresh, a_pipe_is_read_as_a_file_is)
{
	struct fixture *f = *state;
	SCOPE(buf_release) struct buf lines = BUF_INIT;
	int ends[2], status;
	char name[16];
	pid_t writer;

	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%03u", i);
		add_file(&f->bytes, name, name);
		assert_done(buf_addf(&lines, "file %s: %s\n", name, name));
	}
	add_tar(&f->bytes, "t.tar", "x", "1");
	add_end(&f->bytes);
	assert_done(buf_addf(&lines, "for t\nfile t/x: 1\n"));
	assert_done(pipe(ends));
	writer = fork();
	if (writer == 0)
		write_in_pieces(ends[1], &f->bytes);
	close(ends[1]);
	f->fd = ends[0];
	assert_done(tar_new(f->fd, TAR_NESTED, &f->tar, &f->err));
	assert_int_equal(read_on(f), 1);
	assert_string_equal(f->seen.data, lines.data);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
}

/* GNU's sparse format 1.0: the map is in front of the bytes. */
static void add_sparse(struct buf *tar, const char *name, const char *size, const char *map)
{
	char block[512] = {0};

	memcpy(block, map, strlen(map));
	add_pax(tar, PAX("GNU.sparse.major", "1", "GNU.sparse.minor", "0", "GNU.sparse.name", name,
			 "GNU.sparse.realsize", size));
	add_head(tar, &(struct head){.type = '0', .name = "cut", .size = sizeof(block) + 4});
	add_body(tar, block, sizeof(block));
	add_body(tar, "abcd", 4);
}

TEST_OF(fresh, holes_of_a_sparse_file_are_zeros)
{
	struct fixture *f = *state;
	struct tar_entry entry;
	char data[20000], expected[20000] = {0};

	add_sparse(&f->bytes, "x", "20000", "2\n3\n2\n19001\n2\n");
	add_file(&f->bytes, "y", "1");
	add_end(&f->bytes);
	memcpy(expected + 3, "ab", 2);
	memcpy(expected + 19001, "cd", 2);
	open_tar(f);
	assert_done(next(f, &entry));
	assert_string_equal(entry.path, "x");
	assert_int_equal(entry.size, sizeof(data));
	assert_int_equal(entry.holes, sizeof(data) - 4);
	assert_done(tar_read(f->tar, data, sizeof(data), &f->err));
	assert_memory_equal(data, expected, sizeof(data));
	assert_int_equal(read_on(f), 1);
	assert_string_equal(f->seen.data, "file y: 1\n");
}

TEST_OF(fresh, holes_without_end_are_told_and_cost_nothing_to_pass_over)
{
	struct fixture *f = *state;
	struct tar_entry entry;

	add_sparse(&f->bytes, "x.tar", "8000000000000000000", "1\n0\n4\n");
	add_file(&f->bytes, "y", "1");
	add_end(&f->bytes);
	open_tar(f);
	assert_done(next(f, &entry));
	assert_string_equal(entry.path, "x.tar");
	assert_int_equal(entry.kind, TAR_FILE);
	assert_int_equal(entry.holes, 8000000000000000000 - 4);
	assert_int_equal(read_on(f), 1);
	assert_string_equal(f->seen.data, "file y: 1\n");
}

TEST_OF(fresh, a_sparse_file_that_contradicts_itself_is_damage)
{
	struct fixture *f = *state;

	add_sparse(&f->bytes, "x", "20", "2\n3\n2\n19\n2\n");
	add_end(&f->bytes);
	expect_failure(f, -EBADMSG, "damaged within 'x': data outside of the file it belongs to");
	f->bytes.len = 0;
	add_sparse(&f->bytes, "x", "20", "2\n10\n2\n3\n2\n");
	add_end(&f->bytes);
	expect_failure(f, -EBADMSG, "damaged within 'x': data outside of the file it belongs to");
	f->bytes.len = 0;
	add_pax(&f->bytes, PAX("GNU.sparse.realsize", "-5"));
	add_file(&f->bytes, "x", "1");
	add_end(&f->bytes);
	expect_failure(f, -EBADMSG, "damaged at the beginning: a file of less than no bytes");
	f->bytes.len = 0;
	add_pax(&f->bytes, PAX("SCHILY.realsize", "1000"));
	add_file(&f->bytes, "x", "1");
	add_end(&f->bytes);
	expect_failure(f, -EBADMSG, "damaged within 'x': less data than the size of the file");
}

/* --- tars in tars ------------------------------------------------------------------------- */

TEST_OF(fresh, a_tar_in_a_tar_is_a_folder)
{
	struct fixture *f = *state;
	SCOPE(buf_release) struct buf inner = BUF_INIT;

	add_tar(&f->bytes, "n01440764.tar", "n01440764_1.JPEG", "tench");
	add_folder(&inner, "./");
	add_file(&inner, "./d/x", "1");
	add(&inner, '1', "./y", "./d/x");
	add(&inner, '2', "./z", "d/x");
	add_file(&inner, "./../w", "");
	add_end(&inner);
	add_bytes(&f->bytes, "train/n2.tar", inner.data, inner.len);
	add_file(&f->bytes, "train/last", "2");
	add_end(&f->bytes);
	expect(f,
	       "for n01440764\nfile n01440764/n01440764_1.JPEG: tench\n"
	       "for train/n2\nfolder train/n2\nfile train/n2/d/x: 1\n"
	       "name train/n2/y of train/n2/d/x\nlink train/n2/z -> d/x\n"
	       "unfit train/n2/./../w: a path with '..'\nfile train/last: 2\n");
}

TEST_OF(fresh, a_tar_in_a_tar_may_be_empty)
{
	struct fixture *f = *state;
	SCOPE(buf_release) struct buf inner = BUF_INIT;

	add_end(&inner);
	add_bytes(&f->bytes, "n1.tar", inner.data, inner.len);
	add_file(&f->bytes, "x", "1");
	add_end(&f->bytes);
	expect(f, "for n1\nfile x: 1\n");
}

static const struct {
	const char *filter, *suffix;
} filters[] = {{"gzip", ".tar.gz"}, {"gzip", ".TGZ"},	  {"bzip2", ".tar.bz2"},
	       {"xz", ".tar.xz"},   {"zstd", ".tar.zst"}, {"lz4", ".tar.lz4"}};

#define FILTERS (sizeof(filters) / sizeof(*filters))
#define SUMMED	4 /* of these always have checksums */

TEST_OF(fresh, all_compressions_are_undone_inside_and_outside)
{
	struct fixture *f = *state;
	char name[32];

	for (size_t i = 0; i < FILTERS; i++) {
		SCOPE(buf_release) struct buf inner = BUF_INIT;

		add_file(&inner, "x", "1");
		add_end(&inner);
		compress(&inner, filters[i].filter);
		snprintf(name, sizeof(name), "d%s", filters[i].suffix);
		f->bytes.len = 0;
		add_bytes(&f->bytes, name, inner.data, inner.len);
		add_file(&f->bytes, "y", "2");
		add_end(&f->bytes);
		compress(&f->bytes, filters[i].filter);
		expect(f, "for d\nfile d/x: 1\nfile y: 2\n");
	}
}

TEST_OF(fresh, tars_are_opened_to_a_depth)
{
	struct fixture *f = *state;
	SCOPE(buf_release) struct buf inner = BUF_INIT;
	char name[16];

	add_tar(&inner, "4.tar", "x", "1");
	for (int i = 3; i > 1; i--) {
		struct buf outer = BUF_INIT;

		add_end(&inner);
		snprintf(name, sizeof(name), "%d.tar", i);
		add_bytes(&outer, name, inner.data, inner.len);
		buf_release(&inner);
		inner = outer;
	}
	assert_done(buf_add(&f->bytes, inner.data, inner.len));
	add_end(&f->bytes);
	expect(f, "for 2\nfor 2/3\nfile 2/3/4.tar: x\n");
}

TEST_OF(fresh, what_is_only_called_a_tar_stays_a_file)
{
	struct fixture *f = *state;
	SCOPE(buf_release) struct buf text = BUF_INIT;
	SCOPE_FREE char *long_text = letters('l', 3000000);
	static const uint8_t half[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff};

	assert_done(buf_adds(&text, "no tar either"));
	compress(&text, "gzip");
	add_file(&f->bytes, "a.tar", "not a tar");
	add_file(&f->bytes, "b.tar", "");
	add_file(&f->bytes, "c.tar", long_text);
	add_bytes(&f->bytes, "d.tar.gz", text.data, text.len);
	add_bytes(&f->bytes, "e.tar.gz", half, sizeof(half));
	add_tar(&f->bytes, ".tar", "x", "1");
	add_tar(&f->bytes, "tar", "x", "1");
	add_end(&f->bytes);
	open_tar(f);
	for (const char *name = "abcde"; *name; name++) {
		struct tar_entry entry;
		SCOPE_FREE char *data = malloc(3000000);

		assert_done(next(f, &entry));
		assert_int_equal(entry.path[0], *name);
		assert_int_equal(entry.kind, TAR_FILE);
		assert_done(tar_read(f->tar, data, entry.size, &f->err));
		if (*name == 'c')
			assert_memory_equal(data, long_text, entry.size);
		if (*name == 'd')
			assert_memory_equal(data, text.data, entry.size);
		if (*name == 'e')
			assert_memory_equal(data, half, entry.size);
	}
	assert_int_equal(read_on(f), 1);
	assert_string_equal(f->seen.data, "file .tar: x\nfile tar: x\n");
}

TEST_OF(fresh, the_suffix_of_a_tar_is_known_in_any_case)
{
	static const char *const names[] = {"a.tar",   "d/ab.tar.gz", "b.TGZ", "c.tar.tar",
					    "d.tar.Z", "e.tar/b",     "f/.tar"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		add_tar(&f->bytes, names[i], "x", "1");
	add_end(&f->bytes);
	expect(f,
	       "for a\nfile a/x: 1\nfor d/ab\nfile d/ab/x: 1\nfor b\nfile b/x: 1\n"
	       "for c.tar\nfile c.tar/x: 1\nfile d.tar.Z: x\nfile e.tar/b: x\n"
	       "file f/.tar: x\n");
}

TEST_OF(fresh, a_tar_that_no_name_is_left_of_without_its_suffix_stays_a_file)
{
	struct fixture *f = *state;

	add_tar(&f->bytes, "..tar", "x", "1");
	add_tar(&f->bytes, "...tar.gz", "x", "1");
	add_tar(&f->bytes, "d/...tar", "x", "1");
	add_tar(&f->bytes, "....tar", "x", "1");
	add_tar(&f->bytes, "..a.tar", "x", "1");
	add_end(&f->bytes);
	expect(f,
	       "file ..tar: x\nfile ...tar.gz: x\nfile d/...tar: x\n"
	       "for ...\nfile .../x: 1\nfor ..a\nfile ..a/x: 1\n");
}

/* --- bad tars ----------------------------------------------------------------------------- */

TEST_OF(fresh, what_is_no_tar_is_refused)
{
	struct fixture *f = *state;
	static const char no_tar[] =
		"not a tar, plain or compressed by gzip, bzip2, xz, zstd or lz4; unpack it and "
		"pack the folder, or pipe it decompressed into 'foldpack create - PACK'";
	SCOPE_FREE char *text = letters('t', 4096);

	expect_failure(f, -EINVAL, "empty, so it is not a tar");
	assert_done(buf_adds(&f->bytes, "PK\3\4"));
	expect_failure(f, -EINVAL, no_tar);
	assert_done(buf_adds(&f->bytes, text));
	expect_failure(f, -EINVAL, no_tar);
	compress(&f->bytes, "zstd");
	expect_failure(f, -EINVAL, no_tar);
}

TEST_OF(fresh, a_tar_may_have_no_entries)
{
	struct fixture *f = *state;

	add_end(&f->bytes);
	expect(f, "");
}

TEST_OF(fresh, one_tar_behind_the_other_is_read_as_one)
{
	struct fixture *f = *state;

	for (const char *name = "abc"; *name; name++) {
		add_file(&f->bytes, name, "1");
		for (unsigned i = 0; i < 9; i++)
			add_end(&f->bytes);
	}
	expect(f, "file abc: 1\nfile bc: 1\nfile c: 1\n");
}

TEST_OF(fresh, a_directory_is_no_tar)
{
	struct fixture *f = *state;

	f->fd = open("/", O_RDONLY | O_CLOEXEC);
	assert_int_equal(tar_new(f->fd, TAR_NESTED, &f->tar, &f->err), -EISDIR);
	assert_string_equal(f->err.text, "");
}

/* Wherever: what is left must never look like a whole tar. */
TEST_OF(fresh, a_tar_that_is_cut_off_is_noticed_wherever_that_is)
{
	struct fixture *f = *state;
	size_t whole;

	add_folder(&f->bytes, "d");
	add_file(&f->bytes, "d/x", "1");
	add_tar(&f->bytes, "t.tar", "y", "2");
	add_pax(&f->bytes, PAX("path", "z", "mtime", "1.5"));
	add_file(&f->bytes, "cut", "3");
	whole = f->bytes.len + RECORD;
	add_end(&f->bytes);
	for (size_t len = 0; len < whole; len += 1 + len % 7)
		assert_true(read_first(f, len) < 0);
	assert_int_equal(read_first(f, whole), 1);
}

TEST_OF(fresh, a_compressed_tar_that_is_cut_off_is_noticed_too)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < FILTERS; i++) {
		f->bytes.len = 0;
		add_file(&f->bytes, "x", "1");
		add_file(&f->bytes, "y", "2");
		add_end(&f->bytes);
		compress(&f->bytes, filters[i].filter);
		for (size_t len = 0; len < f->bytes.len * 3 / 4; len++)
			assert_true(read_first(f, len) < 0);
	}
}

TEST_OF(fresh, a_bit_that_turned_over_in_a_compressed_tar_is_noticed)
{
	struct fixture *f = *state;
	SCOPE_FREE char *text = malloc(100000);

	for (unsigned i = 0; i < 100000; i++)
		text[i] = (char)(i * 2654435761u >> 24);
	for (size_t i = 0; i < SUMMED; i++) {
		f->bytes.len = 0;
		add_bytes(&f->bytes, "x", text, 100000);
		add_end(&f->bytes);
		compress(&f->bytes, filters[i].filter);
		for (size_t at = 20; at + 8 < f->bytes.len; at += 1 + f->bytes.len / 40) {
			f->bytes.data[at] ^= 4;
			assert_true(read_first(f, f->bytes.len) < 0);
			f->bytes.data[at] ^= 4;
		}
	}
}

TEST_OF(fresh, gzip_says_what_is_wrong)
{
	struct fixture *f = *state;

	add_file(&f->bytes, "x", "1");
	add_end(&f->bytes);
	compress(&f->bytes, "gzip");
	f->bytes.data[f->bytes.len - 8] ^= 1;
	expect_failure(f, -EBADMSG, "damaged after 'x': gzip: incorrect data check");
	f->bytes.data[f->bytes.len - 8] ^= 1;
	f->bytes.len--;
	expect_failure(f, -EBADMSG, "damaged after 'x': gzip: truncated");
}

/* Of what is within, nothing can be known: it may have been a tar. */
TEST_OF(fresh, what_is_compressed_is_damaged_where_it_cannot_be_decompressed)
{
	static const struct {
		const char *filter, *sentence;
	} cases[] = {
		{"gzip", "damaged at the beginning: gzip: truncated"},
		{"bzip2", "damaged at the beginning: truncated bzip2 input"},
		{"xz", "damaged at the beginning: lzma library error:  No progress is possible"},
		{"zstd", "damaged at the beginning: truncated zstd input"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		add_file(&f->bytes, "x", "1");
		add_end(&f->bytes);
		compress(&f->bytes, cases[i].filter);
		f->bytes.len = 30;
		expect_failure(f, -EBADMSG, cases[i].sentence);
		f->bytes.len = 0;
	}
}

TEST_OF(fresh, members_of_gzip_are_one_and_zeros_behind_them_are_nothing)
{
	struct fixture *f = *state;
	SCOPE(buf_release) struct buf end = BUF_INIT;
	static const char zeros[600];

	add_file(&f->bytes, "x", "1");
	add_end(&end);
	compress(&f->bytes, "gzip");
	compress(&end, "gzip");
	assert_done(buf_add(&f->bytes, end.data, end.len));
	assert_done(buf_add(&f->bytes, zeros, sizeof(zeros)));
	expect(f, "file x: 1\n");
	assert_done(buf_adds(&f->bytes, "garbage"));
	expect_failure(f, -EBADMSG, "damaged after 'x': gzip: incorrect header check");
}

TEST_OF(fresh, what_is_cut_off_is_said_with_its_place)
{
	struct fixture *f = *state;

	add_file(&f->bytes, "n1/x.JPEG", "1");
	add_head(&f->bytes, &(struct head){.type = '0', .name = "n1/y.JPEG", .size = 4000});
	expect_failure(f, -EBADMSG, "damaged within 'n1/y.JPEG': truncated tar archive");
	f->bytes.len -= 100;
	expect_failure(f, -EBADMSG, "damaged after 'n1/x.JPEG': truncated tar archive");
	f->bytes.len -= 412;
	expect_failure(f, -EBADMSG,
		       "no end mark after 'n1/x.JPEG': cut off there, or not finished by its "
		       "writer");
}

TEST_OF(fresh, a_tar_in_a_tar_that_is_cut_off_is_said_with_its_place)
{
	struct fixture *f = *state;
	SCOPE(buf_release) struct buf inner = BUF_INIT;

	add_file(&inner, "x", "1");
	add_bytes(&f->bytes, "n1.tar", inner.data, inner.len);
	add_end(&f->bytes);
	expect_failure(f, -EBADMSG,
		       "no end mark after 'n1/x': cut off there, or not finished by its writer");
	f->bytes.len = 3 * RECORD - 1;
	expect_failure(f, -EBADMSG, "damaged within 'n1/x': truncated tar archive");
}

/* While it is looked into. */
TEST_OF(fresh, a_tar_that_ends_where_one_in_it_begins_is_said_with_its_place)
{
	struct fixture *f = *state;

	add_tar(&f->bytes, "d/in.tar", "x", "1");
	f->bytes.len = RECORD + 100;
	expect_failure(f, -EBADMSG, "damaged within 'd/in.tar': truncated tar archive");
}

TEST_OF(fresh, garbage_between_members_is_said_with_its_place)
{
	struct fixture *f = *state;
	SCOPE_FREE char *garbage = letters('g', RECORD);

	add_file(&f->bytes, "x", "1");
	add_body(&f->bytes, garbage, RECORD);
	add_file(&f->bytes, "y", "1");
	add_end(&f->bytes);
	expect_failure(f, -EBADMSG, "damaged after 'x': damaged tar archive");
	f->bytes.len = 2 * RECORD;
	add_end(&f->bytes);
	add_body(&f->bytes, garbage, RECORD);
	expect_failure(f, -EBADMSG, "damaged after 'x': damaged tar archive");
}

/* A header that was not understood may have named another file, or another place. */
TEST_OF(fresh, a_pax_header_that_makes_no_sense_is_damage)
{
	struct fixture *f = *state;

	add_file(&f->bytes, "x", "1");
	add_head(&f->bytes, &(struct head){.type = 'x', .name = "pax", .size = 10});
	add_body(&f->bytes, "10 path=y ", 10);
	add_file(&f->bytes, "cut", "2");
	add_end(&f->bytes);
	expect_failure(f, -EBADMSG, "damaged after 'x': ignoring malformed pax extended attribute");
}

TEST_OF(fresh, sizes_that_lie_are_damage)
{
	struct fixture *f = *state;

	add_file(&f->bytes, "x", "1");
	add_pax(&f->bytes, PAX("size", "9000000000000000000"));
	add_file(&f->bytes, "y", "1");
	add_end(&f->bytes);
	expect_failure(f, -EBADMSG,
		       "damaged within 'y': truncated input file (needed "
		       "9000000000000000000 bytes, only 1536 available)");
	f->bytes.len = 2 * RECORD;
	add_pax(&f->bytes, PAX("size", "-1"));
	add_file(&f->bytes, "y", "1");
	/* What follows is said by libarchive, of each version. */
	assert_int_equal(read_first(f, f->bytes.len), -EBADMSG);
	assert_ptr_equal(strstr(f->err.text, "damaged after 'x': "), f->err.text);
}

TEST_OF(fresh, a_size_beyond_8_gib_is_in_the_pax_header)
{
	struct fixture *f = *state;
	struct tar_entry entry;

	add_pax(&f->bytes, PAX("size", "9000000000"));
	add_file(&f->bytes, "x", "");
	open_tar(f);
	assert_done(next(f, &entry));
	assert_int_equal(entry.size, 9000000000);
}

TEST_OF(fresh, after_a_failure_it_fails_again)
{
	struct fixture *f = *state;
	struct tar_entry entry;
	struct err again = {{0}};
	char data[2];

	add_head(&f->bytes, &(struct head){.type = '0', .name = "x", .size = 4000});
	open_tar(f);
	assert_done(next(f, &entry));
	assert_int_equal(tar_read(f->tar, data, 2, &f->err), -EBADMSG);
	assert_int_equal(tar_read(f->tar, data, 2, &again), -EBADMSG);
	assert_string_equal(again.text, f->err.text);
	again.text[0] = '\0';
	assert_int_equal(next(f, &entry), -EBADMSG);
	assert_int_equal(tar_next(f->tar, &entry, &again), -EBADMSG);
	assert_string_equal(again.text, f->err.text);
}

TEST_OF(fresh, a_signal_ends_it)
{
	struct fixture *f = *state;
	int status;
	pid_t child;

	add_end(&f->bytes);
	child = fork();
	if (child == 0) {
		interrupt_catch();
		raise(SIGTERM);
		_exit(read_first(f, f->bytes.len) == -EINTR ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
