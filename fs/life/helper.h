/* A process that acts for this one, which may not act itself any more (fs/life/sandbox.h). It is a
 * copy of this process without its descriptors but one, blocks the same signals, and ends with it.
 * It may also pass on what this process says to the standard error, as to a terminal. Not
 * thread-safe. */
#pragma once

#include <sys/types.h>

struct helper {
	pid_t pid;
	int socket; /* -1: there is none */
};

#define HELPER_NONE ((struct helper){.socket = -1})

#define HELPER_KEPT 5 /* the number that the descriptor has in the helper that it keeps */

/* Does a task in the helper. Returns 0 or -errno. For its last task, the helper may become another
 * program instead, whose exit status 0 says that the task is done. */
typedef int helper_fn(void *context, char task);

/* Forks, so that no thread may run. The helper sees `context` as it is now, and keeps the
 * descriptor `kept` (-1: none). What can be read from `log_fd` (-1: nothing) goes to the standard
 * error without control characters; all of it, before helper_release() returns. Returns 0 or
 * -errno. */
int helper_start(helper_fn *act, void *context, int log_fd, int kept, struct helper *ret);
/* Has a task done, unless this process is killed before the helper begins. Returns what `act` did,
 * or -EPIPE: the helper has ended, or been killed. */
int helper_ask(const struct helper *helper, char task);
/* Ends it, and waits for its end. */
void helper_release(struct helper *helper);
