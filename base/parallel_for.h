/* A loop over 0 to count - 1, in several threads where that is faster.
 *
 * The caller's thread begins alone, in order. Once one number has taken longer than it costs to
 * start threads, because it waited for a disk or a server, others help: each takes the next number.
 */
#ifndef BASE_PARALLEL_FOR_H
#define BASE_PARALLEL_FOR_H

#include <stddef.h>
#include <stdint.h>

struct parallel_for {
	unsigned threads;     /* with the caller's; at least 1; above 256 is 256 */
	uint64_t patience_ns; /* that one number may take before the others help */
	/* In any of the threads. */
	void (*work)(void *context, size_t number);
	void *context;
};

/* Works on 0 to count - 1, and returns when all are done. */
void parallel_for_run(const struct parallel_for *parallel, size_t count);

#endif
