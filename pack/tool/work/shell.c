#include "pack/tool/work/shell.h"

#include "base/math.h"
#include "base/scope.h"
#include "base/spawn.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define PERIOD_MS 100 /* between two looks at whether it has ended, or is to end */

/* Takes what there is to be read, of which the last bytes are kept; false: there will be no more.
 */
static bool drain(int output, char said[SHELL_SAID])
{
	char text[SHELL_SAID - 1];
	ssize_t n;

	while ((n = read(output, text, sizeof(text))) > 0) {
		size_t len = (size_t)n, kept = strlen(said);
		size_t over = sub_sat(kept + len, SHELL_SAID - 1);

		memmove(said, said + over, kept - over);
		memcpy(said + kept - over, text, len);
		said[kept - over + len] = '\0';
	}
	return n < 0 && errno == EAGAIN;
}

static int await(pid_t process, int output, char said[SHELL_SAID])
{
	struct pollfd more = {.fd = output, .events = POLLIN};
	bool told = false;
	int status;

	for (;;) {
		pid_t ended = waitpid(process, &status, WNOHANG);

		if (more.fd >= 0 && !drain(output, said))
			more.fd = -1;
		if (ended)
			return ended < 0 ? -errno : status;
		if (interrupt_pending() && !told)
			told = kill(-process, interrupt_pending()) == 0;
		poll(&more, 1, PERIOD_MS);
	}
}

int shell_run(const char *command, const char *argument, char ret_said[SHELL_SAID])
{
	const char *const argv[] = {"/bin/sh", "-c", command, "sh", argument, NULL};
	SCOPE_CLOSE int output = -1, input = -1;
	pid_t process;
	int ends[2], r;

	ret_said[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	output = ends[0];
	input = ends[1];
	if (fcntl(output, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	/* A session of its own has no terminal to ask for a password, and is what signals are
	 * passed to. */
	r = spawn_program(argv, (int[]){input, input}, 2, POSIX_SPAWN_SETSID, &process);
	close(steal_fd(&input));
	return r < 0 ? r : await(process, output, ret_said);
}
