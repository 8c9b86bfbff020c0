#include "fs/life/helper.h"
#include "base/fork.h"
#include "base/io.h"
#include "base/utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The descriptors besides the standard ones, and HELPER_KEPT. */
#define SOCKET 3
#define SAID   4
_Static_assert(HELPER_KEPT == SAID + 1, "what is closed lies behind them");

/* --- what is passed on ------------------------------------------------------------------------ */

struct passing {
	bool open;
	size_t len; /* bytes that wait for the terminal, which may have been stopped by ^S */
	char text[4096];
};

static void take_said(struct passing *passing)
{
	char raw[sizeof(passing->text)];
	ssize_t n = read(SAID, raw, sizeof(raw));

	passing->open = n > 0;
	passing->len = n > 0 ? (size_t)n : 0;
	/* What begins a control character at the end may not be completed by the next bytes. */
	for (size_t i = 0; i < passing->len; i++) {
		bool begins = i + 1 == passing->len && raw[i] == '\xc2';
		bool harmful = begins || utf8_is_control(raw, passing->len, i);

		passing->text[i] = harmful && raw[i] != '\n' ? '?' : raw[i];
	}
}

/* As far as the terminal takes it. One that is gone takes nothing, and is not waited for. */
static void put_text(struct passing *passing, bool gone)
{
	size_t done =
		gone ? passing->len : io_write_now(STDERR_FILENO, passing->text, passing->len);

	passing->len -= done;
	memmove(passing->text, passing->text + done, passing->len);
}

/* Passes on what is said until there is a task, or none can come any more. */
static void await_task(struct passing *passing)
{
	struct pollfd fds[2] = {{.fd = SOCKET, .events = POLLIN}};

	do {
		fds[1] = passing->len ? (struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}
				      : (struct pollfd){.fd = SAID, .events = POLLIN};
		if (poll(fds, passing->open || passing->len ? 2 : 1, -1) <= 0)
			continue;
		if (fds[1].revents && passing->len)
			put_text(passing, !(fds[1].revents & POLLOUT));
		else if (fds[1].revents)
			take_said(passing);
	} while (!fds[0].revents);
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* Another process of this user must not take it over. */
static _Noreturn void help(int socket, int log_fd, int kept, helper_fn *act, void *context)
{
	struct passing passing = {.open = log_fd >= 0};
	struct pollfd more = {.fd = SAID, .events = POLLIN}, asker = {.fd = SOCKET};
	int null, all[] = {socket, log_fd, kept};
	char task;

	prctl(PR_SET_NAME, "foldfs-helper");
	prctl(PR_SET_DUMPABLE, 0);
	/* With the others, the helper would keep the connection to the kernel, or the terminal. */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++) /* out of the way of each other */
		all[i] = fcntl(all[i], F_DUPFD_CLOEXEC, HELPER_KEPT + 1);
	for (int fd = 0; fd < SOCKET; fd++)
		if (fd != STDERR_FILENO || log_fd < 0)
			dup2(null, fd);
	for (int i = 0; i < 3; i++)
		if (dup3(all[i], SOCKET + i, O_CLOEXEC) < 0)
			close(SOCKET + i);
	io_close_from(HELPER_KEPT + 1);
	signal(SIGTTOU, SIG_IGN); /* to write from the background, too */
	if (chdir("/") < 0)
		_exit(EXIT_FAILURE);
	while (await_task(&passing), io_read(SOCKET, &task, 1) == 1) {
		int r;

		/* Whether the process is there that asks. Once it has been killed, another may have
		 * taken its place: the next foldfs has mounted on the same path, as the same device
		 * even, and what the first one asked for last would unmount that. */
		if (poll(&asker, 1, 0) != 0)
			break;
		r = act(context, task);
		if (io_write_full(SOCKET, &r, sizeof(r)) < 0)
			break;
	}
	/* Nobody waits for a terminal that was stopped. */
	put_text(&passing, false);
	while (passing.open && passing.len == 0 && poll(&more, 1, 0) > 0) {
		take_said(&passing);
		put_text(&passing, false);
	}
	_exit(EXIT_SUCCESS);
}

int helper_start(helper_fn *act, void *context, int log_fd, int kept, struct helper *ret)
{
	int socket;
	pid_t pid = fork_with_socket(SOCK_STREAM, &socket);

	if (pid < 0)
		return pid;
	if (pid == 0)
		help(socket, log_fd, kept, act, context);
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
