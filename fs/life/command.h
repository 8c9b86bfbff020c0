/* COMMAND of the form 'foldfs PACK MOUNTPOINT -- COMMAND'. Its process is forked before this one
 * enters the sandbox and starts threads, and runs COMMAND once the mount is usable. */
#pragma once

#include "base/limits.h"
#include "fs/life/witness.h"

struct command {
	pid_t pid; /* 0: none, or it has ended */
	int gate;  /* a socket that it waits at; -1: it has begun */
	struct witness witness;
};

#define COMMAND_NONE ((struct command){.gate = -1, .witness = WITNESS_NONE})

/* Called in its process before it waits, with its end of the gate. */
typedef void command_fn(int gate, void *context);

/* COMMAND gets the default for these signals, and none is blocked; and these limits.
 * `first`: NULL, nothing is called. If it cannot be run, its process says so and ends with the
 * status of the shell: 127 or 126. Returns 0 or -errno. */
int command_fork(struct command *command, char *const argv[], const sigset_t *signals,
		 const struct limits *limits, command_fn *first, void *context);
void command_begin(struct command *command);
/* Ends one that has not begun. */
void command_cancel(struct command *command);

/* Passes on one of `signals` that this process has taken, unless COMMAND got it, too. */
void command_signal(const struct command *command, const siginfo_t *info);
/* Takes children that have ended: COMMAND, or all. Returns whether COMMAND has, and its status as
 * the shell says it. */
bool command_reap(struct command *command, bool all, int *ret_status);
