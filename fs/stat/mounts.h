/* Mounts seen from outside: the attribute with the stats, and where mounts are; and jobs of
 * `foldfs --no-fuse`, which see a pack in a folder without one: fs/job_socket.h. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

#define MOUNTS_TABLE "/proc/self/mountinfo"

/* Adds the stats of the mount whose root is `path` to buf, as the mount gives them, or of the job
 * that sees a pack there. Holds no descriptor: watching a mount must not keep it busy. Returns 0 or
 * -errno; err says the way out if there is one, and which mounts there are. */
int mounts_ask(const char *path, struct buf *buf, struct err *err);

/* Asks the job that sees a pack in the folder `path`, of several the one that began last. Of users
 * who could have made it, this one, root, and for root the folder's owner, are believed. Adds the
 * answer to buf. Returns 0; -ENOENT: there is none, or it has ended; -EACCES: it is another
 * user's; -ETIMEDOUT: it does not answer; or the -errno that is the answer. */
int mounts_ask_job(const char *path, const void *question, size_t len, struct buf *buf);

/* Explains in err why asking `path` gave this error. Returns the error. */
int mounts_explain(const char *path, int error, struct err *err);

/* Whether mounts_ask() gives this error for a path where there is no mount, or none any more. */
bool mounts_is_gone(int error);

/* Finds the mounts of foldfs in a file like /proc/self/mountinfo (proc(5)): those that a user has
 * made, or MOUNTS_ANYBODY; of `device`, unless it is 0; at most `most`, each path once. Returns how
 * many, or -errno; each of the paths is to be freed. */
#define MOUNTS_ANYBODY ((uid_t)-1)
int mounts_find(const char *table, uid_t uid, dev_t device, char **ret_paths, int most);
/* The same of this user, and the folders of jobs that see a pack without a mount. */
int mounts_here(char **ret_paths, int most);
/* Whether one of the paths is this. */
bool mounts_names(char *const *paths, int count, const char *path);
