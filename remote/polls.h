/* What waits for others, in one thread for all: each is asked again and again, every millisecond,
 * whether its wait is over.
 *
 * The thread begins with the first and ends with polls_rest().
 *
 * Threads: any number may call polls_add(). polls_rest() and polls_release() are called
 * alone. */
#pragma once

#include "base/workers.h"

/* Belongs to the caller, and must not change until it is over. */
struct poll_wait {
	/* Returns whether it is over; then the wait is the caller's again, who may have freed it.
	 * Must not wait itself. */
	bool (*is_over)(struct poll_wait *wait);
	struct poll_wait *next; /* polls.c's */
};

struct polls {
	struct workers workers;
	struct poll_wait *first; /* protected by the lock of the workers */
};

void polls_init(struct polls *polls);
void polls_release(struct polls *polls); /* as polls_rest() first */

/* Returns 0 or -errno: there is no thread. */
int polls_add(struct polls *polls, struct poll_wait *wait);

/* Waits until all waits are over, and ends the thread. */
void polls_rest(struct polls *polls);
