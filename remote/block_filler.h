/* Fills copies ahead of their readers: fetches all that is missing of each, from the beginning of
 * the pack to its end, if there is room for all of it.
 *
 * Many requests are under way, for all copies together. All come after those that somebody waits
 * for. Of the processes that share a copy, one fills it; when that one ends, or its
 * pass does, another may go on. If the far reader fails, memory is short, or the disk is full, the
 * copy is tried again after a while.
 *
 * block_filler_start() begins the thread, one for all copies of a disk cache. Threads: any number
 * may start a filler, or look at it; block_filler_rest() is called alone for it. */
#pragma once

#include "base/reader.h"
#include "remote/disk.h"

enum block_filler_state {
	FILLER_IDLE, /* not started, or it waits for its turn */
	FILLER_FILLING,
	FILLER_COMPLETE,
	FILLER_ELSEWHERE, /* another process fills the copy, or fetches what is missing */
	FILLER_NO_ROOM,	  /* there is not enough for the whole pack */
	FILLER_FAILED,	  /* the far reader, the disk or the system failed; it will try again,
			     unless there is no thread */
};

/* A zeroed one, with the first three. The copy ends after it. */
struct block_filler {
	struct disk *disk;
	struct blocks *blocks;
	/* Fetches and writes pages that were taken (blocks_take()), and leaves them. Then, with the
	 * result, block_filler_fetched() is due. Returns 0 or -errno: nothing of this was done. */
	int (*fetch)(struct block_filler *filler, uint64_t begin, uint64_t end);

	/* Protected by the lock of disk->filler: */
	struct block_filler *next;
	bool listed, busy; /* the thread knows it; works on it */
	bool on;	   /* in a pass */
	uint64_t due;	   /* of the next step, ns */
	uint64_t at;	   /* what comes next in the pass; blocks_size(): nothing */
	unsigned under_way;
	int error; /* the last one of this pass */
	enum block_filler_state state;
};

/* Does nothing if it fills already. If no thread can be started, the filler has failed. */
void block_filler_start(struct block_filler *filler);
void block_filler_fetched(struct block_filler *filler, int error);
/* Waits for its requests; until it is started again, nothing is fetched. */
void block_filler_rest(struct block_filler *filler);
/* *ret_error: what the far reader or the system failed with; 0 if neither did. */
enum block_filler_state block_filler_look(struct block_filler *filler, int *ret_error);

bool block_filler_step(void *disk); /* a workers_step_fn: what the thread does */
