/* Short pieces of work for a few threads: reads and writes of a local disk.
 *
 * The threads begin with the first job, and end with jobs_rest(). Jobs that somebody waits for are
 * begun before those that nobody waits for yet.
 *
 * Threads: any number may call jobs_add(), also a job; jobs_rest() and jobs_free() are called
 * alone. */
#ifndef REMOTE_JOBS_H
#define REMOTE_JOBS_H

#include "base/reader.h"

struct jobs;

/* Belongs to who adds it; stays as it is until it runs. */
struct job {
	void (*run)(struct job *job);
	const struct reader_request *request; /* that it is for, see reader_ahead(), or NULL */
	struct job *next;		      /* theirs */
};

int jobs_new(unsigned threads, struct jobs **ret);
void jobs_free(struct jobs *jobs); /* after jobs_rest(); NULL is fine */

/* Where no thread can be had, the job runs at once. */
void jobs_add(struct jobs *jobs, struct job *job);

/* Runs what was added, and ends the threads. */
void jobs_rest(struct jobs *jobs);

#endif
