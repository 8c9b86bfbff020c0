/* The directory to mount on: whether it may be, and what is mounted there already. */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include "base/err.h"
#include <stdbool.h>

struct mountpoint {
	char *path;   /* absolute, or /dev/fd/N as given */
	bool created; /* by us: to be removed at the end */
	bool ours;    /* the same pack is mounted there already, by the same user: nothing to do */
};

/* Looks at path, and creates it where it is missing and `create` is set. `pack` is the absolute
 * path of the pack. Returns 0, or -errno: missing, no directory, not empty, another mount,
 * left over from a daemon that died; err names the way out but not the path. */
int mountpoint_init(struct mountpoint *mountpoint, const char *path, const char *pack, bool create,
		    struct err *err);
/* Removes the directory if it was created here. */
void mountpoint_release(struct mountpoint *mountpoint);

/* The filesystem type of the mount with this device number, or that it is unknown, as
 * on btrfs, whose files have other numbers than its mounts. */
const char *mountpoint_fstype(unsigned long device, char buf[static 64]);

#endif
