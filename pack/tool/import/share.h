/* Many small things to do, in as many threads as it takes.
 *
 * The caller's thread does them, in order. Once one has taken longer than the others' help would
 * cost, as an answer of a disk or a server does, they help: each takes the next number. */
#ifndef PACK_TOOL_IMPORT_SHARE_H
#define PACK_TOOL_IMPORT_SHARE_H

#include <stddef.h>
#include <stdint.h>

struct share;

struct share_params {
	unsigned threads;     /* with the caller's; at least 1 */
	uint64_t patience_ns; /* that one thing may take before the others are called */
	/* In any of the threads. */
	void (*work)(void *context, size_t number);
	void *context;
};

/* Threads are made when they are first called, as many as can be. 0 or -ENOMEM. */
int share_new(const struct share_params *params, struct share **ret);
void share_free(struct share *share);

/* Does 0 to count - 1, and returns when all are done. */
void share_run(struct share *share, size_t count);

#endif
