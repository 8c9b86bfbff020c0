#include "fs/nofuse/probe.h"
#include "base/fork.h"
#include "base/scope.h"
#include "fs/nofuse/job.h"
#include "fs/nofuse/listener.h"
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PATIENCE 10000 /* ms; what is asked for comes at once, or never */

static const char asked_for[] = "foldfs: is anybody there?";

#define INSTEAD "; 'foldpack extract' to a disk, or to /dev/shm what fits there, needs none of this"

static _Noreturn void ask(int socket)
{
	const uint32_t call = SYS_openat;

	if (listener_install(&call, 1, 0, socket) < 0)
		_exit(EXIT_FAILURE);
	_exit(syscall(SYS_openat, AT_FDCWD, asked_for, O_RDONLY) < 0);
}

static int explain_listener(int error, struct err *err)
{
	if (error == -EBUSY)
		return err_set(err, error,
			       "another program listens to the system calls of this process, and "
			       "the kernel allows one" INSTEAD);
	if (error == -EINVAL || error == -ENOSYS || error == -EOPNOTSUPP)
		return err_set(err, error,
			       "the kernel has no seccomp listeners: it is older than Linux 5.14, "
			       "or is gVisor's" INSTEAD);
	return err_set(err, error, "seccomp filters are refused here: %s" INSTEAD,
		       strerror(-error));
}

/* Answers the one call. */
static int answer(const struct listener *listener, struct err *err)
{
	SCOPE_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct pollfd ready = {.fd = listener->fd, .events = POLLIN};
	char path[sizeof(asked_for)], link[PATH_MAX];
	struct asked asked;
	pid_t pid;
	int r;

	if (poll(&ready, 1, PATIENCE) <= 0 || listener_take(listener, &asked) < 0)
		return err_set(err, -ENOSYS, "seccomp listeners get no calls here" INSTEAD);
	pid = (pid_t)asked.notif.pid;
	r = job_read(pid, asked.notif.data.args[1], path, sizeof(path));
	if (r < 0 || memcmp(path, asked_for, sizeof(path)) != 0)
		return err_set(err, r < 0 ? r : -EPROTO,
			       "cannot read the memory of a child process (%s): ask for "
			       "kernel.yama.ptrace_scope of 1 or 0" INSTEAD,
			       strerror(r < 0 ? -r : EPROTO));
	r = job_link(pid, AT_FDCWD, link);
	if (r < 0)
		return err_set(err, r, "/proc does not list child processes (%s)" INSTEAD,
			       strerror(-r));
	r = listener_give(listener, &asked, null, true);
	if (r == -EINVAL || r == -ENOTTY)
		return err_set(err, r, "the kernel is older than Linux 5.14" INSTEAD);
	return r < 0 ? err_set(err, r, "cannot give a child process a descriptor: %s" INSTEAD,
			       strerror(-r))
		     : 0;
}

int probe_listener(struct err *err)
{
	struct listener listener = LISTENER_NONE;
	SCOPE_CLOSE int socket = -1;
	pid_t pid = fork_with_socket(SOCK_STREAM, &socket);
	int how = -1, r;

	if (pid == 0)
		ask(socket);
	if (pid < 0)
		return err_fork(err, pid);
	r = listener_receive(socket, &listener);
	r = r < 0 ? explain_listener(r, err) : answer(&listener, err);
	scope_close(&listener.fd); /* ends a call that still waits */
	waitpid(pid, &how, 0);
	if (r == 0 && how != 0)
		return err_set(err, -EPROTO, "seccomp listeners answer nothing here" INSTEAD);
	return r;
}
