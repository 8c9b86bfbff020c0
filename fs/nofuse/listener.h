/* The system calls of a job that wait for somebody else's answer (seccomp user notifications). The
 * first process of the job installs a filter, which all that it starts inherit, and sends the
 * listener away; whoever has it takes each call and either answers it, or passes it on to the
 * kernel as if nobody had looked.
 *
 * Once the listener is closed, these calls fail with ENOSYS in the job. Any number of threads may
 * take and answer calls, and should get no signals. */
#pragma once

#include "base/uapi.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct listener {
	int fd;
	bool killable; /* a call that was taken is interrupted by nothing but a kill: Linux 5.19 */
	uint64_t mark; /* as it was installed with */
};

#define LISTENER_NONE ((struct listener){.fd = -1})

/* A call that waits. */
struct asked {
	union {
		struct seccomp_notif notif;
		char room[256]; /* the kernel's may be longer one day */
	};
};

/* Filters the calls of these numbers, and refuses what would pass by the filter, or change what
 * paths mean. What is marked (preload.h) passes; 0: nothing is. For this process and all that it
 * will start, none of which can gain privileges from then on. The listener goes to the other end of
 * a socket, or what went wrong. Returns 0 or -errno; -EBUSY: another one listens already. */
int listener_install(const uint32_t *calls, size_t count, uint64_t mark, int socket);
/* Takes it from there. Returns as listener_install(), or -EPIPE: the sender has ended. */
int listener_receive(int socket, struct listener *ret);

/* Waits for the next call. 0; -EINTR, also for a caller that has ended meanwhile; or -errno. */
int listener_take(const struct listener *listener, struct asked *ret);
/* Whether the caller still waits. If not, its process number may be another's by now. */
bool listener_waits(const struct listener *listener, const struct asked *asked);
/* What the call returns: a result or -errno. */
void listener_answer(const struct listener *listener, const struct asked *asked, int64_t result);
void listener_pass(const struct listener *listener, const struct asked *asked);
/* Answers with a copy of a descriptor. 0, also where nobody waits any more; or -errno, and the call
 * still waits. */
int listener_give(const struct listener *listener, const struct asked *asked, int fd, bool cloexec);
/* Gives the caller a copy in the place of a descriptor that it has. 0, also where nobody waits any
 * more, or -errno; the call waits on. */
int listener_replace(const struct listener *listener, const struct asked *asked, int fd, int number,
		     bool cloexec);
