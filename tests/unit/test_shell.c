/* Commands of the user: pack/tool/work/shell.h. */
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/shell.h"
#include "tests/unit/test.h"
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(a_command_gets_the_argument_as_it_is)
{
	char said[SHELL_SAID];

	assert_int_equal(shell_run("printf %s \"$1\"", "a 'b' $(c) \"", said), 0);
	assert_string_equal(said, "a 'b' $(c) \"");
}

TEST(both_outputs_are_kept_and_the_status_is_that_of_the_command)
{
	char said[SHELL_SAID];
	int status = shell_run("echo out; echo err >&2; exit 3", "", said);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_string_equal(said, "out\nerr\n");
}

TEST(the_last_bytes_of_much_output_are_kept)
{
	char said[SHELL_SAID];

	assert_int_equal(shell_run("yes | head -c 200000; echo last", "", said), 0);
	assert_int_equal(strlen(said), SHELL_SAID - 1);
	assert_string_equal(said + SHELL_SAID - 1 - 7, "y\nlast\n");
}

TEST(nothing_is_read_and_there_is_no_terminal)
{
	char said[SHELL_SAID];

	assert_int_equal(shell_run("cat; cat </dev/tty || echo none", "", said), 0);
	assert_non_null(strstr(said, "none\n"));
}

TEST(a_command_without_outputs_is_awaited)
{
	char said[SHELL_SAID];
	int status = shell_run("exec >/dev/null 2>&1; sleep 0.3; exit 5", "", said);

	assert_int_equal(WEXITSTATUS(status), 5);
}

TEST(what_it_leaves_behind_is_not_awaited)
{
	char said[SHELL_SAID];

	assert_int_equal(shell_run("sleep 1000 & echo $!", "", said), 0);
	assert_int_equal(kill((pid_t)strtol(said, NULL, 10), SIGKILL), 0);
}

/* The last test: the signal stays noted. */
TEST(a_signal_ends_the_command_and_the_programs_that_it_runs)
{
	char said[SHELL_SAID];
	int status;

	interrupt_catch();
	status = shell_run("kill -TERM $PPID; sleep 1000; echo on", "", said);
	assert_int_equal(interrupt_pending(), SIGTERM);
	assert_true(WIFSIGNALED(status));
	assert_string_equal(said, "");
}
