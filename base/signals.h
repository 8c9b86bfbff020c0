/* Signals that are waited for instead of caught, and threads that get none. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether this process ignores it, as one that nohup(1) started does SIGHUP. */
static inline bool signals_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Blocks these signals, except for those that are ignored: whoever waits for a signal would get it
 * all the same. Returns those that were blocked. */
sigset_t signals_block(const int *numbers, size_t count);

/* Blocks none, in a child that is to become another program. */
void signals_unblock(void);

/* As pthread_create(), for a thread that gets no signal. Returns 0 or -errno. */
int thread_without_signals(pthread_t *ret, void *(*run)(void *), void *arg);
