/* The files of a pack in the order in which their bytes lie there, cut into batches: neighbours
 * that come with one read, or a piece of one long file.
 *
 *	batch_list_new -> batch_list_next ... -> batch_list_free
 *
 * Files are put in the order of the 64 KiB blocks that they begin in, and within one of these
 * stay in the order of their entries: that is the order of reading, and as near to that of paths
 * as it can be. pack/tool/read/batch_reader.h reads a batch. Pure: bytes are read by nobody here.
 */
#ifndef PACK_TOOL_READ_BATCH_H
#define PACK_TOOL_READ_BATCH_H

#include "pack/dataset.h"

#define BATCH_BYTES ((size_t)(4 * MIB)) /* enough for the sequential rate of any device */
#define BATCH_FILES 256u		/* so that tiny files are many batches, too */

struct batch {
	const uint32_t *files; /* entries; live as long as the batches */
	uint32_t count;	       /* of files, at least 1; exactly 1 where it is a piece */
	bool piece;	/* of a file that is longer than a batch; otherwise files are whole */
	bool last;	/* no piece of the file follows; true where it is none */
	uint64_t from;	/* of a piece: its first byte in the file, a multiple of extents */
	uint64_t bytes; /* of the piece, or of all files */
	uint64_t start; /* in the pack */
	size_t len;	/* that it spans there, gaps included; at most BATCH_BYTES */
};

struct batch_list;

/* Of `files`, entries that are files or other names of some, ascending: put in order where they
 * are, and borrowed. 0 or -ENOMEM. */
int batch_list_new(const struct dataset *dataset, uint32_t *files, size_t count,
		   struct batch_list **ret);
void batch_list_free(struct batch_list *batches);

/* Whether there is another batch. */
bool batch_list_next(struct batch_list *batches, struct batch *ret);

/* The numbers of the extents of a batch's i-th file that lie in the batch. */
struct batch_extents {
	uint64_t first, count;
};
struct batch_extents batch_extents(const struct dataset *dataset, const struct batch *batch,
				   uint32_t i);

#endif
