/* Reads of one file into scattered memory: cache/device.h. */
#include "base/io.h"
#include "cache/device.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_BYTES 300000u

struct fixture {
	char path[64];
	int fd;
	struct device device;
	char content[FILE_BYTES];
};

static struct fixture *file_in(const char *dir)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	srandom(4);
	for (size_t i = 0; i < FILE_BYTES; i++)
		f->content[i] = (char)random();
	snprintf(f->path, sizeof(f->path), "%s/test_device.XXXXXX", dir);
	f->fd = mkstemp(f->path);
	assert_true(f->fd >= 0);
	assert_int_equal(io_write_full(f->fd, f->content, FILE_BYTES), 0);
	device_init(&f->device, f->fd);
	return f;
}

static int setup(void **state)
{
	*state = file_in("/tmp");
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (!f)
		return 0;
	close(f->fd);
	unlink(f->path);
	free(f);
	return 0;
}

static void scattered_pieces_are_filled_in_order(void **state)
{
	struct fixture *f = *state;
	char a[10], b[70000], c[1];
	struct iovec iov[] = {{a, sizeof(a)}, {b, sizeof(b)}, {c, sizeof(c)}};

	assert_int_equal(device_read(&f->device, iov, 3, 1234), 0);
	assert_memory_equal(a, f->content + 1234, sizeof(a));
	assert_memory_equal(b, f->content + 1234 + sizeof(a), sizeof(b));
	assert_memory_equal(c, f->content + 1234 + sizeof(a) + sizeof(b), 1);
	assert_int_equal(f->device.reads, 1);
	assert_int_equal(f->device.bytes, sizeof(a) + sizeof(b) + sizeof(c));
	assert_int_equal(f->device.errors, 0);
}

static void reading_nothing_is_fine(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(device_read(&f->device, NULL, 0, 0), 0);
	assert_int_equal(f->device.reads, 0);
}

static void the_last_byte_is_still_there_and_the_next_is_not(void **state)
{
	struct fixture *f = *state;
	char buf[2];
	struct iovec iov = {buf, 1};

	assert_int_equal(device_read(&f->device, &iov, 1, FILE_BYTES - 1), 0);
	assert_int_equal(buf[0], f->content[FILE_BYTES - 1]);
	iov = (struct iovec){buf, 2};
	assert_int_equal(device_read(&f->device, &iov, 1, FILE_BYTES - 1), -ENODATA);
	iov = (struct iovec){buf, 1};
	assert_int_equal(device_read(&f->device, &iov, 1, FILE_BYTES), -ENODATA);
	assert_int_equal(f->device.errors, 2);
}

static void a_short_file_is_told_from_pieces_too(void **state)
{
	struct fixture *f = *state;
	char a[100], b[100];
	struct iovec iov[] = {{a, sizeof(a)}, {b, sizeof(b)}};

	assert_int_equal(device_read(&f->device, iov, 2, FILE_BYTES - 150), -ENODATA);
	assert_int_equal(f->device.errors, 1);
}

static void what_the_system_says_is_passed_on(void **state)
{
	struct fixture *f = *state;
	struct device bad;
	char buf[10];
	struct iovec iov = {buf, sizeof(buf)};

	(void)f;
	device_init(&bad, -1);
	assert_int_equal(device_read(&bad, &iov, 1, 0), -EBADF);
	assert_int_equal(bad.errors, 1);
	assert_int_equal(device_read_now(&bad, &iov, 1, 0), -EAGAIN); /* not its business */
	assert_int_equal(bad.errors, 1);
}

static void a_read_that_need_not_wait_is_right_or_refused(void **state)
{
	struct fixture *f = *state;
	static char buf[FILE_BYTES];
	struct iovec iov = {buf, FILE_BYTES};
	int r = device_read_now(&f->device, &iov, 1, 0);

	/* Just written, so there; but the system may let go of it at any time. */
	assert_true(r == 0 || r == -EAGAIN);
	if (r == 0)
		assert_memory_equal(buf, f->content, FILE_BYTES);
	assert_int_equal(f->device.errors, 0);
}

static void a_cold_file_is_refused_or_right_and_counts_no_error(void **state)
{
	struct fixture *f = *state;
	static char buf[FILE_BYTES];

	assert_int_equal(fdatasync(f->fd), 0);
	for (int i = 0; i < 20; i++) {
		struct iovec iov = {buf, FILE_BYTES};
		uint64_t bytes = f->device.bytes;
		int r;

		/* All of it cold, or the second half. */
		posix_fadvise(f->fd, i % 2 ? 0 : FILE_BYTES / 2, 0, POSIX_FADV_DONTNEED);
		memset(buf, 0, FILE_BYTES);
		r = device_read_now(&f->device, &iov, 1, 0);
		assert_true(r == 0 || r == -EAGAIN);
		if (r == 0)
			assert_memory_equal(buf, f->content, FILE_BYTES);
		/* What a refused read brought will be read, and counted, again. */
		assert_int_equal(f->device.bytes - bytes, r == 0 ? FILE_BYTES : 0);
	}
	assert_int_equal(f->device.errors, 0);
}

static void the_end_of_the_file_is_left_to_the_read_that_waits(void **state)
{
	struct fixture *f = *state;
	char buf[10];
	struct iovec iov = {buf, sizeof(buf)};

	assert_int_equal(device_read_now(&f->device, &iov, 1, FILE_BYTES - 5), -EAGAIN);
	assert_int_equal(f->device.errors, 0);
}

static void a_file_in_memory_never_waits_and_counts_its_errors_once(void **state)
{
	static char buf[FILE_BYTES];
	struct iovec iov = {buf, FILE_BYTES};
	struct statfs fs;
	struct fixture *f;

	*state = NULL;
	if (statfs("/dev/shm", &fs) < 0 || fs.f_type != TMPFS_MAGIC) {
		print_message("no tmpfs at /dev/shm\n");
		skip();
	}
	*state = f = file_in("/dev/shm");
	assert_int_equal(device_read_now(&f->device, &iov, 1, 0), 0);
	assert_memory_equal(buf, f->content, FILE_BYTES);
	assert_int_equal(f->device.reads, 1);
	iov = (struct iovec){buf, 10};
	assert_true(device_read_now(&f->device, &iov, 1, FILE_BYTES) < 0);
	iov = (struct iovec){buf, 10};
	assert_int_equal(device_read(&f->device, &iov, 1, FILE_BYTES), -ENODATA);
	assert_int_equal(f->device.errors, 1);
}

#define device_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		device_test(scattered_pieces_are_filled_in_order),
		device_test(reading_nothing_is_fine),
		device_test(the_last_byte_is_still_there_and_the_next_is_not),
		device_test(a_short_file_is_told_from_pieces_too),
		device_test(what_the_system_says_is_passed_on),
		device_test(a_read_that_need_not_wait_is_right_or_refused),
		device_test(a_cold_file_is_refused_or_right_and_counts_no_error),
		device_test(the_end_of_the_file_is_left_to_the_read_that_waits),
		cmocka_unit_test_teardown(a_file_in_memory_never_waits_and_counts_its_errors_once,
					  teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
