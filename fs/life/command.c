#include "fs/life/command.h"
#include "base/fork.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/signals.h"
#include "fs/life/daemon.h"
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
	*command = (struct command){.pid = pid, .gate = gate, .witness = WITNESS_NONE};
	/* Later than COMMAND, which is to get all that this one notes; without it, some twice. */
	witness_start(signals, &command->witness);
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
	witness_release(&command->witness);
	*command = COMMAND_NONE;
}

/* What this process sends itself is not for COMMAND. */
void command_signal(const struct command *command, const siginfo_t *info)
{
	if (!daemon_is_from_terminal(info) && info->si_pid != getpid() &&
	    (!witness_saw(&command->witness, info->si_signo) || getpgid(command->pid) != getpgrp()))
		kill(command->pid, info->si_signo);
}

/* Threads wait for children of their own. */
bool command_reap(struct command *command, bool all, int *ret_status)
{
	pid_t pid;
	int how;

	do {
		pid = command->pid ? waitpid(all ? -1 : command->pid, &how, WNOHANG | __WNOTHREAD)
				   : 0;
		if (pid > 0 && pid == command->witness.pid)
			command->witness.pid = 0;
	} while (pid > 0 && pid != command->pid);
	if (pid <= 0)
		return false;
	witness_release(&command->witness);
	command->pid = 0;
	*ret_status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
	return true;
}
