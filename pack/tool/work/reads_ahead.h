/* Reads of a remote reader that are under way while their owner does something else.
 *
 *	reads_ahead_init -> reads_ahead_begin (any number) -> reads_ahead_wait (in any thread)
 *	                 -> reads_ahead_end (each) -> reads_ahead_release
 *
 * No thread waits for one that is not needed yet, so that threads do not limit how many there are:
 * the owner bounds their bytes. */
#pragma once

#include "base/reader.h"
#include <pthread.h>

struct reads_ahead {
	struct reader *reader;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned under_way; /* protected by lock */
};

/* To be embedded; the fields are reads_ahead.c's. */
struct read_ahead {
	struct reads_ahead *all;
	struct reader_request request;
	struct iovec iov;
	bool ended; /* protected by the lock of all */
	int error;  /* the same */
};

/* `reader` is prepared. */
void reads_ahead_init(struct reads_ahead *all, struct reader *reader);
/* Gives up what is under way, as reader_cancel(): who waits for it waits for no second try. */
void reads_ahead_cancel(struct reads_ahead *all);
/* The same, and waits until it has ended; reads_ahead_end() is due still. */
void reads_ahead_release(struct reads_ahead *all);

/* Begins to read whole pages into `memory`, which has room for them; `needed` bytes must be there,
 * as with reader_read(). *read and the memory stay where they are until reads_ahead_end(). */
void reads_ahead_begin(struct reads_ahead *all, struct read_ahead *read, void *memory,
		       uint64_t offset, uint64_t needed);

/* 0, the error of the read, or -EINTR (interrupt.h): then it may be under way. */
int reads_ahead_wait(struct read_ahead *read);

/* What was read is not needed any more. To be called once, after the read has ended. `right`: as
 * reader_settle(). */
void reads_ahead_end(struct read_ahead *read, bool right);
