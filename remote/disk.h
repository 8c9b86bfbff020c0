/* A disk cache as the copies in it share it: its folder, the threads that read and write them, the
 * memory for what waits to be written, and what is filled ahead. None of this grows with the number
 * of packs.
 *
 * If too much waits to be written, there is no memory, and pages are left out: a later read fetches
 * them again. If the disk is full or fails, one line says so, and nothing more is written. If the
 * cache may not grow, it is tried again after a while.
 *
 * Threads: any number at once; disk_rest(), disk_release() and disk_fill_rest() are called alone,
 * the last one for its copy. */
#pragma once

#include "base/err.h"
#include "base/workers.h"
#include "remote/block_store.h"

/* Short pieces of work for a few threads, which begin with the first one. */
struct jobs {
	struct workers workers;
	struct job *first, **last; /* protected by the lock of the workers */
};

struct reader_blocks;

struct disk {
	struct block_store *store;
	void (*notice)(const char *line);
	atomic_bool logged; /* that a copy cannot be used */
	struct jobs reads;  /* from copies */
	struct jobs writes; /* to them */
	struct workers filler;

	/* Protected by the filler's lock, whose `changed` says when something is: */
	uint64_t memory;     /* bytes taken */
	bool asks;	     /* a thread asks the folder for room */
	uint64_t room;	     /* bytes that may be written before the folder is asked again */
	uint64_t writing;    /* of these, bytes being written: the folder does not see them */
	uint64_t full_until; /* ns */
	bool failed;	     /* the disk was full, or failed */
	struct reader_blocks *readers; /* all: reader_blocks_next() */
	struct disk_fill *first;       /* of those that have something to do */
	unsigned under_way;	       /* requests of all */
};

/* `spec`: see block_store_open(). `notice` gets lines for the user; it may be NULL. The struct
 * stays where it is. Returns 0 or -errno with a sentence. */
int disk_open(const char *spec, void (*notice)(const char *line), struct disk *ret,
	      struct err *err);
/* After all readers of its copies. A disk that is all zero, or was not opened, is fine. */
void disk_release(struct disk *disk);

/* Ends the threads, as before a fork, once all that was read is written. All readers must rest. The
 * next read starts them again. */
void disk_rest(struct disk *disk);

/* Belongs to the caller, and must not change until it runs. */
struct job {
	void (*run)(struct job *job);
	const struct reader_request
		*request; /* the request that it serves, for reader_ahead(); or NULL */
	uint64_t due;	  /* disk.c's, as what follows */
	struct job *next;
};

/* Jobs that somebody waits for come before those that nobody waits for yet. If no thread can be
 * made, the job runs at once. */
void jobs_add(struct jobs *jobs, struct job *job);
/* To run at a time, ns, or some milliseconds after it. Returns false if there is no thread. */
bool jobs_add_later(struct jobs *jobs, struct job *job, uint64_t due);

/* Memory for so many bytes of whole pages, which will be written; NULL: they are left out. */
void *disk_take(struct disk *disk, size_t len);
void disk_give_back(struct disk *disk, void *memory, size_t len); /* NULL is fine */

/* Writes pages to a copy, see blocks_write(), if there is room. Returns whether it did. */
bool disk_write(struct disk *disk, struct blocks *blocks, const void *memory, size_t len,
		uint64_t offset);

/* Says once why there is no copy. */
void disk_say_unused(struct disk *disk, int error);

/* --- what is filled ahead ---------------------------------------------------------------------
 *
 * All that is missing of a copy is fetched, from the beginning of the pack to its end, if there is
 * room for all of it. Many requests are under way, for all copies together, and all come after
 * those that somebody waits for. Of the processes that share a copy, one fills it; when that one
 * ends, or its pass does, another may go on. If the far reader fails, memory is short, or the disk
 * is full, the copy is tried again after a while. */

enum disk_fill_state {
	FILL_IDLE, /* not started, or it waits for its turn */
	FILL_FILLING,
	FILL_COMPLETE,
	FILL_ELSEWHERE, /* another process fills the copy, or fetches what is missing */
	FILL_NO_ROOM,	/* there is not enough for the whole pack */
	FILL_FAILED,	/* the far reader, the disk or the system failed; it will try again, unless
			   there is no thread */
};

/* A zeroed one, with the first three. The copy ends after it. */
struct disk_fill {
	struct disk *disk;
	struct blocks *blocks;
	/* Fetches and writes pages that were taken (blocks_take()), and leaves them. Then, with the
	 * result, disk_fill_fetched() is due. Returns 0 or -errno: nothing of this was done. */
	int (*fetch)(struct disk_fill *fill, uint64_t begin, uint64_t end);

	/* Protected by the filler's lock: */
	struct disk_fill *next;
	bool listed;	    /* the thread knows it */
	uint64_t due;	    /* of the next pass, ns */
	unsigned under_way; /* requests of a pass, and the thread that makes them; 0: in none */
	int error;	    /* the last one of this pass */
	enum disk_fill_state state;
};

/* Does nothing if it fills already. If no thread can be started, it has failed. */
void disk_fill_start(struct disk_fill *fill);
void disk_fill_fetched(struct disk_fill *fill, int error);
/* Waits for its requests; until it is started again, nothing is fetched. */
void disk_fill_rest(struct disk_fill *fill);
