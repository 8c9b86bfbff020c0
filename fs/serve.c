#include "fs/serve.h"
#include "base/clock.h"
#include "base/log.h"
#include "fs/busy_poll.h"
#include <errno.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct server {
	struct fuse_session *fuse;
	struct busy_poll poll;
	atomic_uint *serving;
};

static void busy_poll(struct server *server)
{
	struct pollfd ready = {.fd = fuse_session_fd(server->fuse), .events = POLLIN};
	uint64_t until;
	bool found;

	if (!busy_poll_begin(&server->poll))
		return;
	until = clock_ns() + BUSY_POLL_NS;
	do
		found = poll(&ready, 1, 0) != 0;
	while (!found && clock_ns() < until);
	busy_poll_end(&server->poll, found);
}

static void *serve_thread(void *arg)
{
	struct server *server = arg;
	struct fuse_buf buf = {0};

	atomic_fetch_add(server->serving, 1);
	while (!fuse_session_exited(server->fuse)) {
		const struct fuse_in_header *header;
		int r;

		busy_poll(server);
		r = fuse_session_receive_buf(server->fuse, &buf);
		if (r == -EINTR || r == -EAGAIN)
			continue;
		if (r < 0)
			log_error("cannot receive requests: %s", strerror(-r));
		if (r <= 0)
			break;
		header = buf.mem;
		if (buf.size >= sizeof(*header))
			busy_poll_request(&server->poll, header->pid);
		fuse_session_process_buf(server->fuse, &buf);
	}
	atomic_fetch_sub(server->serving, 1);
	free(buf.mem);
	return NULL;
}

void serve(struct fuse_session *fuse, unsigned threads, atomic_uint *serving)
{
	struct server server = {.fuse = fuse, .serving = serving};
	pthread_t *ids = calloc(threads, sizeof(*ids));
	unsigned started = 0;

	busy_poll_init(&server.poll);
	while (ids && started + 1 < threads &&
	       pthread_create(&ids[started], NULL, serve_thread, &server) == 0)
		started++;
	serve_thread(&server);
	while (started)
		pthread_join(ids[--started], NULL);
	free(ids);
}
