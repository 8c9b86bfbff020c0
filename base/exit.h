/* Exit statuses, the same for all three commands. */
#pragma once

#include <errno.h>

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,  /* the message says what, which path, why, and what to do */
	EXIT_USAGE = 2,	  /* wrong words on the command line */
	EXIT_DAMAGED = 3, /* the data is damaged */
	EXIT_SKIPPED = 4, /* done, but some inputs were skipped */
};

/* The status for a library's -errno. */
static inline enum exit_status exit_status_of(int error)
{
	if (error == 0)
		return EXIT_DONE;
	return error == -EBADMSG ? EXIT_DAMAGED : EXIT_FAILED;
}

/* Flushes standard output. Returns status, or EXIT_FAILED for one that says "done" if the output
 * could not be written; a message says so, unless the reader of a pipe has gone. */
int exit_finish(int status);
