/* The bytes of one batch at a time; one reader for each thread.
 *
 * What is not in the kernel's memory is read past it, by one request a batch: reading all of a
 * pack displaces nothing there that a training job needs, and threads side by side do not look
 * like disorder to the kernel's readahead. What it has, or where this cannot be (a filesystem
 * without direct I/O), is read like any file. */
#ifndef PACK_TOOL_READ_BATCH_READER_H
#define PACK_TOOL_READ_BATCH_READER_H

#include "pack/tool/read/batch.h"

struct batch_reader {
	struct dataset *dataset;
	char *memory;	/* room for a batch and the pages that it ends in */
	char *data;	/* of the batch in hand, in memory */
	uint64_t start; /* of it, in the pack */
	int direct;	/* a descriptor for reading past the kernel's memory; -1: none */
	int error;	/* -errno of reading the batch: then each extent is read by itself */
};

/* 0 or -ENOMEM. */
int batch_reader_init(struct batch_reader *reader, struct dataset *dataset);
void batch_reader_release(struct batch_reader *reader); /* {0} is fine */

/* Reads a batch. A failure shows in batch_reader_extent(). */
void batch_reader_read(struct batch_reader *reader, const struct batch *batch);

/* An extent of the batch, and its bytes, which live until the next read. 0 or -errno. */
int batch_reader_extent(struct batch_reader *reader, uint64_t number, struct dataset_extent *ret,
			char **ret_data);

#endif
