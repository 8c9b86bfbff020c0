#include "fs/life/daemon.h"
#include "base/exit.h"
#include "base/fork.h"
#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/signals.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Signals that have come meanwhile end the parent of a daemon that is not there. */
static _Noreturn void wait_for_status(int socket, pid_t child)
{
	unsigned char status;
	int how = 0;

	if (io_read(socket, &status, 1) == 1) {
		if (status)
			signals_unblock();
		_exit(status);
	}
	waitpid(child, &how, 0);
	if (WIFSIGNALED(how))
		log_error("the daemon was killed by signal %d while it started", WTERMSIG(how));
	_exit(EXIT_FAILED);
}

int daemon_fork(struct daemon *daemon)
{
	int socket;
	pid_t pid = fork_with_socket(SOCK_STREAM, &socket);

	if (pid < 0)
		return pid;
	if (pid > 0)
		wait_for_status(socket, pid);
	daemon->parent = socket;
	return 0;
}

/* --- in the foreground ------------------------------------------------------------------------ */

bool daemon_is_from_terminal(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL &&
	       (info->si_signo == SIGINT || info->si_signo == SIGQUIT ||
		(info->si_signo == SIGHUP && getsid(0) != getpid()));
}

int daemon_lead(pid_t child, const sigset_t *signals)
{
	siginfo_t info;
	pid_t pid;
	int how;

	for (;;) {
		/* The first process of a container gets children of others, too. */
		do
			pid = waitpid(-1, &how, WNOHANG);
		while (pid > 0 && pid != child);
		if (pid == child)
			return how;
		if (sigwaitinfo(signals, &info) > 0 && info.si_signo != SIGCHLD &&
		    !daemon_is_from_terminal(&info))
			kill(child, info.si_signo);
	}
}

int daemon_stay(const sigset_t *signals)
{
	SCOPE_CLOSE int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	pid_t pid = terminal >= 0 && getsid(0) == getpid() ? fork() : 0;

	if (pid < 0)
		return -errno;
	if (pid > 0) {
		int how;

		io_close_from(STDERR_FILENO + 1);
		how = daemon_lead(pid, signals);
		_exit(WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how));
	}
	return 0;
}

void daemon_hush(int log_fd)
{
	SCOPE_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (log_fd >= 0)
		dup2(log_fd, STDERR_FILENO);
	io_close_inherited_terminals(STDERR_FILENO + 1);
}

void daemon_detach(const struct daemon *daemon)
{
	if (daemon->parent < 0)
		return;
	setsid();
	io_close_inherited(STDERR_FILENO + 1);
}

void daemon_tell(struct daemon *daemon, int status)
{
	unsigned char word = (unsigned char)status;

	if (daemon->parent < 0)
		return;
	io_write_full(daemon->parent, &word, 1);
	close(daemon->parent);
	daemon->parent = -1;
}

void daemon_ready(struct daemon *daemon)
{
	int null;

	if (daemon->parent < 0)
		return;
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	log_to_syslog();
	/* The folder that it was started in must not stay busy. */
	if (chdir("/") < 0)
		log_error("cannot change to /: %m");
	daemon_tell(daemon, EXIT_DONE);
}
