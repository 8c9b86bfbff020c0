/* How foldstat asks a job of `foldfs --no-fuse` from outside: by one packet to a local socket,
 * which one packet answers. Its abstract name says in which folder the job sees the pack. Anybody
 * can take such a name: each side looks who is at the other end (base/peer.h).
 *
 *	question			answer
 *	a byte				0, and the stats as a mount gives them
 *	a struct order_batch		0, and the batch as the ioctl gives it (order_ioctl.h)
 *	of another user, but root	-EACCES
 *	refused				-errno, as of the ioctl */
#pragma once

#include "fs/order_ioctl.h"
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define JOB_SOCKET_FORMAT "foldfs job %llx %llx %llx"

struct job_socket {
	unsigned long long device, inode; /* of the folder */
	unsigned long long began;	  /* any time; of two jobs, the second has a later one */
};

static inline struct sockaddr_un job_socket_name(const struct job_socket *job)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, JOB_SOCKET_FORMAT, job->device,
		 job->inode, job->began);
	return name;
}
