/* The folder to mount on: whether that is allowed, what is mounted there, and who else uses it. */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

struct mountpoint {
	char *path;	      /* absolute */
	bool created;	      /* by this process, on a local filesystem: to be removed at the end */
	bool already_mounted; /* the same user has the pack of this path mounted there */
	int lock;  /* one process at a time looks at the place and mounts; -1: not held */
	int share; /* of a mount that another process made; -1: none */
};

#define MOUNTPOINT_NONE ((struct mountpoint){.lock = -1, .share = -1})

/* Looks at path, as MOUNTPOINT_NONE. `pack` is the absolute path of the pack. Waits for another
 * foldfs of this user that does the same there, and removes a mount of this user whose daemon has
 * died. Returns 0, or -errno: missing (-ENOENT), no folder, not empty, another mount; err names the
 * way out but not the path. Any of this may hang where the path leads to storage that does. */
int mountpoint_look(struct mountpoint *mountpoint, const char *path, const char *pack,
		    struct err *err);
/* Creates a folder that was missing. Returns 0 or -errno as above. */
int mountpoint_create(struct mountpoint *mountpoint, struct err *err);
/* The mount is made, or will not be: others may look. */
void mountpoint_taken(struct mountpoint *mountpoint);
/* Removes the folder if it was created here. */
void mountpoint_release(struct mountpoint *mountpoint);

/* Uses the mount that is there: its maker's mountpoint_close() fails meanwhile. Returns 0 or
 * -errno. */
int mountpoint_share(struct mountpoint *mountpoint);
/* Whether no other process shares the mount. None can from then on until mountpoint_taken(). */
bool mountpoint_close(struct mountpoint *mountpoint);

/* What path leads to: the mount with this device number, another one on top of it, or neither. */
enum mountpoint_view { MOUNTPOINT_SEEN, MOUNTPOINT_COVERED, MOUNTPOINT_GONE };
enum mountpoint_view mountpoint_view(const char *path, dev_t device);

/* Takes the mount that path leads to out of the tree, in use or not. Returns 0 or -errno. */
int mountpoint_detach(const char *path);

/* Unmounts the mount if it has not been used since the last call. A warm epoch sends no requests,
 * so the kernel is asked, by umount2(MNT_EXPIRE), which needs root. */
void mountpoint_expire(const struct mountpoint *mountpoint, dev_t device);

/* The filesystem type of the mount with this device number, or "unknown filesystem", as on btrfs,
 * whose files have other numbers than its mounts. */
const char *mountpoint_fstype(dev_t device, char buf[static 64]);

#endif
