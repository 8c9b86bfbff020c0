/* Opens a dataset from parts that the caller has at hand: pack/foreign/. */
#pragma once

#include "pack/dataset.h"

/* As dataset_open(), through a reader that the dataset owns from then on. On failure it stays with
 * the caller. */
int dataset_try_reader(struct reader *reader, struct dataset **ret, struct err *err);

/* What `data` below may read through. */
enum { READS_CONTAINER, READS_MADE, READS_UNPACKED, READS_BELOW };

/* What a dataset is read from when its index is a file of its own: pack/foreign/index_file.h. */
struct dataset_readers {
	struct reader *index;		   /* superblock and sections */
	struct reader *data;		   /* bytes of the files; NULL: not known yet */
	struct reader *below[READS_BELOW]; /* that `data` reads through, or NULL */
	uint64_t stored; /* bytes that are in `data`, if it has more holes than bytes; else 0 */
};

/* For SCOPE(): what is left in it. */
void dataset_readers_release(struct dataset_readers *readers);
/* Opens such a dataset, which owns all of them; on failure they stay with the caller. Returns as
 * dataset_open(). */
int dataset_open_index(struct dataset_readers *readers, struct dataset **ret, struct err *err);
/* Frees it, and gives the readers back. */
void dataset_close_index(struct dataset *dataset, struct dataset_readers *ret);
