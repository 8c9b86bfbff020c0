#include "fs/nofuse/stats_socket.h"
#include "base/clock.h"
#include "base/peer.h"
#include "base/scope.h"
#include "fs/job_socket.h"
#include <signal.h>
#include <sys/uio.h>

#define PATIENCE_S 1 /* with one that asks nothing */

int stats_socket_listen(struct stats_socket *server, const struct skeleton *skeleton)
{
	const struct job_socket job = {skeleton->own.device, skeleton->own.inode, clock_ns()};
	const struct sockaddr_un name = job_socket_name(&job);
	SCOPE_CLOSE int fd = peer_socket(0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return -errno;
	server->fd = steal_fd(&fd);
	return 0;
}

/* Adds to the answer. What is refused is read, too, but not waited for: were it left unread, its
 * sender would get an error in place of the answer. */
static int take_question(const struct stats_socket *server, int fd, struct buf *answer)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct order_batch batch;
	struct ucred peer;
	bool refused = peer_find(fd, &peer) < 0 || !peer_is_trusted(&peer);
	ssize_t len;
	int r;

	if (refused)
		shutdown(fd, SHUT_RD);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	len = recv(fd, &batch, sizeof(batch), MSG_TRUNC);
	if (refused)
		return -EACCES;
	if (len == 1)
		return mount_report(server->mount, true, answer);
	r = len == sizeof(batch) ? mount_order(server->mount, (uint32_t)peer.pid, &batch) : -EINVAL;
	return r < 0 ? r : buf_add(answer, &batch, sizeof(batch));
}

static void answer_one(const struct stats_socket *server, int fd)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int error = take_question(server, fd, &text);
	struct iovec parts[] = {{&error, sizeof(error)}, {text.data, error < 0 ? 0 : text.len}};
	const struct msghdr answer = {.msg_iov = parts, .msg_iovlen = 2};

	sendmsg(fd, &answer, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void *answer_all(void *arg)
{
	const struct stats_socket *server = arg;
	const struct timespec tick = {.tv_nsec = CLOCK_SECOND / 10};

	while (true) {
		SCOPE_CLOSE int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			answer_one(server, fd);
		else if (errno == EINVAL) /* shut down */
			return NULL;
		else
			nanosleep(&tick, NULL);
	}
}

int stats_socket_serve(struct stats_socket *server, struct mount *mount)
{
	int r = 0;

	server->mount = mount;
	if (server->fd >= 0)
		r = -pthread_create(&server->thread, NULL, answer_all, server);
	server->serving = server->fd >= 0 && r == 0;
	return r;
}

/* The thread may be closing a socket that a stranger has sent: that waits for what is at its other
 * end, but not for longer than until a signal comes. */
void stats_socket_end(struct stats_socket *server, int signo)
{
	const struct timespec tick = {.tv_nsec = CLOCK_SECOND / 1000};

	if (server->serving)
		shutdown(server->fd, SHUT_RDWR);
	while (server->serving && pthread_tryjoin_np(server->thread, NULL) != 0) {
		pthread_kill(server->thread, signo);
		nanosleep(&tick, NULL);
	}
	scope_close(&server->fd);
	*server = STATS_SOCKET_NONE;
}
