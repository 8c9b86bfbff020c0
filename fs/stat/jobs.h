/* Jobs of `foldfs --no-fuse`, asked from outside: fs/job_socket.h. */
#pragma once

#include "base/buf.h"
#include <sys/types.h>

/* Asks the job that sees a pack in the folder `path`, of several the one that began last. Of users
 * who could have made it, this one, root, and for root the folder's owner, are believed. Adds the
 * answer to buf. Returns 0; -ENOENT: there is none, or it has ended; -EACCES: it is another
 * user's; -ETIMEDOUT: it does not answer; or the -errno that is the answer. */
int jobs_ask(const char *path, const void *question, size_t len, struct buf *buf);

/* Adds the folders of a user's jobs to those that were found, each once: mounts_of_user(). */
int jobs_of_user(uid_t uid, char **ret_paths, int count, int most);
