/* A loop over 0 to count - 1, in several threads where that is faster.
 *
 * The caller's thread begins alone, in order. Once a number has taken longer than starting threads
 * would, because it waited for a disk or a server, other threads help: each takes the next number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct parallel_for {
	unsigned threads;     /* including the caller's; 1 to 256, more counts as 256 */
	uint64_t patience_ns; /* how long a number may take before other threads help */
	/* Called in any of the threads. */
	void (*work)(void *context, size_t number);
	void *context;
};

/* Runs `work` for 0 to count - 1. Returns when all are done. */
void parallel_for_run(const struct parallel_for *parallel, size_t count);
