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

	expect(progress, 59, 60, 6000000, false, "");
	expect(progress, 61, 60, 6000000, false, line);
	expect(begun_in_a_log(PROGRESS_ALWAYS), 4, 60, 0, false, "");
	expect(begun_in_a_log(PROGRESS_ALWAYS), 6, 60, 0, false,
	       "packing: 60 files, 0 bytes, 0 MB/s\n");
	expect(begun_in_a_log(PROGRESS_NEVER), 1000, 60, 0, false, "");
}

TEST(a_program_gets_an_object_a_second_and_one_at_the_end)
{
	const struct progress progress = begun_in_a_log(PROGRESS_JSON);
	static const char want[] =
		"{\"doing\": \"packing\", \"files\": 2, \"files_total\": 0, "
		"\"bytes\": 60, \"bytes_total\": 0}\n";

	expect(progress, 0.5, 2, 60, false, "");
	expect(progress, 1.5, 2, 60, false, want);
	expect(progress, 0.5, 2, 60, true, want);
}

TEST(what_is_left_is_said_where_the_total_is_known)
{
	static const struct {
		uint64_t files, bytes;
		const char *line;
	} totals[] = {
		{4000, 4000000000,
		 "packing: 1,000 of 4,000 files, 954 MiB, 100 MB/s, 25 %, 0:30 left\n"},
		{0, 0, "packing: 1,000 files, 954 MiB, 100 MB/s\n"},
		{0, 721000000000, "packing: 1,000 files, 954 MiB, 100 MB/s, 0 %, 2h00m left\n"},
		{0, 1000000000, "packing: 1,000 files, 954 MiB, 100 MB/s\n"},
	};

	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
		expect((struct progress){.verb = "packing",
					 .shown = true,
					 .files_total = totals[i].files,
					 .bytes_total = totals[i].bytes},
		       10, 1000, 1000000000, false, totals[i].line);
}
