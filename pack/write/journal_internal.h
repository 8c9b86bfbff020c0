/* What journal.c (writing, with a thread) and journal_read.c share: the layout on disk. */
#ifndef PACK_WRITE_JOURNAL_INTERNAL_H
#define PACK_WRITE_JOURNAL_INTERNAL_H

#include "pack/write/journal.h"
#include <pthread.h>

/* Header: magic, u32 version, u32 length of the options, run, options, u64 XXH3-64 of all before.
 * The version changes with the layout, with what foldpack's notes say, and with anything that
 * decides where batches end: a pack that goes on by other rules would not be the one that was
 * begun. */
#define JOURNAL_MAGIC	    "foldjrn\n"
#define JOURNAL_VERSION	    2u
#define JOURNAL_HEADER	    (16 + FORMAT_RUN_BYTES) /* bytes before the options */
#define JOURNAL_OPTIONS_MAX (1u << 20)
#define JOURNAL_SUM	    8

/* Block: u64 length of the records, the checkpoint, records, u64 checksum. */
#define JOURNAL_STATE (56 + 2 * STORE_META_BYTES + FORMAT_KEY_MAX + 1)
#define JOURNAL_BLOCK (8 + JOURNAL_STATE) /* bytes before the records */

/* Record: u8 kind, u8 image, u16 length of the note, u32 count of sums, u64 fingerprint,
 * u64 size, u32 width, u32 height, sums, note, padding: all lie at multiples of 8. */
#define JOURNAL_RECORD	     32
#define JOURNAL_RECORD_IMAGE 1
#define JOURNAL_RECORD_WIDTH 24

struct journal {
	char *path, *options;
	uint8_t run[FORMAT_RUN_BYTES];
	int fd;	  /* -1 until the first checkpoint */
	int pack; /* the caller's */

	struct buf records; /* since the last commit */
	size_t last;	    /* where the last one begins */
	bool full;	    /* a record is missing, as memory was short */

	struct buf block; /* being read */
	size_t record;	  /* the next one in it */
	uint64_t next;	  /* where the block after it lies */
	uint64_t next_chain;
	uint64_t replay_end;

	bool started; /* the thread */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signalled with busy, stop */
	/* Protected by lock: */
	bool busy; /* a checkpoint is handed over and not yet on the disk */
	bool stop;
	int error; /* of the first that failed */
	bool any;  /* `durable` is one */
	struct journal_checkpoint durable;
	/* The thread's own while busy, else the caller's: */
	uint64_t end;	/* of what counts in the file */
	uint64_t chain; /* the checksum of the last block, or of the header */
	struct buf handed;
	struct journal_checkpoint checkpoint;
};

/* A journal without a file. */
int journal_alloc(const struct journal_params *params, struct journal **ret);

static inline size_t journal_padded(size_t len)
{
	return (len + 7) / 8 * 8;
}

uint64_t journal_sum(const void *data, size_t len, uint64_t seed);

#endif
