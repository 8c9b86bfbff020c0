/* Fills copies ahead of their readers: fetches all that is missing of one copy after the other,
 * from the beginning of the pack to its end, if there is room for all of it.
 *
 * Many requests are under way, for all copies together. All come after those that somebody waits
 * for. Of the processes that share a copy, one fills it; when that one ends, or its pass does,
 * another may go on. If the far reader fails, memory is short, or the disk is full, the copy is
 * tried again after a while.
 *
 * block_filler_start() begins the thread, which fills all copies of a disk cache and ends with
 * block_fillers_rest(). Threads: any number may start a filler, or look at it; a filler's other
 * functions are called alone for it, and those of all when all rest. */
#pragma once

#include "base/workers.h"
#include "remote/block_writer.h"

struct block_filler;

struct block_fillers {
	struct workers workers;
	/* Protected by their lock: */
	struct block_filler *first; /* of those that have something to do */
	unsigned under_way;	    /* requests of all */
};

void block_fillers_init(struct block_fillers *fillers);
void block_fillers_release(struct block_fillers *fillers); /* as block_fillers_rest() first */
void block_fillers_rest(struct block_fillers *fillers);

struct block_filler_params {
	struct block_fillers *fillers;
	struct reader *far;
	struct block_store *store;
	struct blocks *blocks;
	struct block_target *target;
};

/* What the parameters name must outlive it. */
int block_filler_new(const struct block_filler_params *params, struct block_filler **ret);
void block_filler_free(struct block_filler *filler); /* NULL is fine */

/* Does nothing if it fills already. If no thread can be started, the filler has failed. */
void block_filler_start(struct block_filler *filler);
/* Waits for its requests; until it is started again, nothing is fetched. */
void block_filler_rest(struct block_filler *filler);

enum block_filler_state {
	FILLER_IDLE, /* not started, or it waits for its turn */
	FILLER_FILLING,
	FILLER_COMPLETE,
	FILLER_ELSEWHERE, /* another process fills the copy, or fetches what is missing */
	FILLER_NO_ROOM,	  /* there is not enough for the whole pack */
	FILLER_FAILED,	  /* the far reader, the disk or the system failed; it will try again,
			     unless there is no thread */
};

/* *ret_error: what the far reader or the system failed with; 0 if neither did. */
enum block_filler_state block_filler_look(struct block_filler *filler, int *ret_error);
