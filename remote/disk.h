/* A disk cache as the copies in it share it: its folder, the threads that read and write them, the
 * memory for what waits to be written, and what is filled ahead. None of this grows with the number
 * of packs.
 *
 * If too much waits to be written, there is no memory, and pages are left out: a later read fetches
 * them again. If the disk is full or fails, one line says so, and nothing more is written. If the
 * cache may not grow, it is tried again after a while.
 *
 * Threads: any number at once; disk_rest() and disk_release() are called alone. */
#pragma once

#include "base/err.h"
#include "remote/block_store.h"
#include "remote/jobs.h"

struct disk {
	struct block_store *store;
	void (*notice)(const char *line);
	atomic_bool said;      /* that a copy cannot be used */
	struct jobs reads;     /* from copies */
	struct jobs writes;    /* to them */
	struct workers filler; /* block_filler.h */

	/* Protected by the filler's lock, whose `changed` says when something is: */
	uint64_t memory;     /* bytes taken */
	bool asks;	     /* a thread asks the folder for room */
	uint64_t room;	     /* bytes that may be written before the folder is asked again */
	uint64_t writing;    /* of these, bytes being written: the folder does not see them */
	uint64_t full_until; /* ns */
	bool failed;	     /* the disk was full, or failed */
	struct block_filler *first; /* of those that have something to do */
	unsigned under_way;	    /* requests of all */
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

/* Memory for so many bytes of whole pages, which will be written; NULL: they are left out. */
void *disk_take(struct disk *disk, size_t len);
void disk_give_back(struct disk *disk, void *memory, size_t len); /* NULL is fine */

/* Writes pages to a copy, see blocks_write(), if there is room. Returns whether it did. */
bool disk_write(struct disk *disk, struct blocks *blocks, const void *memory, size_t len,
		uint64_t offset);

/* Whether nothing is written at present. Called with the filler's lock held. */
bool disk_is_off(const struct disk *disk);

/* Says once why there is no copy. */
void disk_say_unused(struct disk *disk, int error);
