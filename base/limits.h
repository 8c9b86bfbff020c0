/* What a program asks of the limits that its shell or batch system gave it (ulimit). */
#pragma once

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* To be called first. From then on a write beyond `ulimit -f` fails with EFBIG, where it would end
 * the program by SIGXFSZ, and threads have enough stack, whatever `ulimit -s` says. -ERANGE: that
 * leaves the main thread too little. */
int limits_begin(struct err *err);

/* As they were, for programs that it starts. */
struct limits {
	struct rlimit files, size;
};

/* Allows as many open files as it may: trees may be deep, and sets of many packs. */
void limits_raise_files(struct limits *ret);
/* Allows files as large as it may, for those in memory, which count too. Returns how large, in
 * bytes. */
uint64_t limits_raise_size(void);
void limits_give_back(const struct limits *limits);

/* The last quarter of the files that may be open is for those that it cannot do without.
 * limits_spare_files(): how many are in that quarter; _is_spare(): whether a descriptor is. */
uint64_t limits_spare_files(void);
bool limits_is_spare(int fd);
/* How many may still be opened: those that are open have the lowest numbers. */
uint64_t limits_files_left(void);

/* For a process that takes what it serves from all who use it, should it be killed for lack of
 * memory: the kernel is to count half of the memory less for it when it looks for a process to
 * kill. That takes a privilege, and what somebody has set stays. Processes inherit it. */
void limits_avoid_oom_killer(void);
