/* Runs of bytes in memory and their way to and from files: base/buf.h, base/io.h. */
#include "base/buf.h"
#include "base/io.h"
#include "base/scope.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

/* --- buf ------------------------------------------------------------------------------ */

TEST(an_empty_buf_owns_nothing)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;
	static const struct buf zero;

	assert_memory_equal(&buf, &zero, sizeof(buf));
	assert_int_equal(buf_add(&buf, NULL, 0), 0);
	assert_int_equal(buf.len, 0);
	buf_release(&buf);
	buf_release(&buf);
	assert_null(buf.data);
	assert_int_equal(buf.room, 0);
}

TEST(appended_bytes_stay_in_order_while_it_grows)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;
	int grown = 0;

	for (int i = 0; i < 100000; i++) {
		char byte = (char)(i % 251);
		size_t room = buf.room;

		assert_int_equal(buf_add(&buf, &byte, 1), 0);
		grown += buf.room != room;
	}
	assert_true(grown < 20);
	assert_int_equal(buf.len, 100000);
	assert_true(buf.room >= buf.len && buf.room <= 2 * buf.len);
	for (int i = 0; i < 100000; i++)
		assert_int_equal((unsigned char)buf.data[i], i % 251);
}

TEST(zero_bytes_are_bytes_like_others)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(buf_add(&buf, "a\0b", 3), 0);
	assert_int_equal(buf_add(&buf, "\0", 1), 0);
	assert_int_equal(buf.len, 4);
	assert_memory_equal(buf.data, "a\0b\0", 4);
}

TEST(text_is_nul_ended_and_the_nul_is_not_counted)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(buf_adds(&buf, ""), 0);
	assert_string_equal(buf.data, "");
	assert_int_equal(buf_adds(&buf, "one "), 0);
	assert_string_equal(buf.data, "one ");
	assert_int_equal(buf_addf(&buf, "%s %d", "two", 3), 0);
	assert_string_equal(buf.data, "one two 3");
	assert_int_equal(buf.len, 9);
}

TEST(characters_are_escaped_that_would_end_a_line)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(buf_add_escaped(&buf, "a\tb\nc\\\0d", 8, "\t\n\\"), 0);
	assert_int_equal(buf.len, 11);
	assert_memory_equal(buf.data, "a\\tb\\nc\\\\\0d", 11);
	buf.len = 0;
	assert_int_equal(buf_add_escaped(&buf, "a\tb\n", 4, "\n\\"), 0);
	assert_int_equal(buf.len, 5);
	assert_memory_equal(buf.data, "a\tb\\n", 5);
}

TEST(a_format_longer_than_the_room_is_whole)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(buf_addf(&buf, "%05000d", 7), 0);
	assert_int_equal(buf.len, 5000);
	assert_int_equal(strlen(buf.data), 5000);
	assert_int_equal(buf.data[4999], '7');
}

/* The length is over the address space with one more byte: the failure that needs no
 * allocator to be tricked. */
TEST(running_out_of_memory_changes_nothing)
{
	char byte = 'x';
	struct buf buf = {.data = &byte, .len = SIZE_MAX, .room = SIZE_MAX};
	struct buf before = buf;

	assert_int_equal(buf_reserve(&buf, 1), -ENOMEM);
	assert_int_equal(buf_add(&buf, "x", 1), -ENOMEM);
	assert_int_equal(buf_adds(&buf, ""), -ENOMEM);
	assert_int_equal(buf_addf(&buf, "%d", 1), -ENOMEM);
	before.failed = true;
	assert_memory_equal(&buf, &before, sizeof(buf));
}

/* So that only the last of several additions needs to be looked at. */
TEST(after_a_failure_nothing_is_added_until_the_buf_is_released)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(buf_adds(&buf, "one"), 0);
	assert_int_equal(buf_reserve(&buf, SIZE_MAX), -ENOMEM);
	assert_int_equal(buf_adds(&buf, "two"), -ENOMEM);
	assert_int_equal(buf_error(&buf), -ENOMEM);
	assert_string_equal(buf.data, "one");
	buf_release(&buf);
	assert_int_equal(buf_adds(&buf, "two"), 0);
	assert_int_equal(buf_error(&buf), 0);
	buf_release(&buf);
}

/* No character of the C locale. */
TEST(what_cannot_be_formatted_is_a_failure_that_stays)
{
	SCOPE(buf_release) struct buf buf = BUF_INIT;

	assert_int_equal(buf_addf(&buf, "%ls", L"\x20ac"), -ENOMEM);
	assert_int_equal(buf_adds(&buf, "one"), -ENOMEM);
	assert_int_equal(buf.len, 0);
}

/* --- io ------------------------------------------------------------------------------- */

/* An unlinked file of this program's own. */
static int scratch_file(const char *text)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_full(fd, text, strlen(text)), 0);
	return fd;
}

TEST(a_read_is_short_only_at_the_end_of_the_file)
{
	SCOPE_CLOSE int fd = scratch_file("0123456789");
	char data[16];

	assert_int_equal(io_pread(fd, data, 4, 2), 4);
	assert_memory_equal(data, "2345", 4);
	assert_int_equal(io_pread(fd, data, 16, 8), 2);
	assert_memory_equal(data, "89", 2);
	assert_int_equal(io_pread(fd, data, 16, 10), 0);
	assert_int_equal(io_pread(fd, data, 0, 0), 0);
	assert_int_equal(io_pread_full(fd, data, 2, 8), 0);
	assert_int_equal(io_pread_full(fd, data, 3, 8), -ENODATA);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read(fd, data, 6), 6);
	assert_int_equal(io_read(fd, data, 6), 4);
	assert_memory_equal(data, "6789", 4);
}

TEST(a_write_lands_at_its_offset)
{
	SCOPE_CLOSE int fd = scratch_file("0123456789");
	char data[16];

	assert_int_equal(io_pwrite_full(fd, "ab", 2, 4), 0);
	assert_int_equal(io_pwrite_full(fd, "cd", 2, 11), 0);
	assert_int_equal(io_pread(fd, data, 16, 0), 13);
	assert_memory_equal(data, "0123ab6789\0cd", 13);
}

TEST(the_reason_of_a_failed_transfer_is_returned)
{
	SCOPE_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	SCOPE_CLOSE int fd = scratch_file("x");
	char data[4];

	assert_int_equal(io_pread(-1, data, 4, 0), -EBADF);
	assert_int_equal(io_pread_full(-1, data, 4, 0), -EBADF);
	assert_int_equal(io_read(-1, data, 4), -EBADF);
	assert_int_equal(io_write_full(full, "x", 1), -ENOSPC);
	assert_int_equal(io_pwrite_full(full, "x", 1, 0), -ENOSPC);
	assert_int_equal(io_pread(fd, data, 4, UINT64_MAX), -EINVAL);
}

static volatile sig_atomic_t alarms_seen;

static void on_alarm(int signal_number)
{
	(void)signal_number;
	alarms_seen++;
}

/* Long enough for the other end of the pipe to be interrupted while it is blocked. */
static void let_alarms_pass(void)
{
	for (int until = alarms_seen + 20; alarms_seen < until;)
		pause();
}

/* Interrupts each blocking call of this process again and again until stopped. */
static void alarms(bool on)
{
	struct sigaction action = {.sa_handler = on ? on_alarm : SIG_IGN};
	struct itimerval timer = {{0, on ? 500 : 0}, {0, on ? 500 : 0}};

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

#define PIPED 1000000

/* The other end of the pipe: byte i of the stream is i % 251. */
static int drain_slowly(int fd)
{
	static unsigned char data[PIPED];
	ssize_t n = io_read(fd, data, PIPED / 2);

	let_alarms_pass();
	n += io_read(fd, data + PIPED / 2, PIPED / 2);
	for (int i = 0; i < PIPED; i++)
		if (data[i] != i % 251)
			return 1;
	return n == PIPED ? 0 : 2;
}

TEST(signals_and_full_pipes_do_not_cut_a_transfer)
{
	static unsigned char data[PIPED];
	int ends[2], status;
	pid_t child;

	for (int i = 0; i < PIPED; i++)
		data[i] = (unsigned char)(i % 251);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(ends[1]);
		alarms(true);
		_exit(drain_slowly(ends[0]));
	}
	close(ends[0]);
	alarms(true);
	let_alarms_pass();
	assert_int_equal(io_write_full(ends[1], data, sizeof(data)), 0);
	alarms(false);
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
