/* Decides whether to poll for the next request. Putting a thread to sleep and waking it takes
 * longer than most answers: 20 us and more if an idle processor is halted, as in virtual machines.
 * A single reader pays that several times a file, while a processor has nothing to do. So the
 * thread that has answered polls for BUSY_POLL_NS; but not if several readers keep the processors
 * busy, and rarely if polling finds nothing.
 *
 * Any thread may call anything. What they share are hints: stale ones do no harm. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BUSY_POLL_NS 100000

/* To be embedded; the fields are busy_poll.c's. */
struct busy_poll {
	atomic_uint reader;   /* thread ID of the last request */
	atomic_uint streak;   /* requests of that reader in a row */
	atomic_uint worth;    /* how often polling found something, lately */
	atomic_uint refusals; /* calls refused because polling is not worth it */
	atomic_flag taken;
};

void busy_poll_init(struct busy_poll *poll);

/* A request of this thread has come; 0: the thread is unknown. */
void busy_poll_request(struct busy_poll *poll, uint32_t reader);

/* Whether the caller should poll. True for one thread at a time; it then calls busy_poll_end(). */
bool busy_poll_begin(struct busy_poll *poll);
void busy_poll_end(struct busy_poll *poll, bool found);
