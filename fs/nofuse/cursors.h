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

/* Opens a folder that a job is to get; waits where the job has as many open, as long as it closes
 * some. Returns a descriptor, which is kept here, at least until cursors_given(); or -errno;
 * -ENFILE: it closes none. */
int cursors_open(struct cursors *cursors, uint32_t entry, int flags, struct opener *opener,
		 uint64_t *ret_mark);
/* The job has got it, or not: from now on it is kept only while a process of the job has it. */
void cursors_given(struct cursors *cursors, uint64_t mark);

/* Lists from a place on, and moves it behind what was given. Returns a result, or -errno: the place
 * stays. */
typedef int64_t cursors_list_fn(void *context, uint64_t *place);

/* Lists a folder that a job has open from the place of its description on, which moves. Returns
 * what `list` does; -EBADF: the job's is none that was kept. */
int64_t cursors_list(struct cursors *cursors, pid_t pid, int fd, cursors_list_fn *list,
		     void *context);
