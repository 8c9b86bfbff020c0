/* Starts a program, and ends it. */
#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>

/* Who neither reads nor writes for so long, though it should, hangs. */
#define SPAWN_PATIENCE_MS 600000

/* One that reads nothing. execvp(3) finds it. `files` become its descriptors from 1 on; flags:
 * POSIX_SPAWN_SETPGROUP, POSIX_SPAWN_SETSID, or 0. No signal is blocked in it, and those that
 * foldfs ignores for itself do as ever. Returns 0 or -errno. */
int spawn_program(const char *const argv[], const int *files, size_t count, short flags,
		  pid_t *ret);
/* The same of one that reads `input`, writes `output`, and leads a group of processes. */
int spawn_coprocess(const char *const argv[], int input, int output, pid_t *ret);

/* Of one that leads a group, as a script around the program that it is named for: awaits its end,
 * or kills it, and kills what else is in its group. Returns its status as wait(2) has it. */
int spawn_await(pid_t leader);
int spawn_kill(pid_t leader);
/* Whether somebody ended it by a signal, as a batch system ends all of a job: that says nothing of
 * what it was reading. */
bool spawn_was_ended(int status);
