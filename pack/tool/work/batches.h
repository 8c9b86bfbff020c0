/* Which files of a dataset are read by one request: neighbours, or a piece of one long file. */
#pragma once

#include "pack/dataset.h"

#define BATCH_BYTES ((size_t)(4 * MIB)) /* enough for the sequential rate of any device */
#define BATCH_FILES 256u		/* so that tiny files make many batches, too */

struct batch {
	const uint32_t *files; /* entries; live as long as the batches */
	uint32_t count;	       /* of files, at least 1; exactly 1 where it is a piece */
	bool piece; /* a piece of a file that is longer than a batch; otherwise files are whole */
	bool last;  /* no piece of the file follows; true for whole files */
	uint64_t from;	/* of a piece: its first byte in the file, a multiple of FORMAT_EXTENT */
	uint64_t bytes; /* of the piece, or of all files */
	uint64_t start; /* in the pack */
	size_t len;	/* bytes that it spans there, with gaps; at most BATCH_BYTES */
};

/* Of files in any order; what is not set is 0 at first. */
struct batch_list {
	const struct dataset *dataset;
	const uint32_t *files;
	size_t count, next;
	uint64_t from; /* bytes of the next file that earlier batches have */
};

/* Sorts entries of files or hard links, ascending at first, by the 64 KiB block in which they
 * begin, and within a block by entry. That is the order of reading, and as close to the order of
 * paths as it can be. 0 or -ENOMEM. */
int batch_sort(const struct dataset *dataset, uint32_t *files, size_t count);

/* Takes the next batch; false: there is none. */
bool batch_list_next(struct batch_list *batches, struct batch *ret);

/* The numbers of the extents of the i-th file of a batch that lie in the batch. */
struct batch_extents {
	uint64_t first, count;
};
struct batch_extents batch_extents(const struct dataset *dataset, const struct batch *batch,
				   uint32_t i);
