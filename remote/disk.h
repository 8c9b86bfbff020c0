/* A disk cache as the copies in it share it: its folder, the threads that read and write them, the
 * memory for what waits to be written, and the requests of what is filled ahead. None of this grows
 * with the number of packs.
 *
 * Threads: any number at once; disk_rest() and disk_release() are called alone. */
#pragma once

#include "base/err.h"
#include "remote/block_filler.h"
#include "remote/block_store.h"
#include "remote/block_writer.h"
#include "remote/jobs.h"
#include "remote/polls.h"

struct disk {
	struct block_store *store;
	struct block_writer *writer;
	struct block_fillers fillers;
	struct jobs reads;  /* from copies */
	struct polls waits; /* for what others fetch */
	void (*notice)(const char *line);
	atomic_bool said; /* that a copy cannot be used */
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
