/* Many files as one container: base/reader_members.h. */
#include "base/reader_file.h"
#include "base/reader_members.h"
#include "base/scope.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT 200
#define PAGE  ((size_t)READER_PAGE)

static size_t size_of(unsigned i)
{
	return i % 7 == 0 ? 3 * PAGE + 100 : 1 + i * 37;
}

static char byte_of(unsigned i, size_t at)
{
	return (char)(i * 50 + at % 47);
}

/* Members in memory, by their numbers. */
struct source {
	struct members members; /* first */
	unsigned reads, freed;
	unsigned broken; /* this one; COUNT: none */
	int error;
};

static struct source *source_of(struct members *members)
{
	return (struct source *)(void *)members;
}

static int source_read(struct members *members, const struct member *member, struct iovec *iov,
		       int count, uint64_t offset, uint64_t needed)
{
	struct source *source = source_of(members);
	uint64_t done = 0;
	unsigned i;

	source->reads++;
	assert_int_equal(sscanf(member->path, "folder/%u", &i), 1);
	assert_int_equal(member->size, size_of(i));
	assert_int_equal(member->mtime, -(int64_t)i);
	assert_int_equal(atoi(member->tag), i);
	if (i == source->broken)
		return source->error;
	for (int k = 0; k < count; k++)
		for (size_t at = 0; at < iov[k].iov_len && offset + done < member->size; at++)
			((char *)iov[k].iov_base)[at] = byte_of(i, (size_t)(offset + done++));
	return done < needed ? -ENODATA : 0;
}

static void source_submit(struct members *members, const struct member *member,
			  const struct iovec *iov, int count, uint64_t offset, uint64_t needed,
			  const atomic_bool *ahead, reader_done_fn *done, void *arg)
{
	struct iovec copy[8];

	assert_false(*ahead);
	assert_true(count <= 8);
	memcpy(copy, iov, (size_t)count * sizeof(*iov));
	done(arg, source_read(members, member, copy, count, offset, needed));
}

static void source_free(struct members *members)
{
	source_of(members)->freed++;
}

static const struct members_ops near_ops = {.read = source_read, .free = source_free};
static const struct members_ops far_ops = {.submit = source_submit, .free = source_free};

struct fixture {
	struct source source;
	int fd;
	struct reader *file, *all;
	uint64_t starts[COUNT], stored, sum, end;
	struct reader_members_table table;
};

static void put_table(struct fixture *f)
{
	SCOPE(buf_release) struct buf rows = BUF_INIT, text = BUF_INIT;

	for (unsigned i = 0; i < COUNT; i++) {
		const struct member member = {.size = size_of(i), .mtime = -(int64_t)i};
		uint8_t row[READER_MEMBERS_ROW];

		f->starts[i] = f->end;
		reader_members_encode(f->end, &member, text.len, row);
		assert_int_equal(buf_add(&rows, row, sizeof(row)), 0);
		assert_int_equal(buf_addf(&text, "folder/%u%c%u%c", i, 0, i, 0), 0);
		f->end = reader_members_after(f->end, member.size);
		f->sum += member.size;
	}
	f->fd = memfd_create("table", MFD_CLOEXEC);
	assert_int_equal(pwrite(f->fd, "xxx", 3, 0), 3);
	assert_int_equal(pwrite(f->fd, rows.data, rows.len, 3), rows.len);
	assert_int_equal(pwrite(f->fd, text.data, text.len, (off_t)(3 + rows.len)), text.len);
	assert_int_equal(reader_file_borrow(f->fd, &f->file), 0);
	f->table = (struct reader_members_table){
		.file = f->file, .offset = 3, .count = COUNT, .text = text.len};
}

static void begin(struct fixture *f, const struct members_ops *ops)
{
	f->source = (struct source){.members.ops = ops, .broken = COUNT};
	put_table(f);
	assert_int_equal(reader_members_new(&f->source.members, &f->table, &f->all, &f->stored), 0);
}

static void setup(struct fixture *f)
{
	begin(f, &near_ops);
}

static void setup_far(struct fixture *f)
{
	begin(f, &far_ops);
}

static void teardown(struct fixture *f)
{
	reader_free(f->all);
	assert_int_equal(f->source.freed, 1);
	reader_free(f->file);
	close(f->fd);
}

FIXTURE(f, struct fixture, setup, teardown);
FIXTURE(far, struct fixture, setup_far, teardown);

TEST_OF(f, each_member_has_its_bytes_from_its_start_on)
{
	char buf[4 * PAGE];

	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(f->starts[i] % PAGE, 0);
		assert_int_equal(reader_get_full(f->all, buf, size_of(i), f->starts[i]), 0);
		for (size_t at = 0; at < size_of(i); at++)
			assert_int_equal(buf[at], byte_of(i, at));
	}
	assert_int_equal(f->stored, f->sum);
}
TEST_AGAIN(far, each_member_has_its_bytes_from_its_start_on);

TEST_OF(f, a_member_ends_as_a_file_does)
{
	char buf[2 * PAGE];

	assert_int_equal(reader_get(f->all, buf, sizeof(buf), f->starts[7] + 3 * PAGE), 100);
	assert_int_equal(reader_get(f->all, buf, sizeof(buf), f->starts[7] + 4 * PAGE), 0);
	assert_int_equal(reader_get(f->all, buf, sizeof(buf), f->end + PAGE), 0);
}
TEST_AGAIN(far, a_member_ends_as_a_file_does);

TEST_OF(f, holes_are_wider_than_any_gap)
{
	for (unsigned i = 1; i < COUNT; i++)
		assert_true(f->starts[i] - f->starts[i - 1] - size_of(i - 1) > READER_GAP_MAX);
}

TEST_OF(f, pages_are_read_and_counted)
{
	SCOPE_FREE char *buf = aligned_alloc(PAGE, 4 * PAGE);
	struct iovec iov[] = {{buf, PAGE}, {buf + PAGE, 3 * PAGE}};

	assert_int_equal(reader_read(f->all, iov, 2, f->starts[14], 3 * PAGE + 100), 0);
	for (size_t at = 0; at < 3 * PAGE + 100; at++)
		assert_int_equal(buf[at], byte_of(14, at));
	assert_int_equal(reader_counts(f->all).reads, 1);
	assert_int_equal(reader_counts(f->all).bytes, 3 * PAGE + 100);
	assert_int_equal(f->source.reads, 1);
}
TEST_AGAIN(far, pages_are_read_and_counted);

TEST_OF(f, an_error_is_that_of_its_member)
{
	char buf[4 * PAGE];

	f->source.broken = 9;
	f->source.error = -ESTALE;
	assert_int_equal(reader_get(f->all, buf, 1, f->starts[9]), -ESTALE);
	assert_int_equal(reader_get(f->all, buf, 1, f->starts[10]), 1);
	assert_int_equal(reader_counts(f->all).errors, 1);
}
TEST_AGAIN(far, an_error_is_that_of_its_member);

static void expect_refused(struct fixture *f, off_t at, const void *bytes, size_t len)
{
	struct reader *other = NULL;
	char before[64];
	uint64_t stored;

	assert_int_equal(pread(f->fd, before, len, at), len);
	assert_int_equal(pwrite(f->fd, bytes, len, at), len);
	assert_int_equal(reader_members_new(&f->source.members, &f->table, &other, &stored),
			 -EBADMSG);
	assert_int_equal(pwrite(f->fd, before, len, at), len);
}

TEST_OF(f, a_table_that_is_none_is_refused)
{
	struct reader_members_table longer = f->table;
	struct reader *other = NULL;
	const uint64_t none = 0, many = UINT64_MAX;
	uint64_t stored;

	expect_refused(f, 3 + READER_MEMBERS_ROW, &none, 8);
	expect_refused(f, 3 + 8, &none, 8);
	expect_refused(f, 3 + 8, &many, 8);
	expect_refused(f, 3 + 24, &many, 8);
	longer.count = 100000;
	assert_int_equal(reader_members_new(&f->source.members, &longer, &other, &stored),
			 -EBADMSG);
}

static void expect_no_path(struct fixture *f, const char *path)
{
	off_t text = 3 + COUNT * (off_t)READER_MEMBERS_ROW;
	char byte;

	assert_int_equal(pwrite(f->fd, path, strlen(path) + 1, text), strlen(path) + 1);
	assert_int_equal(reader_get(f->all, &byte, 1, f->starts[0]), -EBADMSG);
}

TEST_OF(f, no_path_leads_up)
{
	expect_no_path(f, "../x");
	expect_no_path(f, "a/../x");
	expect_no_path(f, "/x");
	expect_no_path(f, "a//x");
	expect_no_path(f, "a/");
	expect_no_path(f, ".");
	expect_no_path(f, "");
	assert_int_equal(f->source.reads, 0);
}

TEST_OF(f, nothing_is_read_of_a_hole_or_of_no_members)
{
	struct source none = {.members.ops = &near_ops};
	struct reader_members_table empty = {.file = f->file};
	char *page = aligned_alloc(PAGE, PAGE);
	struct iovec iov = {page, PAGE};
	struct reader *other;
	uint64_t stored = 1;

	assert_int_equal(reader_read(f->all, &iov, 1, f->starts[1] + PAGE, 1), -ENODATA);
	assert_int_equal(reader_members_new(&none.members, &empty, &other, &stored), 0);
	assert_int_equal(stored, 0);
	assert_int_equal(reader_get(other, page, 1, 0), 0);
	assert_ptr_equal(reader_members_leave(other), &none.members);
	free(page);
}
