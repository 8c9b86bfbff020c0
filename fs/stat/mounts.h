/* Mounts seen from outside: the attribute with the stats, and where mounts are. */
#ifndef FS_STAT_MOUNTS_H
#define FS_STAT_MOUNTS_H

#include "base/buf.h"
#include "base/err.h"
#include <sys/types.h>

/* Adds the stats of the mount whose root is `path` to buf, as the mount gives them. Holds no
 * descriptor: watching a mount must not keep it busy. Returns 0 or -errno; err says the way out if
 * there is one, and which mounts there are. */
int mounts_ask(const char *path, struct buf *buf, struct err *err);

/* Explains in err why asking `path` gave this error. Returns the error. */
int mounts_explain(const char *path, int error, struct err *err);

/* Adds the mount points of foldfs in a file like /proc/self/mountinfo (proc(5)), separated by ", ".
 * Only those of `device`, unless it is 0. Returns 0 or -errno. */
int mounts_list(const char *table, dev_t device, struct buf *buf);

#endif
