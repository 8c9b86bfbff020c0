/* Goes through the files of a pack, batch by batch, in many threads: for commands that read
 * much of it. What comes of a batch is handed over in the order of batches, so that what a
 * command says does not depend on how many threads there are. */
#ifndef PACK_TOOL_READ_BATCH_SCAN_H
#define PACK_TOOL_READ_BATCH_SCAN_H

#include "pack/tool/read/batch_reader.h"

struct batch_scan_params {
	struct dataset *dataset;
	uint32_t *files; /* as batch_list_new() has them */
	size_t count;
	unsigned jobs;	  /* threads; at least 1 */
	size_t note_size; /* bytes for what comes of one batch: a struct of the caller's */
	/* In the caller's thread, in order, before the batch is worked on; may be NULL. `note`
	 * is zeroed. -errno ends it all. */
	int (*begin)(void *context, const struct batch *batch, void *note);
	/* In some thread, `worker` being below jobs. The reader is the thread's own, not read. */
	void (*work)(void *context, unsigned worker, const struct batch *batch,
		     struct batch_reader *reader, void *note);
	/* In the caller's thread, in order. -errno ends it all: batches that were begun may
	 * have been worked on or not; done() is not called for them. */
	int (*done)(void *context, const struct batch *batch, void *note);
	void *context;
};

/* 0, -ENOMEM, -EAGAIN (no thread could be made), or what begin() or done() returned. No thread
 * is left behind. */
int batch_scan(const struct batch_scan_params *params);

/* How many threads to take where the user asked for `asked`, 0: for none. Reading is what takes
 * the time where the pack is not in memory, and disks and servers are faster when asked for much
 * at once: more than there are processors. */
unsigned batch_scan_jobs(uint64_t asked);

#endif
