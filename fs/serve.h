/* The threads that receive the kernel's requests and call the operations for them: libfuse's loop,
 * but that a thread may stay awake for the next request (busy_poll.h). */
#ifndef FS_SERVE_H
#define FS_SERVE_H

#include "fs/fuse.h"

/* Serves with so many threads, the caller's among them, until the connection ends; fewer, where
 * the system gives no more. */
void serve(struct fuse_session *fuse, unsigned threads);

#endif
