#include "fs/stat/asker.h"
#include "base/fork.h"
#include "base/scope.h"
#include "fs/stat/mounts.h"
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* An answer is one packet: this, then the stats. */
struct answer {
	int error;
	struct err err;
};

#define ANSWER_MAX (sizeof(struct answer) + 65536) /* the kernel's limit for an attribute */

struct asker {
	pid_t child;
	int fd;	      /* a packet each way for a question */
	bool waiting; /* for an answer */
};

/* The process that asks. Standard output is closed in it: if the daemon stops in the middle of a
 * question, not even SIGKILL ends this process, and a pipe that it holds open would never end for
 * its reader. */
_Noreturn static void answer_all(pid_t parent, int fd, asker_question *question, void *context)
{
	char asked;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it has ended already */
		_exit(0);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (recv(fd, &asked, 1, 0) == 1) {
		SCOPE(buf_release) struct buf packet = BUF_INIT;
		struct answer answer = {0};

		if (buf_add(&packet, &answer, sizeof(answer)) < 0)
			break;
		answer.error = question(context, &packet, &answer.err);
		memcpy(packet.data, &answer, sizeof(answer));
		if (send(fd, packet.data, packet.len, MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

struct asker *asker_new(asker_question *question, void *context)
{
	SCOPE_FREE struct asker *asker = calloc(1, sizeof(*asker));
	pid_t own = getpid();

	if (!asker)
		return NULL;
	asker->child = fork_with_socket(SOCK_SEQPACKET, &asker->fd);
	if (asker->child == 0)
		answer_all(own, asker->fd, question, context);
	if (asker->child < 0) {
		errno = -asker->child;
		return NULL;
	}
	return steal_ptr(&asker);
}

static int ask_for_stats(void *path, struct buf *buf, struct err *err)
{
	return mounts_ask(path, buf, err);
}

struct asker *asker_of_stats(const char *path)
{
	return asker_new(ask_for_stats, (void *)path);
}

void asker_free(struct asker *asker)
{
	if (!asker)
		return;
	kill(asker->child, SIGKILL);
	close(asker->fd);
	waitpid(asker->child, NULL, asker->waiting ? WNOHANG : 0);
	free(asker);
}

int asker_ask(struct asker *asker)
{
	if (send(asker->fd, "?", 1, MSG_NOSIGNAL) < 0)
		return -errno;
	asker->waiting = true;
	return 0;
}

int asker_fd(const struct asker *asker)
{
	return asker->fd;
}

int asker_take(struct asker *asker, struct buf *buf, struct err *err)
{
	struct answer answer;
	SCOPE(buf_release) struct buf packet = BUF_INIT;
	int r = buf_reserve(&packet, ANSWER_MAX);
	ssize_t len;

	if (r < 0)
		return r;
	len = recv(asker->fd, packet.data, ANSWER_MAX, 0);
	asker->waiting = false;
	if (len < (ssize_t)sizeof(answer))
		return len < 0 ? -errno : -EPIPE;
	memcpy(&answer, packet.data, sizeof(answer));
	if (answer.error < 0)
		return *answer.err.text ? err_set(err, answer.error, "%s", answer.err.text)
					: answer.error;
	return buf_add(buf, packet.data + sizeof(answer), (size_t)len - sizeof(answer));
}

int asker_once(struct asker *asker, struct buf *buf, struct err *err)
{
	int r = asker ? asker_ask(asker) : -errno;

	if (r == 0)
		r = asker_take(asker, buf, err);
	asker_free(asker);
	return r;
}
