/* The threads that receive the kernel's requests and call the operations for them. Like libfuse's
 * loop, except that a thread may poll for the next request (busy_poll.h). */
#pragma once

#include "fs/fuse.h"
#include <stdatomic.h>

/* Serves until the connection ends, with `threads` threads, of which the caller's is one; with
 * fewer if no more can be made. `serving`: how many do. */
void serve(struct fuse_session *fuse, unsigned threads, atomic_uint *serving);
