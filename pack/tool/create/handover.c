#include "pack/tool/create/handover.h"

#include "base/log.h"
#include "base/scope.h"
#include "base/signals.h"
#include "pack/tool/create/create.h"
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/shell.h"
#include <string.h>
#include <sys/wait.h>

struct handover {
	struct buf command; /* with "$1" for {} */
	struct buf refused; /* paths of packs whose command failed, with ", " between */

	/* Of the pack that is handed over: the thread's while it runs. */
	bool runs;
	pthread_t thread;
	char *path;
	int result; /* 0, -EINTR, or CREATE_REPORTED: the command failed */
};

/* Both outputs of the command, a line each. */
static void say_lines(const struct handover *handover, char *said,
		      void (*say)(const char *format, ...))
{
	for (char *line; (line = strsep(&said, "\r\n"));)
		if (*line)
			say("%s: %s", handover->path, line);
}

static int say_failed(const struct handover *handover, int status)
{
	const char *path = handover->path;

	if (status < 0)
		return log_fail(CREATE_REPORTED,
				"%s: the command of --shard-done cannot be run: %s", path,
				strerror(-status));
	if (WIFSIGNALED(status))
		return log_fail(CREATE_REPORTED,
				"%s: the command of --shard-done was ended by signal %d", path,
				WTERMSIG(status));
	return log_fail(CREATE_REPORTED, "%s: the command of --shard-done ended with status %d",
			path, WEXITSTATUS(status));
}

static void *run_thread(void *context)
{
	struct handover *handover = context;
	char said[SHELL_SAID] = "";
	int status = interrupt_pending() ? -EINTR
					 : shell_run(handover->command.data, handover->path, said);

	if (status == 0) {
		say_lines(handover, said, log_detail);
		log_info("%s: taken", handover->path);
		handover->result = 0;
	} else if (interrupt_pending()) {
		log_notice("%s: not taken; --resume goes on with it", handover->path);
		handover->result = -EINTR;
	} else {
		say_lines(handover, said, log_error);
		handover->result = say_failed(handover, status);
	}
	return NULL;
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
	int r = handover ? set_command(&handover->command, command) : -ENOMEM;

	if (r < 0)
		handover_free(handover);
	else
		*ret = handover;
	return r;
}

void handover_free(struct handover *handover)
{
	if (!handover)
		return;
	buf_release(&handover->command);
	buf_release(&handover->refused);
	free(handover->path);
	free(handover);
}

int handover_begin(struct handover *handover, const char *path)
{
	int r = handover_end(handover);

	if (r < 0)
		return r;
	free(handover->path);
	/* With a path from the root, it matters to no program what the name begins with. */
	handover->path = realpath(path, NULL);
	if (!handover->path)
		return log_fail(CREATE_REPORTED, "%s: %s", path, strerror(errno));
	r = thread_without_signals(&handover->thread, run_thread, handover);
	handover->runs = r == 0;
	return r;
}

int handover_end(struct handover *handover)
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

int handover_check(const struct handover *handover)
{
	if (!handover || !handover->refused.len)
		return 0;
	return log_fail(CREATE_REPORTED, "not taken by the command of --shard-done: %s",
			handover->refused.data);
}
