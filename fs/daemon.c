#include "fs/daemon.h"
#include "base/exit.h"
#include "base/fork.h"
#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Signals that have come meanwhile end the parent of a daemon that is not there. */
static _Noreturn void wait_for_status(int socket, pid_t child)
{
	unsigned char status;
	int how = 0;
	sigset_t none;

	if (io_read(socket, &status, 1) == 1) {
		sigemptyset(&none);
		if (status)
			sigprocmask(SIG_SETMASK, &none, NULL);
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
