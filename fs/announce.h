/* What foldfs says once its mount is there. */
#pragma once

#include "fs/life/mountpoint.h"
#include "fs/mount.h"

/* Says in one line what was decided, and how to unmount; and what was asked for that no mount is.
 */
void announce(const struct mount *mount, const struct mountpoint *mountpoint);
/* Says that another process has mounted it at `path`, and what mount_compare() found. */
void announce_shared(const struct mount *mount, const char *path, const struct buf *only_here,
		     const struct buf *only_there);
