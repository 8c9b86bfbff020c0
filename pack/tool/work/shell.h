/* A command of the user, run by the shell. It reads nothing, has no terminal, and what it writes to
 * either output is not shown. A signal that asks foldpack to stop (interrupt.h) is passed on to it
 * and to the programs that it runs; where foldpack dies, it goes on until it writes. */
#pragma once

#define SHELL_SAID 4096 /* bytes, with the NUL, of what it wrote that are kept: the last ones */

/* Runs `sh -c COMMAND` with `argument` as $1, and awaits its end. Returns its status,
 * as waitpid(2) gives it, or -errno: it was not run. Any thread. */
int shell_run(const char *command, const char *argument, char ret_said[SHELL_SAID]);
