/* Where the listings of a job are. The place is that of the description, which processes share as
 * they share any open folder; the kernel moves it by lseek(2). foldfs keeps a descriptor of each
 * description that it gave away, and knows by its mark (job.h) which one a job means: that takes no
 * call that containers refuse, as pidfd_getfd(2) is.
 *
 * Nobody tells when a description is closed, so those that were made last are kept. Who lists
 * another one, or a folder that was not opened by foldfs, gets a new description in its place, at
 * the same number and the same place: only copies of that descriptor then go on by themselves.
 *
 * All calls are thread-safe. */
#pragma once

#include "fs/nofuse/listener.h"
#include "fs/nofuse/skeleton.h"

struct cursors;

/* Keeps `most`. The skeleton is borrowed. NULL: no memory. */
struct cursors *cursors_new(const struct skeleton *skeleton, unsigned most);
void cursors_free(struct cursors *cursors); /* NULL is fine */

/* Opens a folder that a job is to get, with flags of open(2). Returns a descriptor, which is the
 * caller's, or -errno. */
int cursors_open(struct cursors *cursors, uint32_t entry, int flags);

/* Gives up the oldest that is kept. Returns whether there was one. */
bool cursors_give_up(struct cursors *cursors);

/* Lists from a place on, and moves it behind what was given. Returns a result, or -errno: the place
 * stays. */
typedef int64_t cursors_list_fn(void *context, uint64_t *place);

/* Lists a folder that the caller has open as `fd`, from the place of its description on, which
 * moves. Returns what `list` does, or -errno. */
int64_t cursors_list(struct cursors *cursors, const struct listener *listener,
		     const struct asked *asked, int fd, uint32_t entry, cursors_list_fn *list,
		     void *context);
