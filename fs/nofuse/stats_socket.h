/* Answers foldstat outside of the job: fs/job_socket.h. */
#pragma once

#include "fs/mount.h"
#include "fs/nofuse/skeleton.h"

struct stats_socket {
	struct mount *mount; /* borrowed */
	int fd;		     /* that it listens at; -1 */
	pthread_t thread;
	bool serving;
};

#define STATS_SOCKET_NONE ((struct stats_socket){.fd = -1})

/* Makes the socket: in the sandbox, there would be none. 0 or -errno. */
int stats_socket_listen(struct stats_socket *server, const struct skeleton *skeleton);
/* Starts the thread that answers. 0 or -errno. */
int stats_socket_serve(struct stats_socket *server, struct mount *mount);
/* Ends both, if they are there. `signo` interrupts the thread: it has a handler. */
void stats_socket_end(struct stats_socket *server, int signo);
