/* Whether to poll for the next request. To put a thread to sleep and wake it takes longer than most
 * answers: 20 us and more where an idle processor is halted, as in virtual machines. A single
 * reader pays that several times a file, while a processor has nothing to do. So the thread that
 * has answered polls for BUSY_POLL_NS; but not where several readers keep the processors busy, and
 * rarely where polling finds nothing.
 *
 * Any thread may call anything. They share hints only: stale ones do no harm. */
#ifndef FS_BUSY_POLL_H
#define FS_BUSY_POLL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BUSY_POLL_NS 100000

/* To be embedded; the fields are busy_poll.c's. */
struct busy_poll {
	atomic_uint reader;   /* thread ID of the last request */
	atomic_uint streak;   /* requests of that reader in a row */
	atomic_uint worth;    /* how often it has found something, lately */
	atomic_uint refusals; /* while it is not worth it */
	atomic_flag taken;
};

void busy_poll_init(struct busy_poll *poll);

/* A request of this thread was received; 0: of an unknown one. */
void busy_poll_request(struct busy_poll *poll, uint32_t reader);

/* Whether the caller should poll. Only one thread at a time does; it then calls busy_poll_end(). */
bool busy_poll_begin(struct busy_poll *poll);
void busy_poll_end(struct busy_poll *poll, bool found);

#endif
