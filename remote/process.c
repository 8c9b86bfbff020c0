#include "remote/process.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/spawn.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define LOOK_MS 100 /* between looks at whether it is to stop */

struct patience {
	uint64_t deadline;	  /* ns */
	const atomic_bool *stops; /* NULL: never */
};

static int patience_left(const struct patience *patience)
{
	if (patience->stops && atomic_load(patience->stops))
		return -ECANCELED;
	return clock_ns() < patience->deadline ? 0 : -ETIMEDOUT;
}

/* Reads until the end. */
static int read_output(int fd, const struct patience *patience, struct buf *ret)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int r;

	while ((r = patience_left(patience)) == 0) {
		ssize_t n;

		if (poll(&poll_fd, 1, LOOK_MS) <= 0)
			continue;
		n = read(fd, ret->data + ret->len, PROCESS_BYTES - ret->len);
		if (n <= 0)
			return n < 0 ? -EIO : 0;
		ret->len += (size_t)n;
		if (ret->len == PROCESS_BYTES)
			return -EMSGSIZE;
	}
	return r;
}

/* A program may close its output and go on. */
static int await_end(pid_t pid, const struct patience *patience)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	siginfo_t end = {0};
	int r = 0;

	while (r == 0 && waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       end.si_pid == 0) {
		nanosleep(&nap, NULL);
		r = patience_left(patience);
	}
	return r;
}

int process_output(const char *const argv[], unsigned timeout_ms, const atomic_bool *stops,
		   struct buf *ret)
{
	const struct patience patience = {.deadline = clock_ns() + (uint64_t)timeout_ms * 1000000,
					  .stops = stops};
	SCOPE_CLOSE int in = -1;
	SCOPE_CLOSE int out = -1;
	int r, status = -1, pipe_fds[2];
	pid_t pid;

	if (buf_reserve(ret, PROCESS_BYTES + 1) < 0)
		return -ENOMEM;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	in = pipe_fds[0];
	out = pipe_fds[1];
	/* A process group of its own is killed with the program's children. */
	r = spawn_program(argv, &out, 1, POSIX_SPAWN_SETPGROUP, &pid);
	if (r < 0)
		return r;
	close(steal_fd(&out));
	r = read_output(in, &patience, ret);
	if (r == 0)
		r = await_end(pid, &patience);
	if (r < 0)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	ret->data[ret->len] = '\0';
	if (r < 0)
		return r;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}
