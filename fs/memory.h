/* How much memory this process can use: of the machine, and of the cgroups (v1, v2 or both) that it
 * is in, each of which can have a limit.
 *
 * Each call reads about ten small files of /proc and /sys: limits change and processes are moved.
 * What cannot be read sets no limit. Thread-safe. */
#ifndef FS_MEMORY_H
#define FS_MEMORY_H

#include <stdint.h>

struct memory {
	uint64_t total;	    /* bytes the machine has */
	uint64_t limit;	    /* the least of the groups; UINT64_MAX: none below total */
	uint64_t available; /* without swapping or killing; page cache that can go counts */
};

/* `root` is put before /proc and /sys: "" for the real ones, a directory for tests. */
void memory_read(const char *root, struct memory *ret);

/* Of the real ones. Available is never over the limit, so that a quarter of the one is at most
 * a quarter of the other. */
uint64_t memory_available(void);

#endif
