#include "pack/tool/create/handover.h"

#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/signals.h"
#include "base/spawn.h"
#include "pack/tool/create/report.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define SAID	  4096 /* bytes, with the NUL, of what it wrote that are kept: the last ones */
#define PERIOD_MS 100  /* between two looks at whether it has ended, or is to end */

struct handover {
	struct buf command; /* with "$1" for {} */
	struct buf refused; /* paths of packs whose command failed, with ", " between */

	/* Of the pack that is handed over: the thread's while it runs. */
	bool runs;
	pthread_t thread;
	char *path;
	int result; /* 0, -EINTR, or CREATE_REPORTED: the command failed */
};

void handover_free(struct handover *handover)
{
	if (!handover)
		return;
	buf_release(&handover->command);
	buf_release(&handover->refused);
	free(handover->path);
	free(handover);
}

/* {} becomes "$1", whatever quotes are around it. */
static int set_command(struct buf *text, const char *command)
{
	int r = buf_adds(text, "");

	for (const char *at; r == 0 && (at = strstr(command, "{}")); command = at) {
		char quote = at > command && (at[-1] == '"' || at[-1] == '\'') ? at[-1] : '\0';
		bool quoted = quote && at[2] == quote;

		r = buf_addf(text, "%.*s\"$1\"", (int)(at - command) - quoted, command);
		at += 2 + quoted;
	}
	return r < 0 ? r : buf_adds(text, command);
}

int handover_new(const char *command, struct handover **ret)
{
	struct handover *handover = calloc(1, sizeof(*handover));

	*ret = handover;
	return handover ? set_command(&handover->command, command) : -ENOMEM;
}

/* Takes what there is to be read, of which the last bytes are kept; false: there will be no more.
 */
static bool drain(int output, char said[SAID])
{
	char text[SAID - 1];
	ssize_t n;

	while ((n = read(output, text, sizeof(text))) > 0) {
		size_t len = (size_t)n, kept = strlen(said);
		size_t over = sub_sat(kept + len, SAID - 1);

		memmove(said, said + over, kept - over);
		memcpy(said + kept - over, text, len);
		said[kept - over + len] = '\0';
	}
	return n < 0 && errno == EAGAIN;
}

static int await(pid_t process, int output, char said[SAID])
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
			told = kill(-process, interrupt_pending()) == 0 &&
			       kill(-process, SIGCONT) == 0; /* one that is stopped takes none */
		poll(&more, 1, PERIOD_MS);
	}
}

/* Runs `sh -c COMMAND` with the path as $1, and awaits its end: its status, as waitpid(2) gives it,
 * or -errno. It reads nothing. A signal that asks foldpack to stop is passed on to it and to the
 * programs that it runs; where foldpack dies, it goes on until it writes. */
static int run_shell(const char *command, const char *path, char ret_said[SAID])
{
	const char *const argv[] = {"/bin/sh", "-c", command, "sh", path, NULL};
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

static void *run_command(void *context)
{
	struct handover *handover = context;
	const char *path = handover->path;
	char text[SAID] = "", *said = text;
	int status = interrupt_pending() ? -EINTR : run_shell(handover->command.data, path, text);

	handover->result = status == 0 ? 0 : interrupt_pending() ? -EINTR : CREATE_REPORTED;
	/* Both outputs of the command, a line each. */
	for (char *line; handover->result != -EINTR && (line = strsep(&said, "\r\n"));)
		if (*line)
			(status == 0 ? log_detail : log_error)("%s: %s", path, line);
	if (status == 0)
		log_info("%s: taken", path);
	else if (handover->result == -EINTR)
		log_notice("%s: not taken; --resume goes on with it", path);
	else if (status < 0)
		log_error("%s: the command of --shard-done cannot be run: %s", path,
			  strerror(-status));
	else if (WIFSIGNALED(status))
		log_error("%s: the command of --shard-done was ended by signal %d", path,
			  WTERMSIG(status));
	else
		log_error("%s: the command of --shard-done ended with status %d", path,
			  WEXITSTATUS(status));
	return NULL;
}

int handover_begin(struct handover *handover, const char *pack)
{
	int r;

	free(handover->path);
	/* With a path from the root, it matters to no program what the name begins with. */
	handover->path = realpath(pack, NULL);
	if (!handover->path)
		return log_fail(CREATE_REPORTED, "%s: %s", pack, strerror(errno));
	r = thread_without_signals(&handover->thread, run_command, handover);
	handover->runs = r == 0;
	return r;
}

int handover_await(struct handover *handover)
{
	if (!handover || !handover->runs)
		return 0;
	pthread_join(handover->thread, NULL);
	handover->runs = false;
	if (handover->result == CREATE_REPORTED)
		return buf_addf(&handover->refused, "%s%s", handover->refused.len ? ", " : "",
				handover->path);
	return handover->result;
}

const char *handover_refused(const struct handover *handover)
{
	return handover && handover->refused.len ? handover->refused.data : NULL;
}
