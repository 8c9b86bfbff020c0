/* Where the listings of a job are. The place is that of the description, which processes share as
 * they share any open folder; the kernel moves it by lseek(2). foldfs keeps a descriptor of each
 * description that it gave away, and finds the one that a job means by moving it: for that no call
 * is needed that containers refuse, as pidfd_getfd(2) is.
 *
 * All calls are thread-safe. */
#pragma once

#include "fs/tree.h"

struct cursors;

/* Keeps those of `most` folders, that were used last. NULL: no memory. */
struct cursors *cursors_new(unsigned most);
void cursors_free(struct cursors *cursors); /* NULL is fine */

/* Keeps a copy of the descriptor of a folder that a job is to get. 0 or -errno. */
int cursors_keep(struct cursors *cursors, uint32_t entry, int fd);

/* Adds an entry of a listing at a place. Returns false if it does not fit. */
typedef bool cursors_add_fn(void *context, uint64_t place);

/* Lists a folder that a job has open: calls `add` for each place from the description's on until it
 * returns false, and leaves the description there. -EBADF: the job's is none that was kept. */
int cursors_list(struct cursors *cursors, uint32_t entry, pid_t pid, int fd, cursors_add_fn *add,
		 void *context);
