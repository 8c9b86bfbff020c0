/* Whether to stay awake for the next request. Putting a thread to sleep and waking it takes longer
 * than most answers: 20 us and more where an idle processor is halted, as in virtual machines. A
 * reader that is alone waits for that several times a file, while a processor has nothing to do. So
 * the thread that has answered looks for the next request for AWAKE_NS; but not where several
 * readers keep the processors busy, and only now and then where that finds nothing.
 *
 * Any thread may call anything. What they share are hints: nothing breaks where they are stale. */
#ifndef FS_AWAKE_H
#define FS_AWAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define AWAKE_NS 100000

/* To be embedded; the fields are awake.c's. */
struct awake {
	atomic_uint reader;   /* thread ID of the last request */
	atomic_uint streak;   /* requests since another one asked */
	atomic_uint worth;    /* how often it found something of late */
	atomic_uint refusals; /* in a row, since it seldom does */
	atomic_flag taken;
};

void awake_init(struct awake *awake);

/* A request of that thread was received. 0: of nobody known. */
void awake_request(struct awake *awake, uint32_t reader);

/* Whether the caller should look: one at a time, who then calls awake_end(). */
bool awake_begin(struct awake *awake);
void awake_end(struct awake *awake, bool found);

#endif
