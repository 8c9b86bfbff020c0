/* Short pieces of work for a few threads: reads and writes on a local disk.
 *
 * The threads begin with the first job and end with jobs_rest(). Jobs that somebody waits for come
 * before those that nobody waits for yet.
 *
 * Threads: any number may call jobs_add(), and so may a job. jobs_rest() and jobs_free() are called
 * alone. */
#pragma once

#include "base/reader.h"

struct jobs;

/* Belongs to the caller, and must not change until it runs. */
struct job {
	void (*run)(struct job *job);
	const struct reader_request
		*request; /* the request that it serves, for reader_ahead(); or NULL */
	struct job *next; /* jobs.c's */
};

int jobs_new(unsigned threads, struct jobs **ret);
void jobs_free(struct jobs *jobs); /* as jobs_rest() first; NULL is fine */

/* If no thread can be made, the job runs at once. */
void jobs_add(struct jobs *jobs, struct job *job);

/* Runs all that was added, and ends the threads. */
void jobs_rest(struct jobs *jobs);
