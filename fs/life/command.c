#include "fs/life/command.h"
#include "base/fork.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/signals.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void exec_command(int gate, char *const argv[], const sigset_t *defaults,
				   const struct limits *limits, command_fn *first, void *context)
{
	char go;

	if (first)
		first(gate, context);
	if (io_read(gate, &go, 1) != 1)
		_exit(EXIT_FAILURE);
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(defaults, signo) == 1)
			signal(signo, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signals_unblock();
	limits_give_back(limits);
	execvp(argv[0], argv);
	log_error("%s: %s", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

int command_fork(struct command *command, char *const argv[], const sigset_t *signals,
		 const struct limits *limits, command_fn *first, void *context)
{
	int gate;
	pid_t pid = fork_with_socket(SOCK_STREAM, &gate);

	if (pid < 0)
		return pid;
	if (pid == 0)
		exec_command(gate, argv, signals, limits, first, context);
	*command = (struct command){.pid = pid, .gate = gate};
	return 0;
}

void command_begin(struct command *command)
{
	io_write_full(command->gate, "", 1);
	close(command->gate);
	command->gate = -1;
}

void command_cancel(struct command *command)
{
	if (command->gate < 0)
		return;
	close(command->gate);
	waitpid(command->pid, NULL, 0);
	*command = COMMAND_NONE;
}
