/* One line on standard error that shows how far a long command is: files, bytes, rate, and the time
 * left at this rate.
 *
 *	progress_begin -> progress_add ... -> progress_end
 *
 * On a terminal the line is drawn over itself at most ten times a second. Elsewhere, as in the log
 * of a job, it is a new line at most once a minute, or every five seconds where it was asked for.
 * For programs, it is a JSON object every second, and one at the end: no message begins with {.
 * Call progress_clear() before any message. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *verb; /* "packing" */
	bool shown;
	bool terminal;
	bool json;
	bool drawn;    /* the line is on the screen */
	double period; /* seconds between lines, at least */
	uint64_t files, bytes;
	uint64_t files_total, bytes_total; /* 0: not known */
	double began, last;		   /* seconds, as progress_now() */
	pthread_mutex_t lock;		   /* held by progress_add() */
};

enum progress_want { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER, PROGRESS_JSON };

/* Totals may be set later in the fields. */
void progress_begin(struct progress *progress, const char *verb, enum progress_want want);
/* Goes on with another step, counted from 0 to this total of bytes. */
void progress_again(struct progress *progress, const char *verb, uint64_t bytes_total);
/* By any of several threads. */
void progress_add(struct progress *progress, uint64_t files, uint64_t bytes);
void progress_clear(struct progress *progress);
/* Clears the line. Returns the seconds since progress_begin(). */
double progress_end(struct progress *progress);

/* A clock that never goes back, in seconds. */
double progress_now(void);
