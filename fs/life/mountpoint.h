/* The mount point: whether mounting there is allowed, what is mounted there, which other processes
 * use it, and how to unmount.
 *
 *	mountpoint_look -> (mountpoint_create) -> mountpoint_mounted -> mountpoint_delegate
 *	                                       -> mountpoint_unmount
 *	                -> already_mounted     -> mountpoint_share
 *	mountpoint_release, whatever came before
 *
 * Whoever may write to a folder above can rename what the path goes through, or put a link there.
 * So what is mounted on is opened once, and what is unmounted or removed is compared with what was
 * made. */
#pragma once

#include "base/err.h"
#include "base/statx.h"
#include "fs/life/helper.h"
#include <stdbool.h>
#include <sys/types.h>

struct mountpoint {
	char *path;		/* absolute */
	bool handed_over;	/* /dev/fd/N: the caller has mounted it, and unmounts it */
	bool created;		/* by this process, on a local filesystem: removed at the end */
	struct statx_file made; /* the folder that was created */
	bool already_mounted;	/* this user has mounted the same pack there */
	dev_t device;		/* of the mount; 0: none, or unknown */
	int lock;   /* held by the one process that looks and mounts, or its helper; -1: not held */
	int above;  /* the folder above, opened once; -1: not open */
	int folder; /* that is mounted on; -1: not open */
	int share;  /* keeps a mount that another process made; -1: none */
	struct helper helper; /* acts on the mount, once it is delegated */
};

#define MOUNTPOINT_NONE       \
	((struct mountpoint){ \
		.lock = -1, .above = -1, .folder = -1, .share = -1, .helper = HELPER_NONE})

/* Looks at `path`; *mountpoint must be MOUNTPOINT_NONE. `pack` is the absolute path of the pack.
 * Waits for another foldfs of this user that looks at the same path, and removes a mount of this
 * user whose daemon has died. Returns 0 or -errno: missing (-ENOENT), not a folder, not empty,
 * another mount. err says the way out, without the path. May hang if the path leads to storage that
 * hangs. */
int mountpoint_look(struct mountpoint *mountpoint, const char *path, const char *pack,
		    struct err *err);
/* Takes a path that was handed over. Returns 0 or -errno: it is not the device of a mount. */
int mountpoint_take_over(struct mountpoint *mountpoint, const char *path, struct err *err);
/* Creates a folder that was missing. Returns 0 or -errno as above. */
int mountpoint_create(struct mountpoint *mountpoint, struct err *err);
/* Where mounting in the common namespace is refused: moves this process, which must have one
 * thread, into a new user and mount namespace, and opens the folder again; the user stays the same.
 * From then on, only processes that it starts see its mounts, which vanish with the last of these.
 * Returns 0 or -errno with the way out. */
int mountpoint_go_private(struct mountpoint *mountpoint, struct err *err);
/* The mount is there, made or shared: other processes may look now. */
void mountpoint_mounted(struct mountpoint *mountpoint);
/* Before the sandbox and the threads: from now on a helper unmounts, and removes the folder; and
 * passes on what can be read from `log_fd`, as helper_start(). A mount that was handed over needs
 * none. Returns 0 or -errno. */
int mountpoint_delegate(struct mountpoint *mountpoint, int log_fd);
/* Lets other processes look. Removes the folder if it was created here. */
void mountpoint_release(struct mountpoint *mountpoint);

/* Uses the mount that is there. Meanwhile, mountpoint_close() of its maker is false. Returns 0
 * or -errno. */
int mountpoint_share(struct mountpoint *mountpoint);
/* Whether no other process shares the mount. If so, none can until mountpoint_unmount(). */
bool mountpoint_close(struct mountpoint *mountpoint);

/* What the path leads to: the mount that was made, another mount on top of it, or neither, as for
 * one that was handed over. Unknown: the table of mounts cannot be read. */
enum mountpoint_view {
	MOUNTPOINT_SEEN,
	MOUNTPOINT_COVERED,
	MOUNTPOINT_GONE,
	MOUNTPOINT_UNKNOWN,
};
enum mountpoint_view mountpoint_view(const struct mountpoint *mountpoint);

/* Whether the mount is still there although its connection is closed, as after an abort. If it is
 * gone, another mount may be at the same path, even with the same device number, and must not be
 * unmounted: that one answers when it is looked at, and a dead one does not. So does the folder
 * below, where the table of mounts cannot be read. Others wait until mountpoint_unmount() or
 * _release(). */
bool mountpoint_is_left(struct mountpoint *mountpoint);

/* Detaches the mount at once; does nothing if it is gone. Open files stay open, and the session
 * ends when the last is closed. Also removes the mount of an aborted connection. Afterwards other
 * processes may look. Returns 0 or -errno: -EBUSY if something else is, or may be, mounted on top,
 * which would be detached too; or if it is at another path by now. */
int mountpoint_unmount(struct mountpoint *mountpoint);
/* Unmounts unless a file of it is open, or a folder is somebody's working directory. Returns
 * whether it did. */
bool mountpoint_leave(struct mountpoint *mountpoint);
/* Ends the connection, in use or not: requests under way fail, and the kernel no longer makes a
 * thread of this process wait for them. */
void mountpoint_abort(struct mountpoint *mountpoint);

/* Unmounts if the mount has not been used since the last call. A warm epoch sends no requests, so
 * the kernel has to decide: umount2(MNT_EXPIRE), which needs root. */
void mountpoint_expire(struct mountpoint *mountpoint);

#define STATS_NAME "user.foldfs.stats" /* an attribute of the root: foldstat(1), JSON */

/* Reads the stats of the mount at `path` into memory that the caller frees, whatever is returned,
 * with room for a NUL behind them. Returns their length, or -1 with errno. */
ssize_t mountpoint_stats(const char *path, char **ret);

/* The filesystem type of the mount with this device number, or "unknown filesystem", as on btrfs,
 * where files and mounts have different numbers. */
const char *mountpoint_fstype(dev_t device, char buf[static 64]);
