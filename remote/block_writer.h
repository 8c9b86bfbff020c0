/* Writes what was read of packs to their copies, in threads of its own, so that readers do not wait
 * for the disk. There is one writer for all copies of a disk cache, so that its memory and threads
 * do not grow with the number of packs.
 *
 * block_writer_take() gives memory for pages; block_writer_put() hands them over. If too much waits
 * to be written, or the disk is full, there is no memory and the pages are left out: a later read
 * fetches them again. The threads begin with the first piece and end with block_writer_rest().
 *
 * If the disk is full or fails, one line says so, and nothing more is written. If the cache may not
 * grow, the writer asks again after a while.
 *
 * Threads: any number at once; block_writer_rest() and block_writer_free() are called alone. */
#pragma once

#include "remote/block_claims.h"
#include "remote/block_store.h"
#include "remote/jobs.h"

struct block_writer;

/* A copy that is written to. */
struct block_target {
	struct block_writer *writer;
	struct blocks *blocks;
	uint64_t waiting;  /* protected by the writer's lock: pieces put and not written */
	uint64_t left_out; /* protected by it: bytes */
};

/* Pages on their way to the copy. */
struct block_piece {
	struct job job;
	void *memory;		     /* at a multiple of READER_PAGE */
	size_t len;		     /* bytes; the caller may lower it. 0: nothing is written */
	uint64_t offset;	     /* in the pack; for both see blocks_write() */
	struct block_claims *claims; /* dropped once it is written or left out; or NULL */
	bool ahead;		     /* the kind of the claim */
	size_t taken;		     /* this and what follows belong to the writer */
	struct block_target *target;
};

/* The store must outlive it. `notice` gets the line; it may be NULL. */
int block_writer_new(struct block_store *store, void (*notice)(const char *line),
		     struct block_writer **ret);
void block_writer_free(struct block_writer *writer); /* after all targets; NULL is fine */

/* NULL: these pages are left out. With `wait`, it waits for memory, and returns NULL only if
 * nothing can be written for now. The target stays until the piece is written. */
struct block_piece *block_writer_take(struct block_target *target, size_t len, uint64_t offset,
				      bool wait);
void block_writer_put(struct block_piece *piece);

/* Returns once all that was put for this copy is written. */
void block_writer_drain(struct block_target *target);

/* Writes what waits, and ends the threads. All that was taken must have been put. */
void block_writer_rest(struct block_writer *writer);

struct block_writer_stats {
	uint64_t left_out; /* bytes of this copy */
	bool full;	   /* the cache may not grow at present */
	bool failed;	   /* the disk was full, or failed */
};
void block_writer_stats(struct block_target *target, struct block_writer_stats *ret);
