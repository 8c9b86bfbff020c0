/* The mount, seen from outside: its attribute, and where mounts are. */
#ifndef FS_STAT_MOUNTS_H
#define FS_STAT_MOUNTS_H

#include "base/buf.h"
#include "base/err.h"
#include <sys/types.h>

/* Adds the stats of the mount whose root is `path` to buf, as it gives them. No descriptor is
 * held: being watched must not keep a mount busy. Returns 0 or -errno; where there is a way
 * out, err says it, with the mounts that there are. */
int mounts_ask(const char *path, struct buf *buf, struct err *err);

/* Why `path` cannot be asked, by the error that this gave: returns it, with what err can say. */
int mounts_explain(const char *path, int error, struct err *err);

/* Adds the mount points of foldfs in a file like /proc/self/mountinfo (proc(5)), with ", "
 * between them; of this device only, unless it is 0. Returns 0 or -errno. */
int mounts_list(const char *mountinfo, dev_t device, struct buf *buf);

#endif
