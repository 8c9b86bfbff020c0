/* Stopping when asked: SIGINT, SIGTERM and SIGHUP, for commands that have something to clean up.
 *
 * A caught signal sets a flag that the command looks at between two files or reads; it then undoes
 * what it must and ends by interrupt_die(), so that its parent (a shell's loop, Slurm) sees a
 * process that was ended by that signal. A second one kills at once. A signal handler can reach
 * only statics: this is the only one. */
#ifndef PACK_TOOL_CLI_INTERRUPT_H
#define PACK_TOOL_CLI_INTERRUPT_H

/* From now on the signals only set the flag; those that are ignored stay ignored. */
void interrupt_catch(void);

/* The signal that came, or 0. Thread-safe. */
int interrupt_pending(void);

/* Ends the process by that signal. Returns (the status 1) only where none came. */
int interrupt_die(void);

#endif
