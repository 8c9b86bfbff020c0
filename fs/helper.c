#include "fs/helper.h"
#include "base/fork.h"
#include "base/io.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKET 3 /* the one descriptor besides the standard ones */

/* With the others, the helper would keep the connection to the kernel, or the terminal. */
static void close_others(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < SOCKET; fd++)
		dup2(null, fd);
	dup2(socket, SOCKET);
	fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
	io_close_from(SOCKET + 1);
}

/* Whether the process is there that asks. Once it has been killed, another may have taken its
 * place: the next foldfs has mounted on the same path, as the same device even, and what the first
 * one asked for last would unmount that. */
static bool is_asked(void)
{
	struct pollfd asker = {.fd = SOCKET};

	return poll(&asker, 1, 0) == 0;
}

/* Another process of this user must not take it over. */
static _Noreturn void help(int socket, helper_fn *act, void *context)
{
	char task;

	prctl(PR_SET_NAME, "foldfs-helper");
	prctl(PR_SET_DUMPABLE, 0);
	close_others(socket);
	if (chdir("/") < 0)
		_exit(EXIT_FAILURE);
	while (io_read(SOCKET, &task, 1) == 1 && is_asked()) {
		int r = act(context, task);

		if (io_write_full(SOCKET, &r, sizeof(r)) < 0)
			break;
	}
	_exit(EXIT_SUCCESS);
}

int helper_start(helper_fn *act, void *context, struct helper *ret)
{
	int socket;
	pid_t pid = fork_with_socket(SOCK_STREAM, &socket);

	if (pid < 0)
		return pid;
	if (pid == 0)
		help(socket, act, context);
	*ret = (struct helper){.pid = pid, .socket = socket};
	return 0;
}

int helper_ask(const struct helper *helper, char task)
{
	int r, how = -1;

	if (io_write_full(helper->socket, &task, 1) == 0 &&
	    io_read(helper->socket, (char *)&r, sizeof(r)) == sizeof(r))
		return r;
	waitpid(helper->pid, &how, 0);
	return how == 0 ? 0 : -EPIPE;
}

void helper_release(struct helper *helper)
{
	if (helper->socket < 0)
		return;
	close(helper->socket);
	waitpid(helper->pid, NULL, 0);
	*helper = HELPER_NONE;
}
