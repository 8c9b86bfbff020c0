/* Several readers as one: base/reader_volumes.h. */
#include "base/reader_file.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "cache/plan/learner.h"
#include "tests/unit/test.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define COUNT 3
#define PAGE  ((size_t)READER_PAGE)

/* Not whole pages, but for the second. */
static const size_t sizes[COUNT] = {3 * PAGE + 100, 2 * PAGE, 100};

struct fixture {
	int fds[COUNT];
	struct reader *files[COUNT], *all;
};

static char byte_of(unsigned volume, size_t at)
{
	return (char)(volume * 50 + at % 47);
}

static void setup(struct fixture *f)
{
	for (unsigned i = 0; i < COUNT; i++) {
		f->fds[i] = memfd_create("volume", MFD_CLOEXEC);
		for (size_t at = 0; at < sizes[i]; at++) {
			char byte = byte_of(i, at);

			assert_int_equal(pwrite(f->fds[i], &byte, 1, (off_t)at), 1);
		}
		assert_int_equal(reader_file_borrow(f->fds[i], &f->files[i]), 0);
	}
	assert_int_equal(reader_volumes_new(f->files, COUNT, &f->all), 0);
	assert_int_equal(reader_prepare(f->all, READER_AUTO), 0);
}

static void teardown(struct fixture *f)
{
	reader_free(f->all);
	for (unsigned i = 0; i < COUNT; i++) {
		reader_free(f->files[i]);
		close(f->fds[i]);
	}
}

static void expect_bytes(const char *data, unsigned volume, size_t from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(data[i], byte_of(volume, from + i));
}

FIXTURE(f, struct fixture, setup, teardown);

TEST_OF(f, each_volume_has_its_bytes_from_its_start_on)
{
	char buf[4 * PAGE];

	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t start = reader_volumes_start(f->all, i);

		assert_int_equal(start % PAGE, 0);
		reader_will_get(f->all, start, sizes[i]);
		assert_int_equal(reader_get_full(f->all, buf, sizes[i], start), 0);
		expect_bytes(buf, i, 0, sizes[i]);
		assert_int_equal(reader_get_full(f->all, buf, 50, start + 7), 0);
		expect_bytes(buf, i, 7, 50);
		assert_int_equal(reader_volumes_find(f->all, start), i);
		assert_int_equal(reader_volumes_find(f->all, start + sizes[i] - 1), i);
	}
}

TEST_OF(f, pages_are_read_of_the_volume_that_has_them)
{
	SCOPE_FREE char *buf = aligned_alloc(PAGE, 2 * PAGE);

	for (unsigned i = 0; i < 2; i++) {
		struct iovec iov[2] = {{buf, PAGE}, {buf + PAGE, PAGE}}, again[2];
		uint64_t start = reader_volumes_start(f->all, i);

		memcpy(again, iov, sizeof(iov));
		memset(buf, 0, 2 * PAGE);
		assert_int_equal(reader_read(f->all, iov, 2, start, 2 * PAGE), 0);
		expect_bytes(buf, i, 0, 2 * PAGE);
		memset(buf, 0, 2 * PAGE);
		assert_int_equal(reader_read_now(f->all, again, 2, start, 2 * PAGE), 0);
		expect_bytes(buf, i, 0, 2 * PAGE);
	}
}

TEST_OF(f, no_read_leads_from_one_volume_into_the_next)
{
	SCOPE_FREE char *buf = aligned_alloc(PAGE, 2 * PAGE);
	struct iovec iov = {buf, 2 * PAGE};
	uint64_t last = reader_volumes_start(f->all, 0) + 3 * PAGE;

	assert_int_equal(reader_read(f->all, &iov, 1, last, 101), -ENODATA);
	assert_int_equal(reader_get(f->all, buf, 2 * PAGE, last), 100);
	assert_int_equal(reader_get(f->all, buf, PAGE, last + PAGE), 0);
	for (unsigned i = 1; i < COUNT; i++)
		assert_true(reader_volumes_start(f->all, i) -
				    (reader_volumes_start(f->all, i - 1) + sizes[i - 1]) >
			    16 * LEARNER_GAP_MAX);
}

TEST_OF(f, the_identity_changes_with_that_of_any_volume)
{
	struct reader_identity before, now;

	for (unsigned i = 0; i < COUNT; i++) {
		const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 5 + i}};

		assert_int_equal(reader_identity(f->all, &before), 0);
		assert_int_equal(reader_identity(f->all, &now), 0);
		assert_memory_equal(&before, &now, sizeof(now));
		assert_int_equal(futimens(f->fds[i], times), 0);
		assert_int_equal(reader_identity(f->all, &now), 0);
		assert_int_not_equal(before.written, now.written);
		assert_int_equal(ftruncate(f->fds[i], (off_t)sizes[i] - 1), 0);
		before = now;
		assert_int_equal(reader_identity(f->all, &now), 0);
		assert_int_not_equal(before.written, now.written);
	}
	assert_int_equal(now.size, reader_volumes_start(f->all, COUNT - 1) + sizes[COUNT - 1] - 1);
}

TEST_OF(f, reads_of_all_volumes_are_counted)
{
	SCOPE_FREE char *buf = aligned_alloc(PAGE, PAGE);
	struct reader_counts counts;

	for (unsigned i = 0; i < 2; i++) {
		struct iovec iov = {buf, PAGE};

		assert_int_equal(
			reader_read(f->all, &iov, 1, reader_volumes_start(f->all, i), PAGE), 0);
	}
	counts = reader_counts(f->all);
	assert_int_equal(counts.reads, 2);
	assert_int_equal(counts.bytes, 2 * PAGE);
	assert_int_equal(counts.errors, 0);
}

/* --- far volumes ------------------------------------------------------------------------------ */

struct far {
	struct reader reader;
	struct reader *file;
	struct reader_request *request; /* the last one */
	bool direct, rested, cancelled;
	uint64_t bad; /* the offset, the last one */
};

static void far_submit(struct reader *reader, struct reader_request *request)
{
	((struct far *)reader)->request = request;
}

static int far_identity(struct reader *reader, struct reader_identity *ret)
{
	return reader_identity(((struct far *)reader)->file, ret);
}

static void far_hints(const struct reader *reader, struct reader_hints *ret)
{
	*ret = (struct reader_hints){
		.shared = true, .remote = true, .direct = ((const struct far *)reader)->direct};
}

static void far_cancel(struct reader *reader)
{
	((struct far *)reader)->cancelled = true;
}

static void far_rest(struct reader *reader)
{
	((struct far *)reader)->rested = true;
}

static bool far_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	((struct far *)reader)->bad = offset + len;
	return true;
}

static const struct reader_ops far_ops = {
	.bad = far_bad,
	.submit = far_submit,
	.cancel = far_cancel,
	.identity = far_identity,
	.hints = far_hints,
	.rest = far_rest,
};

static void note_done(void *arg, int error)
{
	*(int *)arg = error;
}

TEST_OF(f, a_far_volume_gets_requests_and_a_near_one_is_read)
{
	struct far far = {.reader.ops = &far_ops, .file = f->files[0]};
	struct reader *mixed[2] = {&far.reader, f->files[1]};
	SCOPE(reader_release) struct reader *all = NULL;
	SCOPE_FREE char *buf = aligned_alloc(PAGE, PAGE);
	const struct iovec iov = {buf, PAGE};
	int result = 1;
	struct reader_request request = {.iov = &iov,
					 .count = 1,
					 .offset = PAGE,
					 .needed = PAGE,
					 .done = note_done,
					 .arg = &result};

	assert_int_equal(reader_volumes_new(mixed, 2, &all), 0);
	assert_true(reader_hints(all).remote && reader_hints(all).shared);
	assert_false(reader_hints(all).direct);
	reader_submit(all, &request);
	assert_ptr_equal(far.request, &request);
	assert_int_equal(far.request->offset, PAGE);
	assert_int_equal(result, 1);

	request.offset = reader_volumes_start(all, 1) + PAGE;
	reader_submit(all, &request);
	assert_int_equal(result, 0);
	expect_bytes(buf, 1, PAGE, PAGE);
	assert_int_equal(iov.iov_len, PAGE);

	request.offset = reader_volumes_start(all, 1) + 2 * PAGE;
	reader_submit(all, &request);
	assert_int_equal(result, -ENODATA);
	reader_rest(all);
	assert_true(far.rested);
	reader_cancel(all);
	assert_true(far.cancelled);
}

TEST_OF(f, damage_is_told_to_the_volume_that_keeps_a_copy)
{
	struct far far = {.reader.ops = &far_ops, .file = f->files[0]};
	struct reader *mixed[2] = {f->files[1], &far.reader};
	SCOPE(reader_release) struct reader *all = NULL;

	assert_int_equal(reader_volumes_new(mixed, 2, &all), 0);
	assert_false(reader_bad(all, PAGE, PAGE));
	assert_true(reader_bad(all, reader_volumes_start(all, 1) + PAGE, PAGE));
	assert_int_equal(far.bad, 2 * PAGE);
}

TEST_OF(f, all_is_direct_if_each_is_and_errors_of_each_count)
{
	struct far a = {.reader = {&far_ops, .errors = 1}, .file = f->files[0], .direct = true};
	struct far b = {.reader = {&far_ops, .errors = 2}, .file = f->files[1], .direct = true};
	struct reader *both[2] = {&a.reader, &b.reader};
	SCOPE(reader_release) struct reader *all = NULL;

	assert_int_equal(reader_volumes_new(both, 2, &all), 0);
	assert_true(reader_hints(all).direct);
	assert_int_equal(reader_counts(all).errors, 3);
	a.direct = false;
	assert_false(reader_hints(all).direct);
}
