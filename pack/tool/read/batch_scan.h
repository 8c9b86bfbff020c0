/* Reads the files of a pack in many threads, in the order in which their bytes lie there, in
 * batches: neighbours that one read gets, or a piece of one long file.
 *
 * Files are sorted by the 64 KiB block in which they begin, and within a block by entry. That is
 * the order of reading, and as close to the order of paths as it can be. Results come in the order
 * of batches, so what a command prints does not depend on the number of threads. */
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

struct batch_list {
	const struct dataset *dataset;
	const uint32_t *files;
	size_t count, next;
	uint64_t from; /* bytes of the next file that earlier batches have */
};

/* Makes batches of `files`: entries of files or hard links, ascending. They are sorted in place,
 * and borrowed. 0 or -ENOMEM. */
int batch_list_init(struct batch_list *batches, const struct dataset *dataset, uint32_t *files,
		    size_t count);

/* Takes the next batch; false: there is none. */
bool batch_list_next(struct batch_list *batches, struct batch *ret);

/* The numbers of the extents of the i-th file of a batch that lie in the batch. */
struct batch_extents {
	uint64_t first, count;
};
struct batch_extents batch_extents(const struct dataset *dataset, const struct batch *batch,
				   uint32_t i);

/* --- the bytes of one batch at a time; one reader for each thread ---------------------------- */

/* A batch that is not in the page cache is read past it, by one request, so that reading all of a
 * pack evicts nothing that a training job needs. */
struct batch_reader {
	struct dataset *dataset;
	char *memory;	/* room for a batch, and for the pages in which it begins and ends */
	uint64_t start; /* of what is in memory, in the pack */
	int error;	/* -errno of reading the batch; then each extent is read alone */
};

/* Reads a batch. A failure shows in batch_reader_extent(). */
void batch_reader_read(struct batch_reader *reader, const struct batch *batch);

/* An extent of the batch, and its bytes, which live until the next read. 0 or -errno. */
int batch_reader_extent(struct batch_reader *reader, uint64_t number, struct dataset_extent *ret,
			char **ret_data);

/* The same; also compares the extent with its checksum: as dataset_check(). */
int batch_reader_check(struct batch_reader *reader, uint64_t number, struct dataset_extent *ret,
		       char **ret_data);

/* --- all batches ----------------------------------------------------------------------------- */

struct batch_scan_params {
	struct dataset *dataset;
	uint32_t *files; /* as batch_list_init() has them */
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
 * reading limits a pack that is not in memory, and disks and servers are faster with many requests
 * at the same time. */
unsigned batch_scan_jobs(uint64_t asked);
