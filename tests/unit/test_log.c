/* What programs say and why something failed: base/log.h, base/err.h. */
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Standard error becomes a socket that keeps each write apart. */
struct capture {
	int saved;
	int reader;
	char text[16384];
};

static void capture_begin(struct capture *capture)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
	capture->saved = dup(STDERR_FILENO);
	assert_true(capture->saved >= 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	capture->reader = ends[0];
}

/* One write's text, or NULL if there was none. */
static const char *capture_next(struct capture *capture)
{
	ssize_t n = read(capture->reader, capture->text, sizeof(capture->text) - 1);

	if (n < 0)
		return NULL;
	capture->text[n] = '\0';
	return capture->text;
}

static void capture_end(struct capture *capture)
{
	dup2(capture->saved, STDERR_FILENO);
	close(capture->saved);
	close(capture->reader);
}

FIXTURE(capture, struct capture, capture_begin, capture_end);

/* --- log ------------------------------------------------------------------------------ */

TEST_OF(capture, a_line_is_the_name_and_the_text_in_one_write)
{
	log_init("foldpack", LOG_LEVEL_NORMAL);
	log_error("%s: %d files", "a/b", 7);
	log_notice("two");
	assert_string_equal(capture_next(capture), "foldpack: a/b: 7 files\n");
	assert_string_equal(capture_next(capture), "foldpack: two\n");
	assert_null(capture_next(capture));
}

TEST_OF(capture, each_level_shows_what_it_should)
{
	static const struct {
		enum log_level level;
		const char *shown[4];
	} table[] = {
		{LOG_LEVEL_QUIET, {"t: error\n"}},
		{LOG_LEVEL_NORMAL, {"t: error\n", "t: notice\n"}},
		{LOG_LEVEL_VERBOSE, {"t: error\n", "t: notice\n", "t: detail\n"}},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		log_init("t", table[i].level);
		log_error("error");
		log_notice("notice");
		log_detail("detail");
		for (size_t j = 0; table[i].shown[j]; j++)
			assert_string_equal(capture_next(capture), table[i].shown[j]);
		assert_null(capture_next(capture));
	}
}

TEST_OF(capture, control_characters_are_shown_in_octal)
{
	log_init("t", LOG_LEVEL_NORMAL);
	log_error("a\nb\r\t\x1b[31m\x7f\x01 caf\xc3\xa9 \xff\x80 \xc2\x9b[2J\xc2\xa0");
	assert_string_equal(capture_next(capture),
			    "t: a\\012b\\015\\011\\033[31m\\177\\001 "
			    "caf\xc3\xa9 \\377\\200 \\302\\233[2J\xc2\xa0\n");
}

TEST_OF(capture, errno_is_kept_and_may_be_named)
{
	log_init("t", LOG_LEVEL_NORMAL);
	errno = ENOSPC;
	log_error("m.lmdb: %m");
	assert_int_equal(errno, ENOSPC);
	assert_string_equal(capture_next(capture), "t: m.lmdb: No space left on device\n");
	close(STDERR_FILENO);
	errno = ENOENT;
	log_error("to nobody");
	assert_int_equal(errno, ENOENT);
}

/* A path may be longer than what the kernel takes in one call. */
TEST_OF(capture, a_line_too_long_keeps_its_beginning_and_its_end)
{
	static char text[20000];
	const char *line;

	log_init("t", LOG_LEVEL_NORMAL);
	memset(text, '\n', sizeof(text) - 1);
	log_error("%s", text);
	line = capture_next(capture);
	assert_non_null(line);
	assert_true(strlen(line) > 8000 && strlen(line) <= 8192);
	assert_string_equal(line + strlen(line) - 5, "\\012\n");
	memset(text, 'x', sizeof(text) - 1);
	log_error("pack: %s: is damaged", text);
	line = capture_next(capture);
	assert_non_null(line);
	assert_true(strlen(line) > 6000 && strlen(line) <= 8192);
	assert_memory_equal(line, "t: pack: xxx", 12);
	assert_non_null(strstr(line, "x...x"));
	assert_string_equal(line + strlen(line) - 15, "xx: is damaged\n");
}

TEST_OF(capture, a_long_path_and_its_reason_are_whole)
{
	static char path[4096];
	const char *line;

	log_init("t", LOG_LEVEL_NORMAL);
	memset(path, 'p', sizeof(path) - 1);
	log_error("%s: is damaged", path);
	line = capture_next(capture);
	assert_int_equal(strlen(line), strlen("t: ") + 4095 + strlen(": is damaged\n"));
}

/* --- a reader that does not read -------------------------------------------------------------- */

static size_t drain(int fd, char *text, size_t room)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, text + len, room - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	return len;
}

static unsigned count_lines(const char *text)
{
	unsigned lines = 0;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	return lines;
}

#define LINES 2000 /* more than a pipe holds */

/* In a process of its own, which nothing makes wait again. */
static bool loses_what_nobody_reads(void)
{
	static char text[1 << 20];
	char end[128];
	int ends[2];
	unsigned read;

	if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return false;
	dup2(ends[1], STDERR_FILENO);
	log_init("test", LOG_LEVEL_NORMAL);
	log_without_waiting();
	for (int i = 0; i < LINES; i++)
		log_error("%0100d", i);
	drain(ends[0], text, sizeof(text));
	read = count_lines(text);
	log_error("last");
	drain(ends[0], text, sizeof(text));
	snprintf(end, sizeof(end),
		 "test: %u lines are lost: nobody read them in time\ntest: last\n", LINES - read);
	return read > LINES / 10 && read < LINES && strcmp(text, end) == 0;
}

TEST(nobody_is_waited_for_who_does_not_read)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(20);
		_exit(loses_what_nobody_reads() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Last, for there is no way back; whether a syslog listens is not this test's matter. */
TEST_OF(capture, a_daemon_leaves_standard_error_alone)
{
	log_init("foldfs-test", LOG_LEVEL_NORMAL);
	log_to_syslog();
	errno = EINTR;
	log_detail("not shown");
	log_notice("unit test of the log: 100%% of\n%s", "it");
	assert_int_equal(errno, EINTR);
	assert_null(capture_next(capture));
}

struct kept {
	char lines[LOG_KEPT][LOG_KEPT_BYTES];
	unsigned count;
};

static void note_kept(void *context, const char *line)
{
	struct kept *kept = context;

	snprintf(kept->lines[kept->count++], LOG_KEPT_BYTES, "%s", line);
}

TEST(warnings_are_kept_and_decisions_are_not)
{
	struct kept kept = {0};

	for (int i = 0; i < 2 * LOG_KEPT; i++)
		log_notice("unit test of the log: line %d", i);
	log_info("what was decided");
	log_kept(note_kept, &kept);
	assert_int_equal(kept.count, LOG_KEPT);
	assert_string_equal(kept.lines[0], "unit test of the log: line 8");
	assert_string_equal(kept.lines[LOG_KEPT - 1], "unit test of the log: line 15");
}

/* --- err ------------------------------------------------------------------------------ */

TEST(a_reason_is_set_and_the_code_returned)
{
	struct err err = {0};

	assert_int_equal(err_set(&err, -EBADMSG, "record %d is cut short", 7), -EBADMSG);
	assert_string_equal(err.text, "record 7 is cut short");
	assert_string_equal(err_text(&err, -EBADMSG), "record 7 is cut short");
	assert_int_equal(err_set(NULL, -EIO, "nobody %s", "asks"), -EIO);
}

TEST(without_a_reason_the_code_is_named)
{
	struct err err = {0};

	assert_string_equal(err_text(&err, -ENOENT), "No such file or directory");
	assert_string_equal(err_text(NULL, -ENOENT), "No such file or directory");
}

TEST(a_reason_may_be_put_before_itself)
{
	struct err err = {0};

	err_set(&err, -EIO, "cut short");
	assert_int_equal(err_set(&err, -EIO, "chunk %d: %s", 3, err.text), -EIO);
	assert_string_equal(err.text, "chunk 3: cut short");
}

TEST(a_reason_too_long_keeps_its_beginning_and_its_end)
{
	struct err err = {0};

	assert_int_equal(err_set(&err, -EIO, "at %01000d: cut short", 1), -EIO);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "at 0000", 7);
	assert_string_equal(err.text + strlen(err.text) - 13, "01: cut short");
}
