/* The place of a mount: whether mounting there is allowed, what is mounted there, who else uses it,
 * and how the mount leaves it.
 *
 *	mountpoint_look -> (mountpoint_create) -> mountpoint_mounted -> mountpoint_unmount
 *	                -> already_mounted     -> mountpoint_share
 *	mountpoint_release, whatever came before */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

struct mountpoint {
	char *path;	      /* absolute */
	bool handed_over;     /* /dev/fd/N: the caller has mounted it, and unmounts it */
	bool created;	      /* by this process, on a local filesystem: to be removed at the end */
	bool already_mounted; /* the same user has the pack of this path mounted there */
	dev_t device;	      /* of the mount; 0: none, or not known */
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
/* As a path that was handed over: nothing is looked at. Returns 0 or -ENOMEM. */
int mountpoint_take_over(struct mountpoint *mountpoint, const char *path);
/* Creates a folder that was missing. Returns 0 or -errno as above. */
int mountpoint_create(struct mountpoint *mountpoint, struct err *err);
/* A mount is there, made or shared: others may look. */
void mountpoint_mounted(struct mountpoint *mountpoint);
/* Lets others look. Removes the folder if it was created here. */
void mountpoint_release(struct mountpoint *mountpoint);

/* Uses the mount that is there: its maker's mountpoint_close() fails meanwhile. Returns 0 or
 * -errno. */
int mountpoint_share(struct mountpoint *mountpoint);
/* Whether no other process shares the mount. None can from then on until mountpoint_unmount(). */
bool mountpoint_close(struct mountpoint *mountpoint);

/* What the path leads to: the mount that was made, another one on top of it, or neither, as with
 * one that was handed over. */
enum mountpoint_view { MOUNTPOINT_SEEN, MOUNTPOINT_COVERED, MOUNTPOINT_GONE };
enum mountpoint_view mountpoint_view(const struct mountpoint *mountpoint);

/* Takes the mount out of the tree, at once; nothing where it is gone. Files that are open stay so,
 * and the session ends when the last is closed. Also removes what is left of the mount of
 * a connection that was aborted. Others may look from then on. Returns 0, or -errno: -EBUSY where
 * something else is mounted on top, which would go as well. */
int mountpoint_unmount(struct mountpoint *mountpoint);
/* Ends the connection, used or not: requests under way fail, and the kernel can hold no thread of
 * this process for one of them. */
void mountpoint_abort(const struct mountpoint *mountpoint);

/* Unmounts the mount if it has not been used since the last call. A warm epoch sends no requests,
 * so the kernel is asked, by umount2(MNT_EXPIRE), which needs root. */
void mountpoint_expire(const struct mountpoint *mountpoint);

/* The filesystem type of the mount with this device number, or "unknown filesystem", as on btrfs,
 * whose files have other numbers than its mounts. */
const char *mountpoint_fstype(dev_t device, char buf[static 64]);

#endif
