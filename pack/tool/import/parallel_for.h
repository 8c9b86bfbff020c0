/* A loop over 0 to count - 1, in several threads where that is faster.
 *
 * The caller's thread begins alone, in order. Once one number has taken longer than waking the
 * others costs, because it waited for a disk or a server, they help: each takes the next number. */
#ifndef PACK_TOOL_IMPORT_PARALLEL_FOR_H
#define PACK_TOOL_IMPORT_PARALLEL_FOR_H

#include <stddef.h>
#include <stdint.h>

struct parallel_for;

struct parallel_for_params {
	unsigned threads;     /* with the caller's; at least 1 */
	uint64_t patience_ns; /* that one thing may take before the others are called */
	/* In any of the threads. */
	void (*work)(void *context, size_t number);
	void *context;
};

/* Threads are made when they are first called, as many as can be. 0 or -ENOMEM. */
int parallel_for_new(const struct parallel_for_params *params, struct parallel_for **ret);
void parallel_for_free(struct parallel_for *parallel);

/* Works on 0 to count - 1, and returns when all are done. */
void parallel_for_run(struct parallel_for *parallel, size_t count);

#endif
