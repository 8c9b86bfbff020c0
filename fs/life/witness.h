/* Whether a signal was sent to all of a job, as by `kill -TERM -PGID` or `scancel --full`, and not
 * to this process alone, or to those of its name: the signal itself does not say so. But a process
 * can see it that is in the group, goes by other words than this one, and does nothing but note
 * what it gets: nobody sends one to both who does not send it to COMMAND. */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct witness {
	pid_t pid;		 /* 0: there is none */
	int socket;		 /* it ends when this is closed */
	_Atomic uint64_t *noted; /* by it: when each signal came last */
};

#define WITNESS_NONE ((struct witness){.socket = -1})

/* Forks, so that no thread may run. `signals` are blocked, and those that are noted. Returns 0 or
 * -errno. */
int witness_start(const sigset_t *signals, struct witness *ret);
/* After this process has taken a signal: waits a moment, in which all get it who are to, and takes
 * the same from others who were sent it. Returns whether all were; if there is no witness, false.
 */
bool witness_saw(const struct witness *witness, int signo);
/* Waits for its end. */
void witness_release(struct witness *witness);
