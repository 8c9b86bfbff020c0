/* Where the listings of a job are. The place is that of the description, which processes share as
 * they share any open folder; the kernel moves it by lseek(2). foldfs keeps a descriptor of each
 * description that it gave away, and knows by its mark (job.h) which one a job means: that takes no
 * call that containers refuse, as pidfd_getfd(2) is.
 *
 * All calls are thread-safe. */
#pragma once

#include "fs/nofuse/job.h"
#include "fs/nofuse/skeleton.h"

struct cursors;

/* For `most` folders that are open at once. The skeleton is borrowed. NULL: no memory. */
struct cursors *cursors_new(const struct skeleton *skeleton, unsigned most);
void cursors_free(struct cursors *cursors); /* NULL is fine */

/* Opens a folder that a job is to get, and keeps a copy of the descriptor; waits where the job has
 * as many open, as long as it closes some. Returns a descriptor, or -errno; -ENFILE: it closes
 * none. */
int cursors_open(struct cursors *cursors, uint32_t entry, int flags, struct opener *opener,
		 uint64_t *ret_mark);
/* The job has got it, or not: from now on it is kept only while a process of the job has it. */
void cursors_given(struct cursors *cursors, uint64_t mark);

/* Adds an entry of a listing at a place. Returns false if it does not fit. */
typedef bool cursors_add_fn(void *context, uint64_t place);

/* Lists a folder that a job has open: calls `add` for each place from the description's on until it
 * returns false, and leaves the description there. -EBADF: the job's is none that was kept. */
int cursors_list(struct cursors *cursors, pid_t pid, int fd, cursors_add_fn *add, void *context);
