/* Writes what was read of a pack to its copy, off the path of those who wait for it.
 *
 * block_writer_take() gives memory for pages, unless so much waits to be written, or the disk is so
 * full, that these are better left out: a later read brings them again. block_writer_put() hands
 * them over. The threads begin with the first piece, and end with block_writer_rest().
 *
 * Where the disk is full or fails, one line says so, and nothing more is written. Where the cache
 * may not grow, it is asked again after a while.
 *
 * Threads: any number at once; block_writer_rest() and block_writer_free() are called alone. */
#ifndef REMOTE_BLOCK_WRITER_H
#define REMOTE_BLOCK_WRITER_H

#include "remote/block_claims.h"
#include "remote/block_store.h"
#include "remote/jobs.h"

struct block_writer;

/* Pages on their way to the copy. */
struct block_piece {
	struct job job;
	void *memory;		     /* at a multiple of READER_PAGE */
	size_t len;		     /* bytes; may be made less. 0: nothing is written */
	uint64_t offset;	     /* in the pack; both see blocks_write() */
	struct block_claims *claims; /* are dropped when it is written or left out; or NULL */
	size_t taken;		     /* this and the next: the writer's */
	struct block_writer *writer;
};

/* Store and copy must outlive it. `notice` gets the line; NULL: nobody does. */
int block_writer_new(struct block_store *store, struct blocks *blocks,
		     void (*notice)(const char *line), struct block_writer **ret);
void block_writer_free(struct block_writer *writer); /* NULL is fine */

/* NULL: these are left out. With `wait`, only because nothing can be written for now. */
struct block_piece *block_writer_take(struct block_writer *writer, size_t len, uint64_t offset,
				      bool wait);
void block_writer_put(struct block_writer *writer, struct block_piece *piece);

/* Writes what waits, and ends the threads. What was taken has been put. */
void block_writer_rest(struct block_writer *writer);
/* Returns when all that was put is written. */
void block_writer_drain(struct block_writer *writer);

struct block_writer_stats {
	uint64_t left_out; /* bytes */
	bool full;	   /* the cache may not grow at present */
	bool failed;	   /* the disk was full, or failed */
};
void block_writer_stats(struct block_writer *writer, struct block_writer_stats *ret);

#endif
