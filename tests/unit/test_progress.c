/* The line that says how far a long command is, where standard error is no terminal. */
#include "base/scope.h"
#include "pack/tool/work/progress.h"
#include "tests/unit/test.h"
#include <unistd.h>

/* What standard error gets when `files` and `bytes` were done in these seconds, or at the end. */
static void expect(struct progress progress, double seconds, uint64_t files, uint64_t bytes,
		   bool ends, const char *want)
{
	int before = dup(STDERR_FILENO), pipes[2];
	char line[256] = "";
	ssize_t n;

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	progress.began = progress.last = progress_now() - seconds;
	progress_add(&progress, files, bytes);
	if (ends)
		progress_end(&progress);
	dup2(before, STDERR_FILENO);
	close(before);
	close(pipes[1]);
	n = read(pipes[0], line, sizeof(line) - 1);
	close(pipes[0]);
	assert_true(n >= 0);
	assert_string_equal(line, want);
}

static void expect_after(struct progress progress, double seconds, uint64_t files, uint64_t bytes,
			 const char *want)
{
	expect(progress, seconds, files, bytes, false, want);
}

static void expect_line(struct progress progress, uint64_t files, uint64_t bytes, const char *want)
{
	progress.shown = true;
	expect_after(progress, 10, files, bytes, want);
}

static struct progress begun_in_a_log(enum progress_want want)
{
	struct progress progress;
	int before = dup(STDERR_FILENO), pipes[2];

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	progress_begin(&progress, "packing", want);
	dup2(before, STDERR_FILENO);
	close(before);
	close(pipes[0]);
	close(pipes[1]);
	return progress;
}

TEST(a_log_gets_a_line_a_minute_unless_more_or_none_is_asked_for)
{
	const struct progress progress = begun_in_a_log(PROGRESS_AUTO);
	static const char line[] = "packing: 60 files, 5.72 MiB, 0 MB/s\n";

	expect_after(progress, 59, 60, 6000000, "");
	expect_after(progress, 61, 60, 6000000, line);
	expect_after(begun_in_a_log(PROGRESS_ALWAYS), 4, 60, 0, "");
	expect_after(begun_in_a_log(PROGRESS_ALWAYS), 6, 60, 0,
		     "packing: 60 files, 0 bytes, 0 MB/s\n");
	expect_after(begun_in_a_log(PROGRESS_NEVER), 1000, 60, 0, "");
}

TEST(a_program_gets_an_object_a_second_and_one_at_the_end)
{
	const struct progress progress = begun_in_a_log(PROGRESS_JSON);
	static const char want[] =
		"{\"doing\": \"packing\", \"files\": 2, \"files_total\": 0, "
		"\"bytes\": 60, \"bytes_total\": 0}\n";

	expect_after(progress, 0.5, 2, 60, "");
	expect_after(progress, 1.5, 2, 60, want);
	expect(progress, 0.5, 2, 60, true, want);
}

TEST(totals_say_how_long_it_will_take)
{
	const struct progress progress = {
		.verb = "packing", .files_total = 4000, .bytes_total = 4000000000};

	expect_line(progress, 1000, 1000000000,
		    "packing: 1,000 of 4,000 files, 954 MiB, 100 MB/s, 25 %, 0:30 left\n");
}

TEST(without_totals_it_only_says_what_was_done)
{
	const struct progress progress = {.verb = "packing"};

	expect_line(progress, 1000, 1000000000, "packing: 1,000 files, 954 MiB, 100 MB/s\n");
}

TEST(what_takes_hours_is_said_in_hours)
{
	const struct progress progress = {.verb = "packing",
					  .bytes_total = 721 * UINT64_C(1000000000)};

	expect_line(progress, 1000, 1000000000,
		    "packing: 1,000 files, 954 MiB, 100 MB/s, 0 %, 2h00m left\n");
}

TEST(the_end_has_nothing_left)
{
	const struct progress progress = {.verb = "packing", .bytes_total = 1000000000};

	expect_line(progress, 1000, 1000000000, "packing: 1,000 files, 954 MiB, 100 MB/s\n");
}
