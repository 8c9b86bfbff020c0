/* Answers foldstat outside of the job: fs/job_socket.h. */
#pragma once

#include "fs/mount.h"
#include "fs/nofuse/skeleton.h"

struct outside {
	struct mount *mount; /* borrowed */
	int fd;		     /* that it listens at; -1 */
	pthread_t thread;
	bool serving;
};

#define OUTSIDE_NONE ((struct outside){.fd = -1})

/* Makes the socket: in the sandbox, there would be none. 0 or -errno. */
int outside_listen(struct outside *outside, const struct skeleton *skeleton);
/* Starts the thread that answers. 0 or -errno. */
int outside_serve(struct outside *outside, struct mount *mount);
/* Ends both, if they are there. `signo` interrupts the thread: it has a handler. */
void outside_end(struct outside *outside, int signo);
