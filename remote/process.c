#include "remote/process.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/spawn.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define LOOK_MS 100 /* between looks at whether it is to stop */

/* Reads until the program has ended, which may close its output before. */
static int attend(pid_t pid, int fd, uint64_t deadline, const atomic_bool *stops, struct buf *ret)
{
	struct pollfd output = {.fd = fd, .events = POLLIN};

	for (;;) {
		siginfo_t end = {0};

		if (stops && atomic_load(stops))
			return -ECANCELED;
		if (clock_ns() >= deadline)
			return -ETIMEDOUT;
		if (poll(&output, 1, output.fd < 0 ? 1 : LOOK_MS) > 0) {
			ssize_t n = read(fd, ret->data + ret->len, PROCESS_BYTES - ret->len);

			if (n < 0)
				return -EIO;
			if (n == 0)
				output.fd = -1;
			ret->len += (size_t)n;
			if (ret->len == PROCESS_BYTES)
				return -EMSGSIZE;
		} else if (output.fd < 0 &&
			   (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) < 0 ||
			    end.si_pid)) {
			return 0;
		}
	}
}

int process_output(const char *const argv[], unsigned timeout_ms, const atomic_bool *stops,
		   struct buf *ret)
{
	uint64_t deadline = clock_ns() + (uint64_t)timeout_ms * 1000000;
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
	r = attend(pid, in, deadline, stops, ret);
	if (r < 0)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	ret->data[ret->len] = '\0';
	if (r < 0)
		return r;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}
