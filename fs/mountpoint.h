/* The directory to mount on: whether it may be, and what is mounted there already. */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include "base/err.h"
#include <stdbool.h>

struct mountpoint {
	char *path;	      /* absolute, or /dev/fd/N as given */
	bool created;	      /* by us, on a filesystem of this machine: to be removed at the end */
	bool already_mounted; /* the same user has the pack of this path mounted there */
	int lock; /* one process at a time looks at the place and mounts there; -1: not held */
};

#define MOUNTPOINT_NONE ((struct mountpoint){.lock = -1})

/* Looks at path, and creates it where it is missing and `create` is set. `pack` is the absolute
 * path of the pack. Waits for another foldfs that does the same there. Returns 0, or -errno:
 * missing, no directory, not empty, another mount, left over from a daemon that died; err names
 * the way out but not the path. */
int mountpoint_init(struct mountpoint *mountpoint, const char *path, const char *pack, bool create,
		    struct err *err);
/* It was mounted there: others may look. */
void mountpoint_taken(struct mountpoint *mountpoint);
/* Unmounts what nobody has used since this was asked before. Silence is not idleness: a warm epoch
 * sends no requests. So the kernel is asked, by umount2(MNT_EXPIRE), which needs root. */
void mountpoint_expire(const struct mountpoint *mountpoint);
/* Removes the directory if it was created here. */
void mountpoint_release(struct mountpoint *mountpoint);

/* The filesystem type of the mount with this device number, or that it is unknown, as
 * on btrfs, whose files have other numbers than its mounts. */
const char *mountpoint_fstype(unsigned long device, char buf[static 64]);

#endif
