/* Stops on SIGINT, SIGTERM and SIGHUP, for commands that have something to clean up.
 *
 * A caught signal sets a flag. The command looks at it between two files or reads, and undoes what
 * it must. Then it ends by interrupt_die(), so that its parent (a loop of a shell, Slurm) sees a
 * process that was ended by that signal. More signals are the same wish, as timeout(1) and shells
 * send it twice; where one comes five seconds after the first, something hangs, and it kills at
 * once. A signal handler can reach only static variables: these are the only ones.
 *
 * Signals come to a thread that does nothing else. The one that the kernel would give them to, the
 * main one, may hang in a read of a mount that no signal but a deadly one ends (FUSE, NFS). */
#pragma once

#include "base/clock.h"
#include <stdbool.h>

/* From the first signal on, until more kill. */
#define INTERRUPT_GRACE (5 * CLOCK_SECOND)

/* From now on the signals only set the flag; those that are ignored stay ignored. */
void interrupt_catch(void);

/* From now on they end the process again, as while there is nothing to clean up. */
void interrupt_let(void);

/* The signal that came, or 0. Thread-safe. */
int interrupt_pending(void);
/* Whether one came, for callbacks. Thread-safe. */
bool interrupt_came(void *unused);

/* Ends the process by that signal. Returns (the status 1) only if there was none. */
int interrupt_die(void);
/* Ends it by this one, as a child of it ended. */
int interrupt_die_by(int signal_number);
