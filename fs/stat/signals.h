/* Signals that are waited for instead of caught. */
#ifndef FS_STAT_SIGNALS_H
#define FS_STAT_SIGNALS_H

#include <signal.h>
#include <stddef.h>

/* Blocks these signals, except for those that are ignored (nohup): whoever waits for a signal would
 * get it all the same. Returns those that were blocked. */
sigset_t signals_block(const int *numbers, size_t count);

#endif
