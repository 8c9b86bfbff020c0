/* Lines of files that end, and of some that fail, and names: base/io.h. */
#include "base/io.h"
#include "base/scope.h"
#include "base/size.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* A file of this text, behind which reading fails, unless error is 0. */
struct source {
	const char *text;
	int error;
};

static ssize_t give(void *cookie, char *buf, size_t size)
{
	struct source *source = cookie;
	size_t len = strnlen(source->text, size);

	memcpy(buf, source->text, len);
	source->text += len;
	if (len == 0 && source->error) {
		errno = source->error;
		return -1;
	}
	return (ssize_t)len;
}

static FILE *open_source(struct source *source)
{
	FILE *file = fopencookie(source, "r", (cookie_io_functions_t){.read = give});

	assert_non_null(file);
	return file;
}

/* What io_line() says behind these lines, "|" behind each. */
static int read_lines(const char *text, int error, const char *lines)
{
	struct source source = {.text = text, .error = error};
	SCOPE_FILE FILE *file = open_source(&source);
	SCOPE_FREE char *line = NULL;
	size_t room = 0, len;
	int r;

	while ((r = io_line(file, &line, &room, &len)) == 0) {
		assert_int_equal(len, strcspn(lines, "|"));
		assert_memory_equal(line, lines, len);
		assert_int_equal(line[len], '\0');
		lines += len + 1;
	}
	assert_string_equal(lines, "");
	return r;
}

TEST(lines_are_read_without_their_ends)
{
	assert_int_equal(read_lines("one\n\nthree\n", 0, "one||three|"), 1);
	assert_int_equal(read_lines("one\nno end", 0, "one|no end|"), 1);
	assert_int_equal(read_lines("\n", 0, "|"), 1);
	assert_int_equal(read_lines("", 0, ""), 1);
}

TEST(an_error_is_no_end)
{
	assert_int_equal(read_lines("one\ntwo\n", EIO, "one|two|"), -EIO);
	assert_int_equal(read_lines("", ESTALE, ""), -ESTALE);
}

TEST(a_line_that_an_error_cuts_off_is_none)
{
	assert_int_equal(read_lines("one\ntw", EIO, "one|"), -EIO);
}

/* Sanitizers have address space of their own. */
TEST(a_line_that_memory_has_no_room_for_is_no_end)
{
#ifdef __SANITIZE_ADDRESS__
	skip();
#else
	SCOPE_FILE FILE *file = fopen("/dev/zero", "re");
	SCOPE_FREE char *line = NULL;
	struct rlimit old, low;
	size_t room = 0, len;
	int r;

	assert_non_null(file);
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	low = (struct rlimit){.rlim_cur = 64 * MIB, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
	r = io_line(file, &line, &room, &len);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_int_equal(r, -ENOMEM);
#endif
}

/* A folder, and a name in it. */
struct place {
	char dir[32], file[64];
};

static void begin_place(struct place *place)
{
	strcpy(place->dir, "/tmp/test_io.XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	snprintf(place->file, sizeof(place->file), "%s/file", place->dir);
}

static void end_place(struct place *place)
{
	assert_int_equal(scratch_remove(place->dir), 0);
}

FIXTURE(place, struct place, begin_place, end_place);

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *path, const char *text)
{
	SCOPE_FILE FILE *file = fopen(path, "re");
	char have[16] = "";

	assert_non_null(file);
	assert_non_null(fgets(have, sizeof(have), file));
	assert_string_equal(have, text);
}

TEST_OF(place, a_name_that_is_taken_is_replaced_only_if_that_is_said)
{
	const char *from = place->file;
	char to[64];

	snprintf(to, sizeof(to), "%s/to", place->dir);
	write_file(from, "new");
	write_file(to, "old");
	assert_int_equal(io_rename(from, to, false), -EEXIST);
	assert_file(to, "old");
	assert_int_equal(io_rename(from, to, true), 0);
	assert_file(to, "new");
	assert_int_equal(io_rename(from, to, true), -ENOENT);
	assert_int_equal(io_rename(to, from, false), 0);
	assert_file(from, "new");
}

TEST_OF(place, a_file_is_put_whole_and_leaves_nothing_beside_it)
{
	char text[] = "new";
	const struct iovec parts[] = {{text, 2}, {text + 2, 1}};

	write_file(place->file, "old");
	for (int count = 1; count <= 2; count++) {
		SCOPE_CLOSE int fd = io_put(place->file, 0600, parts, count);

		assert_true(io_is_named(fd, place->file));
		assert_file(place->file, count == 1 ? "ne" : "new");
	}
	assert_int_equal(unlink(place->file), 0);
	assert_int_equal(io_put(place->dir, 0600, parts, 2), -EISDIR);
	assert_int_equal(rmdir(place->dir), 0);
	assert_int_equal(io_put(place->file, 0600, parts, 2), -ENOENT);
	assert_int_equal(mkdir(place->dir, 0700), 0);
}

/* What threads before it left, whose numbers come again. */
TEST_OF(place, a_file_is_put_whatever_killed_processes_left_beside_it)
{
	char text[] = "new", left[96];
	const struct iovec part = {text, 3};
	SCOPE_CLOSE int fd = -1;

	snprintf(left, sizeof(left), "%s/.file.%d", place->dir, (int)gettid());
	write_file(left, "half of it");
	fd = io_put(place->file, 0600, &part, 1);
	assert_true(io_is_named(fd, place->file));
	assert_file(left, "half of it");
}

TEST_OF(place, a_file_that_cannot_be_put_for_want_of_descriptors_says_so)
{
	char text[] = "new";
	const struct iovec part = {text, 3};
	struct rlimit before, few;
	int next = dup(STDIN_FILENO);

	assert_int_equal(close(next), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){.rlim_cur = (rlim_t)next + 1, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	next = io_put(place->file, 0600, &part, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(next, -EMFILE);
}

TEST(a_file_that_has_more_bytes_than_its_size_does_not_end_there)
{
	SCOPE_FILE FILE *file = tmpfile();
	int ends[2];

	assert_non_null(file);
	assert_int_equal(io_check_end(fileno(file), 0), 0);
	assert_int_equal(ftruncate(fileno(file), 2), 0);
	assert_int_equal(io_check_end(fileno(file), 2), 0);
	assert_int_equal(io_check_end(fileno(file), 1), -EOVERFLOW);
	assert_int_equal(io_check_end(fileno(file), 3), 0);
	/* As a filesystem that cannot go back. */
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "1", 1), 1);
	assert_int_equal(io_check_end(ends[0], 0), -EOVERFLOW);
	close(ends[1]);
	assert_int_equal(io_check_end(ends[0], 0), 0);
	close(ends[0]);
	assert_int_equal(io_check_end(ends[0], 0), -EBADF);
}

TEST(what_was_written_to_or_has_another_time_has_changed)
{
	const struct timespec other[2] = {{.tv_sec = 1}, {.tv_sec = 1, .tv_nsec = 1}};
	SCOPE_FILE FILE *file = tmpfile();
	struct stat st, pipe;
	int ends[2];

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	assert_int_equal(io_unchanged(fileno(file), &st), 0);
	assert_int_equal(fchmod(fileno(file), 0400), 0);
	assert_int_equal(io_unchanged(fileno(file), &st), 0);
	assert_int_equal(futimens(fileno(file), other), 0);
	assert_int_equal(io_unchanged(fileno(file), &st), -ESTALE);
	assert_int_equal(fstat(fileno(file), &st), 0);
	assert_int_equal(ftruncate(fileno(file), 1), 0);
	assert_int_equal(futimens(fileno(file), other), 0);
	assert_int_equal(io_unchanged(fileno(file), &st), -ESTALE);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(io_unchanged(ends[0], &st), -ESTALE);
	assert_int_equal(fstat(ends[0], &pipe), 0);
	assert_int_equal(io_unchanged(ends[0], &pipe), 0);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(io_unchanged(ends[0], &st), -EBADF);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

TEST(what_was_inherited_is_closed_from_a_number_on)
{
	int below, inherited, own;

	below = fcntl(STDIN_FILENO, F_DUPFD, 500);
	inherited = fcntl(STDIN_FILENO, F_DUPFD, below + 1);
	own = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, inherited + 1);
	assert_true(own > inherited);
	io_close_inherited(inherited);
	assert_true(is_open(below) && !is_open(inherited) && is_open(own));
	io_close_from(own);
	assert_true(is_open(below) && !is_open(own));
	close(below);
}

/* Whether descriptors 0 and 2, which were closed, fail, and no other is there. */
static bool fills_standard(void)
{
	char byte = 0;

	close(STDIN_FILENO);
	close(STDERR_FILENO);
	io_close_from(STDERR_FILENO + 1);
	io_fill_standard();
	return is_open(STDIN_FILENO) && read(STDIN_FILENO, &byte, 1) < 0 &&
	       is_open(STDERR_FILENO) && write(STDERR_FILENO, &byte, 1) < 0 &&
	       !is_open(STDERR_FILENO + 1);
}

TEST(closed_standard_descriptors_are_filled_by_such_that_fail)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(fills_standard() ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST_OF(place, a_named_pipe_is_not_waited_for)
{
	struct err err = {0};
	int error = 0;

	assert_int_equal(mkfifo(place->file, 0600), 0);
	assert_int_equal(io_open_given(place->file, &err), -ESPIPE);
	assert_string_equal(err.text,
			    "a named pipe, whose writer is not waited for; a file, or "
			    "<(COMMAND), can be read");
	assert_null(io_fopen_given(place->file, &error, &err));
	assert_int_equal(error, -ESPIPE);
	assert_int_equal(unlink(place->file), 0);
	assert_int_equal(io_open_given(place->file, &err), -ENOENT);
}

/* The writer comes later than the reader, as that of a shell may. */
TEST(a_pipe_that_was_given_is_read_to_its_end)
{
	SCOPE_FREE char *line = NULL;
	size_t room = 0, len;
	int pipe_fds[2], error = 0;
	struct err err = {0};
	SCOPE_FILE FILE *file = NULL;
	char path[32];

	assert_int_equal(pipe(pipe_fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", pipe_fds[0]);
	file = io_fopen_given(path, &error, &err);
	assert_non_null(file);
	assert_int_equal(fcntl(fileno(file), F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(io_write_full(pipe_fds[1], "one\n", 4), 0);
	close(pipe_fds[1]);
	close(pipe_fds[0]);
	assert_int_equal(io_line(file, &line, &room, &len), 0);
	assert_string_equal(line, "one");
	assert_int_equal(io_line(file, &line, &room, &len), 1);
}

/* As buckets, FAT, CIFS, NFS with root_squash and mounts of others do. */
TEST(what_filesystems_refuse_is_told_from_failures)
{
	static const int refused[] = {EPERM, EACCES, ENOSYS, EOPNOTSUPP, EINVAL, ENOTTY};
	static const int failed[] = {0, EIO, ENOSPC, ENOENT, EEXIST, EROFS};

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_true(io_is_refused(-refused[i]));
		assert_false(io_is_refused(-failed[i]));
	}
}
