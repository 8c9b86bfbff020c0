/* Short pieces of work for a few threads: reads and writes on a local disk.
 *
 * The threads begin with the first job and end with jobs_rest(). Jobs that somebody waits for come
 * before those that nobody waits for yet.
 *
 * Threads: any number may call jobs_add(), and so may a job. jobs_rest() and jobs_release() are
 * called alone. */
#pragma once

#include "base/reader.h"
#include "base/workers.h"

/* Belongs to the caller, and must not change until it runs. */
struct job {
	void (*run)(struct job *job);
	const struct reader_request
		*request; /* the request that it serves, for reader_ahead(); or NULL */
	uint64_t due;	  /* jobs.c's, as what follows */
	struct job *next;
};

struct jobs {
	struct workers workers;
	struct job *first, **last; /* protected by the lock of the workers */
};

void jobs_init(struct jobs *jobs, unsigned threads);
void jobs_release(struct jobs *jobs); /* as jobs_rest() first */

/* If no thread can be made, the job runs at once. */
void jobs_add(struct jobs *jobs, struct job *job);
/* To run at a time, ns, or some milliseconds after it. Returns false if there is no thread. */
bool jobs_add_later(struct jobs *jobs, struct job *job, uint64_t due);

/* Runs all that was added, and ends the threads. */
void jobs_rest(struct jobs *jobs);
