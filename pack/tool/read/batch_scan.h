/* Reads the files of a pack in many threads, in the order in which their bytes lie there, in
 * batches: neighbours that one read gets, or a piece of one long file.
 *
 * Where a read is a round trip to another machine, batches are read ahead (reads_ahead.h), 64 MiB
 * of them; elsewhere each thread reads its own.
 *
 * Results come in the order of batches, so what a command prints does not depend on the number of
 * threads. */
#pragma once

#include "pack/tool/work/batches.h"

/* --- the bytes of one batch at a time; one reader for each thread ---------------------------- */

/* A batch that is not in the page cache is read past it, by one request, so that reading all of a
 * pack evicts nothing that a training job needs. */
struct batch_reader {
	struct dataset *dataset;
	char *memory;	/* room for a batch, and for the pages in which it begins and ends */
	uint64_t start; /* of what is in memory, in the pack */
	int error;	/* -errno of reading the batch; then each extent is read alone */
	struct read_ahead *ahead; /* NULL: the batch is read when it is asked for */
};

/* Reads a batch. A failure shows in batch_reader_check(). */
void batch_reader_read(struct batch_reader *reader, const struct batch *batch);

/* An extent of the batch, and its bytes, which live until the next read and were compared with
 * their checksum. 0, -errno of reading, or as dataset_check(). */
int batch_reader_check(struct batch_reader *reader, uint64_t number, struct dataset_extent *ret,
		       char **ret_data);

/* --- all batches ----------------------------------------------------------------------------- */

struct batch_scan_params {
	struct dataset *dataset;
	uint32_t *files; /* are sorted: batch_sort() */
	size_t count;
	unsigned jobs;	  /* threads; at least 1 */
	size_t note_size; /* bytes of the result of one batch, a struct of the caller's */
	/* In the caller's thread, in order, before the batch is worked on; may be NULL. `note`
	 * is zeroed. -errno ends it all. */
	int (*begin)(void *context, const struct batch *batch, void *note);
	/* In some thread, `worker` being below jobs. The reader is the thread's own, not read. */
	void (*work)(void *context, unsigned worker, const struct batch *batch,
		     struct batch_reader *reader, void *note);
	/* In the caller's thread, in order. -errno ends it all: done() is not called for batches
	 * that were begun then, worked on or not. */
	int (*done)(void *context, const struct batch *batch, void *note);
	void *context;
};

/* 0, -ENOMEM, -EAGAIN (no thread could be made), or what begin() or done() returned. All threads
 * have ended. */
int batch_scan(const struct batch_scan_params *params);

/* How many threads to use if the user asked for `asked`; 0: the user did not ask. At least 8:
 * reading limits a pack that is not in memory, and disks are faster with many requests at the same
 * time. */
unsigned batch_scan_jobs(uint64_t asked);
