/* Many small things to do, in as many threads as it takes.
 *
 * The caller's thread does them, in order. Once one has taken longer than the others' help would
 * cost, as an answer of a disk or a server does, they help: each takes the next number. */
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

/* Does 0 to count - 1, and returns when all are done. */
void parallel_for_run(struct parallel_for *parallel, size_t count);

#endif
