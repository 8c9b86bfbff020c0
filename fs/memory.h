/* How much memory this process can use: of the machine, and of the cgroups (v1, v2 or both) that it
 * is in. Each of them can have a limit.
 *
 * Each call reads about ten small files in /proc and /sys, because limits change and processes are
 * moved. What cannot be read sets no limit. Thread-safe. */
#pragma once

#include <stdint.h>

struct memory {
	uint64_t total;	    /* bytes the machine has */
	uint64_t limit;	    /* the lowest limit of the groups; UINT64_MAX: none below total */
	uint64_t available; /* without swapping or killing; includes droppable page cache */
};

/* `root` is put before /proc and /sys: "", or a directory in tests. */
void memory_read(const char *root, struct memory *ret);

/* `available` of the real /proc and /sys. It is never above the limit. */
uint64_t memory_available(void);
