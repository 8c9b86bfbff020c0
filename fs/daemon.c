#include "fs/daemon.h"
#include "base/exit.h"
#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include <fcntl.h>
#include <sys/wait.h>

static _Noreturn void wait_for_status(int pipe, pid_t child)
{
	unsigned char status;
	int how = 0;

	if (io_read(pipe, &status, 1) == 1)
		_exit(status);
	waitpid(child, &how, 0);
	if (WIFSIGNALED(how))
		log_error("the daemon was killed by signal %d while it started", WTERMSIG(how));
	_exit(EXIT_FAILED);
}

int daemon_fork(struct daemon *daemon)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int r = -errno;

		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (pid > 0) {
		close(ends[1]);
		wait_for_status(ends[0], pid);
	}
	close(ends[0]);
	daemon->pipe = ends[1];
	return 0;
}

void daemon_detach(const struct daemon *daemon)
{
	if (daemon->pipe < 0)
		return;
	setsid();
	io_close_inherited(STDERR_FILENO + 1);
}

void daemon_tell(struct daemon *daemon, int status)
{
	unsigned char word = (unsigned char)status;

	if (daemon->pipe < 0)
		return;
	io_write_full(daemon->pipe, &word, 1);
	close(daemon->pipe);
	daemon->pipe = -1;
}

void daemon_ready(struct daemon *daemon)
{
	int null;

	if (daemon->pipe < 0)
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
