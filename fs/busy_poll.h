/* Whether to stay awake for the next request. Putting a thread to sleep and waking it takes longer
 * than most answers: 20 us and more where an idle processor is halted, as in virtual machines. A
 * reader that is alone waits for that several times a file, while a processor has nothing to do. So
 * the thread that has answered looks for the next request for BUSY_POLL_NS; but not where several
 * readers keep the processors busy, and only now and then where that finds nothing.
 *
 * Any thread may call anything. What they share are hints: nothing breaks where they are stale. */
#ifndef FS_BUSY_POLL_H
#define FS_BUSY_POLL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BUSY_POLL_NS 100000

/* To be embedded; the fields are busy_poll.c's. */
struct busy_poll {
	atomic_uint reader;   /* thread ID of the last request */
	atomic_uint streak;   /* requests since another one asked */
	atomic_uint worth;    /* how often it found something of late */
	atomic_uint refusals; /* in a row, since it seldom does */
	atomic_flag taken;
};

void busy_poll_init(struct busy_poll *poll);

/* A request of that thread was received. 0: of nobody known. */
void busy_poll_request(struct busy_poll *poll, uint32_t reader);

/* Whether the caller should look: one at a time, who then calls busy_poll_end(). */
bool busy_poll_begin(struct busy_poll *poll);
void busy_poll_end(struct busy_poll *poll, bool found);

#endif
