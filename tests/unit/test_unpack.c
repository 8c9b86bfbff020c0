/* What is compressed, good and damaged: pack/tool/import/unpack.h. libarchive compresses it. */
#include "base/buf.h"
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/unpack.h"
#include "pack/tool/work/interrupt.h"
#include "tests/unit/test.h"
#include <archive.h>
#include <archive_entry.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT "one and the same text, and one and the same"

static const char *const filters[] = {"gzip", "bzip2", "xz", "zstd", "lz4"};

#define FILTERS (sizeof(filters) / sizeof(*filters))
#define SUMMED	3 /* of these always have checksums */

static la_ssize_t take_compressed(struct archive *archive, void *context, const void *data,
				  size_t len)
{
	(void)archive;
	assert_int_equal(buf_add(context, data, len), 0);
	return (la_ssize_t)len;
}

static void compress(struct buf *to, const char *filter, const void *bytes, size_t len)
{
	struct archive *archive = archive_write_new();
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_filetype(entry, AE_IFREG);
	assert_int_equal(archive_write_set_format_raw(archive), 0);
	assert_int_equal(archive_write_add_filter_by_name(archive, filter), 0);
	assert_int_equal(archive_write_set_bytes_per_block(archive, 0), 0);
	assert_int_equal(archive_write_open(archive, to, NULL, take_compressed, NULL), 0);
	assert_int_equal(archive_write_header(archive, entry), 0);
	assert_int_equal(archive_write_data(archive, bytes, len), len);
	assert_int_equal(archive_write_close(archive), 0);
	archive_write_free(archive);
	archive_entry_free(entry);
}

static uint64_t behind; /* the end, of what was unpacked last */

/* Of the first bytes. */
static int unpacked(const struct buf *packed, size_t len, struct buf *ret, struct err *err)
{
	SCOPE_CLOSE int from = memfd_create("from", MFD_CLOEXEC);
	SCOPE_CLOSE int to = memfd_create("to", MFD_CLOEXEC);
	off_t size;
	int r;

	assert_int_equal(io_pwrite_full(from, packed->data, len, 0), 0);
	r = unpack(NULL, from, to, &behind, err);
	size = lseek(to, 0, SEEK_END);
	ret->len = 0;
	assert_int_equal(buf_reserve(ret, (size_t)size + 1), 0);
	assert_int_equal(io_pread_full(to, ret->data, (size_t)size, 0), 0);
	ret->len = (size_t)size;
	return r;
}

static void expect_failure(const struct buf *packed, size_t len, const char *sentence)
{
	SCOPE(buf_release) struct buf plain = BUF_INIT;
	struct err err = {0};

	assert_int_equal(unpacked(packed, len, &plain, &err), -EBADMSG);
	assert_non_null(strstr(err.text, sentence));
}

static void expect(const struct buf *packed, const void *bytes, size_t len)
{
	SCOPE(buf_release) struct buf plain = BUF_INIT;
	struct err err = {0};

	assert_int_equal(unpacked(packed, packed->len, &plain, &err), 0);
	assert_int_equal(plain.len, len);
	assert_memory_equal(plain.data, bytes, len);
}

/* What is not compressed passes through. */
static void expect_unpacked(const char *text, size_t len, size_t count)
{
	const struct buf plain = {.data = (char *)text, .len = len};

	expect(&plain, text, len);
	for (size_t i = 0; i < count; i++) {
		SCOPE(buf_release) struct buf once = BUF_INIT, twice = BUF_INIT;

		compress(&once, filters[i], text, len);
		expect(&once, text, len);
		if (i == 0)
			continue;
		compress(&twice, "gzip", once.data, once.len);
		expect(&twice, text, len);
	}
}

/* libarchive crashes where it is to write an lz4, which is the last, of nothing. */
TEST(all_compressions_are_undone_and_others_in_gzip)
{
	expect_unpacked(TEXT, sizeof(TEXT), FILTERS);
	expect_unpacked("", 0, FILTERS - 1);
}

TEST(what_is_cut_off_is_noticed)
{
	for (size_t i = 0; i < SUMMED; i++) {
		SCOPE(buf_release) struct buf packed = BUF_INIT, plain = BUF_INIT;

		compress(&packed, filters[i], TEXT, sizeof(TEXT));
		for (size_t len = 20; len < packed.len * 3 / 4; len++)
			assert_true(unpacked(&packed, len, &plain, NULL) < 0);
	}
}

TEST(a_bit_that_turned_over_is_noticed)
{
	SCOPE_FREE char *text = malloc(100000);

	for (unsigned i = 0; i < 100000; i++)
		text[i] = (char)(i * 2654435761u >> 24);
	for (size_t i = 0; i < SUMMED; i++) {
		SCOPE(buf_release) struct buf packed = BUF_INIT, plain = BUF_INIT;

		compress(&packed, filters[i], text, 100000);
		for (size_t at = 20; at + 8 < packed.len; at += 1 + packed.len / 40) {
			packed.data[at] ^= 4;
			assert_true(unpacked(&packed, packed.len, &plain, NULL) < 0);
			packed.data[at] ^= 4;
		}
	}
}

TEST(gzip_says_what_is_wrong)
{
	SCOPE(buf_release) struct buf packed = BUF_INIT;

	compress(&packed, "gzip", TEXT, sizeof(TEXT));
	expect_failure(&packed, packed.len - 1, "gzip: truncated");
	packed.data[packed.len - 8] ^= 1;
	expect_failure(&packed, packed.len, "gzip: incorrect data check");
}

TEST(members_of_gzip_are_one_and_what_is_behind_them_is_counted_without_zeros)
{
	SCOPE(buf_release) struct buf packed = BUF_INIT;
	static const char zeros[600];

	compress(&packed, "gzip", "one ", 4);
	compress(&packed, "gzip", "and two", 7);
	assert_int_equal(buf_add(&packed, zeros, sizeof(zeros)), 0);
	expect(&packed, "one and two", 11);
	assert_int_equal(behind, 0);
	assert_int_equal(buf_adds(&packed, "garbage"), 0);
	expect(&packed, "one and two", 11);
	assert_int_equal(behind, 7);
}

TEST(a_signal_ends_it)
{
	const struct buf plain = {.data = (char[]){TEXT}, .len = sizeof(TEXT)};
	int status;
	pid_t child = fork();

	if (child == 0) {
		SCOPE(buf_release) struct buf ret = BUF_INIT;

		interrupt_catch();
		kill(getpid(), SIGTERM);
		while (!interrupt_pending())
			usleep(100);
		_exit(unpacked(&plain, plain.len, &ret, NULL) == -EINTR ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
