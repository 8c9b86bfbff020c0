#include "fs/life/mountpoint.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "base/peer.h"
#include "base/scope.h"
#include "base/statx.h"
#include "fs/life/place.h"
#include "pack/format.h"
#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* The words of the program that unmounts for users; `lazy`: even what is in use. */
#define FUSERMOUNT(path, lazy)                                               \
	{                                                                    \
		"fusermount3", "-u", (lazy) ? "-qz" : "-q", "--", path, NULL \
	}

#define FUSE_DEVICE makedev(10, 229) /* Documentation/admin-guide/devices.txt of Linux */

#define LOCK_WAIT_MS 10000 /* wait this long for another foldfs, then go on without the lock */
#define LOCK_LOOK_MS 10
#define LOCK_REFUSED 100 /* tries, if no process of this user listens on the name */

/* Finds the last line with this path (NULL: any) and device (0: any): later mounts cover earlier
 * ones. Returns 1, 0 if there is none, or -errno: the table of mounts cannot be read. */
static int find_mount(const char *path, dev_t device, struct mountinfo *ret)
{
	SCOPE_FILE FILE *file = fopen("/proc/self/mountinfo", "re");
	SCOPE_FREE char *text = NULL;
	struct mountinfo line;
	size_t room = 0;
	int found = 0, r;

	if (!file)
		return -errno;
	while ((r = mountinfo_next(file, &text, &room, &line)) == 0) {
		if ((path && strcmp(line.path, path) != 0) || (device && line.device != device))
			continue;
		*ret = line;
		found = 1;
	}
	return r < 0 ? r : found;
}

const char *mountpoint_fstype(dev_t device, char buf[static 64])
{
	struct mountinfo line;

	snprintf(buf, 64, "%s",
		 find_mount(NULL, device, &line) > 0 ? line.type : "unknown filesystem");
	return buf;
}

/* Unmounts what is at the path if it is the mount with that device; 0: whatever it is. */
static int unmount_device(const char *path, dev_t device, int flags)
{
	SCOPE_CLOSE int above = place_above(path);
	char opened[NAME_MAX + 64];
	struct statx_file found;
	int r = above;

	if (r >= 0 && device)
		r = statx_file(above, place_name(path), &found);
	if (r < 0)
		return r;
	if (device && found.device != device)
		return -EBUSY;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d/%s", above, place_name(path));
	return umount2(opened, flags | UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
}

/* The same; `lazy`: even if it is in use. -EAGAIN: no process may be started, which a user needs
 * for it. */
static int unmount(const char *path, dev_t device, bool lazy)
{
	const char *const argv[] = FUSERMOUNT(path, lazy);
	int how = -1, r = unmount_device(path, device, lazy ? MNT_DETACH : 0);
	pid_t pid;

	if (r != -EPERM)
		return r;
	r = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
	if (r)
		return -r;
	waitpid(pid, &how, 0);
	return how == 0 ? 0 : -EPERM;
}

static void close_one(int *fd)
{
	scope_close(fd);
	*fd = -1;
}

static bool is_our_mount(const struct mountinfo *line)
{
	return mountinfo_is_foldfs_of(line, getuid());
}

static bool is_dead(int error)
{
	return error == ENOTCONN || error == ECONNABORTED;
}

static int open_mountpoint(struct mountpoint *mountpoint)
{
	scope_close(&mountpoint->folder);
	mountpoint->folder = place_open(mountpoint->above, place_name(mountpoint->path), O_PATH);
	return mountpoint->folder < 0 ? mountpoint->folder : 0;
}

static int check_empty(struct mountpoint *mountpoint, struct err *err)
{
	SCOPE_DIR DIR *dir = NULL;
	SCOPE_CLOSE int fd = -1;
	const struct dirent *entry;
	bool empty = true;

	if (open_mountpoint(mountpoint) == 0)
		fd = openat(mountpoint->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return err_set(err, -errno, "%s", strerror(errno));
	steal_fd(&fd);
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	return empty ? 0
		     : err_set(err, -ENOTEMPTY,
			       "not empty: what is in it would be hidden; mount on an empty "
			       "folder");
}

static int check_folder(const struct mountpoint *mountpoint, const char *path, struct err *err)
{
	struct stat st;

	if (mountpoint->path ? fstatat(mountpoint->above, place_name(mountpoint->path), &st,
				       AT_SYMLINK_NOFOLLOW) == 0
			     : stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : err_set(err, -ENOTDIR, "not a folder");
	if (is_dead(errno))
		return err_set(err, -ENOTCONN,
			       "a mount whose daemon has died is in the way; 'fusermount3 -u %s' "
			       "(or umount) removes it",
			       path);
	if (errno == ENOENT)
		return err_set(err, -ENOENT, "no such folder; --mkdir creates it");
	return err_set(err, -errno, "%s", strerror(errno));
}

ssize_t mountpoint_stats(const char *path, char **ret)
{
	*ret = malloc(XATTR_SIZE_MAX + 1);
	return *ret ? getxattr(path, STATS_NAME, *ret, XATTR_SIZE_MAX) : -1;
}

/* Whether the daemon that served what is mounted there has ended. stat(2) may not notice that,
 * because the kernel remembers attributes; the stats always come from the daemon. */
static bool has_no_daemon(const char *path)
{
	return getxattr(path, STATS_NAME, NULL, 0) < 0 && is_dead(errno);
}

/* --- the lock -------------------------------------------------------------------------------- */

/* Waits until the process that listens on the name ends, or closes its socket. False: no process
 * listens, or one of another user, for which this one must not wait. */
static bool wait_for_holder(const struct sockaddr_un *name)
{
	SCOPE_CLOSE int fd = peer_socket(SOCK_NONBLOCK);
	struct pollfd hangup = {.fd = fd};
	struct ucred holder;

	if (fd < 0 || connect(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 ||
	    peer_find(fd, &holder) < 0 || !peer_is(&holder, geteuid()))
		return false;
	return poll(&hangup, 1, LOCK_WAIT_MS) > 0;
}

/* Seeing that a place is free and mounting there are two steps. Tasks of a job that start together
 * take turns: only one socket can have the name, which vanishes with its process. */
static int lock_path(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const struct timespec look = {.tv_nsec = LOCK_LOOK_MS * 1000000};
	uint64_t until = clock_ns() + LOCK_WAIT_MS * (CLOCK_SECOND / 1000);
	unsigned refused = 0;
	int fd = peer_socket(0);
	char hash[FORMAT_HASH_DIGITS + 1];

	format_path_hash(path, strlen(path), hash);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "foldfs on %s by %u", hash,
		 geteuid());
	while (fd >= 0 && bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 &&
	       errno == EADDRINUSE && refused < LOCK_REFUSED && clock_ns() < until)
		if (!wait_for_holder(&name)) {
			refused++;
			nanosleep(&look, NULL);
		}
	if (fd >= 0)
		listen(fd, SOMAXCONN);
	return fd;
}

/* --- looking --------------------------------------------------------------------------------- */

/* A mount that is about to end makes room; what is open in it can be read to its end. */
static int check_mounts(struct mountpoint *mountpoint, const char *pack, struct err *err)
{
	static const char leaves[] = "\"leaving\": true";
	SCOPE_FREE char *stats = NULL;
	struct mountinfo line;
	int r = find_mount(mountpoint->path, 0, &line);
	ssize_t len;

	if (r < 0)
		return err_set(err, r, "the table of mounts cannot be read: %s", strerror(-r));
	if (r == 0)
		return check_empty(mountpoint, err);
	if (is_our_mount(&line) && strcmp(line.source, pack) == 0) {
		len = mountpoint_stats(mountpoint->path, &stats);
		mountpoint->already_mounted = len <= 0 ||
					      !memmem(stats, (size_t)len, leaves, strlen(leaves)) ||
					      unmount(mountpoint->path, line.device, true) < 0;
		return mountpoint->already_mounted ? 0 : check_mounts(mountpoint, pack, err);
	}
	/* Mounting over the root of a tmpfs or a volume is fine, over another FUSE mount is not. */
	if (strncmp(line.type, "fuse", 4) == 0)
		return err_set(err, -EBUSY, "busy: '%s' (%s) is mounted there", line.source,
			       line.type);
	return check_empty(mountpoint, err);
}

int mountpoint_look(struct mountpoint *mountpoint, const char *path, const char *pack,
		    struct err *err)
{
	int looked = place_find(path, &mountpoint->path, &mountpoint->above), r;
	struct mountinfo line;

	if (looked == 0) {
		mountpoint->lock = lock_path(mountpoint->path);
		/* Mounts whose daemon has died are removed. */
		while (find_mount(mountpoint->path, 0, &line) > 0 && is_our_mount(&line) &&
		       has_no_daemon(mountpoint->path) &&
		       unmount(mountpoint->path, line.device, true) == 0)
			log_notice("%s: the daemon that served it had died; its mount was removed",
				   mountpoint->path);
	}
	r = check_folder(mountpoint, path, err);
	if (r == 0)
		r = looked;
	return r < 0 ? r : check_mounts(mountpoint, pack, err);
}

int mountpoint_take_over(struct mountpoint *mountpoint, const char *path, struct err *err)
{
	char *end;
	int fd = (int)strtol(path + strlen("/dev/fd/"), &end, 10);
	struct stat st;

	mountpoint->handed_over = true;
	mountpoint->path = strdup(path);
	if (!mountpoint->path)
		return -ENOMEM;
	/* /dev/fuse, or a socket of somebody who stands between. From a pipe or a file, a first
	 * request would never come. */
	if (*end || fstat(fd, &st) < 0 ||
	    !(S_ISSOCK(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == FUSE_DEVICE)))
		return err_set(err, -EINVAL,
			       "is not a descriptor of /dev/fuse that the caller has mounted");
	return 0;
}

int mountpoint_create(struct mountpoint *mountpoint, struct err *err)
{
	int r;

	if (!mountpoint->path)
		return err_set(err, -ENOENT, "cannot be created: %s", strerror(ENOENT));
	r = place_create(mountpoint->above, place_name(mountpoint->path), &mountpoint->created,
			 &mountpoint->made);
	if (r < 0)
		return err_set(err, r, "cannot be created: %s", strerror(-r));
	r = check_folder(mountpoint, mountpoint->path, err);
	return r < 0 ? r : check_empty(mountpoint, err);
}

static int write_proc(const char *path, const char *text)
{
	SCOPE_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : io_write_full(fd, text, strlen(text));
}

static int enter_namespace(struct err *err)
{
	char uids[64], gids[64];
	int r = 0;

	snprintf(uids, sizeof(uids), "%u %u 1", geteuid(), geteuid());
	snprintf(gids, sizeof(gids), "%u %u 1", getegid(), getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		r = -errno;
	/* The IDs are the same inside as outside, so that the command sees the same users. */
	if (r == 0)
		r = write_proc("/proc/self/uid_map", uids);
	if (r == 0)
		r = write_proc("/proc/self/setgroups", "deny");
	if (r == 0)
		r = write_proc("/proc/self/gid_map", gids);
	if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		r = -errno;
	if (r < 0)
		return err_set(err, r,
			       "no private namespace either (%s): install fuse3, or have user "
			       "namespaces allowed (sysctl kernel.unprivileged_userns_clone=1, "
			       "kernel.apparmor_restrict_unprivileged_userns=0)",
			       strerror(-r));
	return 0;
}

int mountpoint_go_private(struct mountpoint *mountpoint, struct err *err)
{
	SCOPE_CLOSE int before = steal_fd(&mountpoint->folder);
	struct stat then, now;
	int r = enter_namespace(err);

	if (r < 0 || mountpoint->handed_over)
		return r;
	scope_close(&mountpoint->above);
	mountpoint->above = place_above(mountpoint->path);
	r = mountpoint->above < 0 ? mountpoint->above : open_mountpoint(mountpoint);
	if (r == 0 && (fstat(before, &then) < 0 || fstat(mountpoint->folder, &now) < 0 ||
		       then.st_dev != now.st_dev || then.st_ino != now.st_ino))
		r = -ESTALE;
	return r < 0 ? err_set(err, r, "has become another folder: %s", strerror(-r)) : 0;
}

/* --- the mount ------------------------------------------------------------------------------- */

enum mountpoint_view mountpoint_view(const struct mountpoint *mountpoint)
{
	const char *path = mountpoint->path;
	dev_t device = mountpoint->device;
	struct mountinfo line = {0};
	int r = mountpoint->handed_over ? 0 : find_mount(path, 0, &line);

	if (r > 0 && (!device || line.device == device))
		return MOUNTPOINT_SEEN;
	if (r > 0)
		r = find_mount(path, device, &line);
	return r < 0 ? MOUNTPOINT_UNKNOWN : r > 0 ? MOUNTPOINT_COVERED : MOUNTPOINT_GONE;
}

/* --- acting on it ---------------------------------------------------------------------------- */

enum task {
	TASK_LOCK,
	TASK_UNLOCK,
	TASK_UNMOUNT,
	TASK_LEAVE,
	TASK_EXPIRE,
	TASK_ABORT,
	TASK_REMOVE,
};

static int act_on(struct mountpoint *mountpoint, enum task task)
{
	const char *path = mountpoint->path;
	dev_t device = mountpoint->device;
	SCOPE_CLOSE int fd = -1;
	enum mountpoint_view view;
	struct mountinfo line;
	char text[64];

	switch (task) {
	case TASK_LOCK:
		if (mountpoint->lock < 0)
			mountpoint->lock = lock_path(path);
		return 0;
	case TASK_UNLOCK:
		close_one(&mountpoint->lock);
		return 0;
	case TASK_UNMOUNT:
		view = mountpoint_view(mountpoint);
		if (view == MOUNTPOINT_SEEN)
			return unmount(path, device, true);
		/* A folder above it may have got another name, or it was bound to another path. */
		return view == MOUNTPOINT_GONE && (!device || find_mount(NULL, device, &line) <= 0)
			       ? 0
			       : -EBUSY;
	case TASK_LEAVE:
		return mountpoint_view(mountpoint) == MOUNTPOINT_SEEN ? unmount(path, device, false)
								      : -EBUSY;
	case TASK_EXPIRE:
		/* A look at what is mounted there would count as a use. */
		return mountpoint_view(mountpoint) == MOUNTPOINT_SEEN
			       ? unmount_device(path, 0, MNT_EXPIRE)
			       : 0;
	case TASK_ABORT:
		if (!device)
			return 0;
		snprintf(text, sizeof(text), "/sys/fs/fuse/connections/%u/abort", minor(device));
		fd = open(text, O_WRONLY | O_CLOEXEC);
		return fd < 0 || write(fd, "1", 1) < 0 ? -errno : 0;
	case TASK_REMOVE:
		return place_remove(mountpoint->above, place_name(path), &mountpoint->made);
	}
	return -EINVAL;
}

/* In the helper. If no process can be started that unmounts, the helper becomes that process, as
 * this is its last task, unless a folder is to be removed. */
static int help_mountpoint(void *context, char task)
{
	struct mountpoint *mountpoint = context;
	const char *const argv[] = FUSERMOUNT(mountpoint->path, true);
	int r;

	mountpoint->above = HELPER_KEPT;
	r = act_on(mountpoint, (enum task)task);
	if (task == TASK_UNMOUNT && r == -EAGAIN)
		execvp(argv[0], (char *const *)argv);
	return r;
}

static int act(struct mountpoint *mountpoint, enum task task)
{
	return mountpoint->helper.socket < 0 ? act_on(mountpoint, task)
					     : helper_ask(&mountpoint->helper, (char)task);
}

/* The kernel knows the device. It must not ask the daemon, which does not serve yet. */
void mountpoint_mounted(struct mountpoint *mountpoint)
{
	struct statx_file root;

	if (!mountpoint->handed_over &&
	    statx_file(mountpoint->above, place_name(mountpoint->path), &root) == 0)
		mountpoint->device = root.device;
	/* Open, they would keep the filesystem that they are on, if that is unmounted first. */
	close_one(&mountpoint->folder);
	if (!mountpoint->created)
		close_one(&mountpoint->above);
	act(mountpoint, TASK_UNLOCK);
}

/* The lock keeps others from mounting there meanwhile. */
bool mountpoint_is_left(struct mountpoint *mountpoint)
{
	enum mountpoint_view view;

	if (mountpoint->handed_over)
		return false;
	act(mountpoint, TASK_LOCK);
	view = mountpoint_view(mountpoint);
	return view == MOUNTPOINT_COVERED ||
	       (view != MOUNTPOINT_GONE && has_no_daemon(mountpoint->path));
}

int mountpoint_delegate(struct mountpoint *mountpoint, int log_fd)
{
	int r = 0;

	if (!mountpoint->handed_over)
		r = helper_start(help_mountpoint, mountpoint, log_fd, mountpoint->above,
				 &mountpoint->helper);
	if (r == 0)
		close_one(&mountpoint->above);
	return r;
}

int mountpoint_unmount(struct mountpoint *mountpoint)
{
	int r = act(mountpoint, TASK_UNMOUNT);

	act(mountpoint, TASK_UNLOCK);
	return r;
}

bool mountpoint_leave(struct mountpoint *mountpoint)
{
	return act(mountpoint, TASK_LEAVE) == 0;
}

void mountpoint_abort(struct mountpoint *mountpoint)
{
	int r = act(mountpoint, TASK_ABORT);

	if (r < 0)
		log_detail("%s: the connection cannot be aborted: %s", mountpoint->path,
			   strerror(-r));
}

void mountpoint_expire(struct mountpoint *mountpoint)
{
	act(mountpoint, TASK_EXPIRE);
}

/* --- in use ---------------------------------------------------------------------------------- */

static int open_root(const struct mountpoint *mountpoint, int operation)
{
	SCOPE_CLOSE int fd = open(mountpoint->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || flock(fd, operation) < 0 ? -errno : steal_fd(&fd);
}

int mountpoint_share(struct mountpoint *mountpoint)
{
	mountpoint->share = open_root(mountpoint, LOCK_SH);
	return mountpoint->share < 0 ? mountpoint->share : 0;
}

bool mountpoint_close(struct mountpoint *mountpoint)
{
	SCOPE_CLOSE int fd = -1;

	act(mountpoint, TASK_LOCK);
	fd = open_root(mountpoint, LOCK_EX | LOCK_NB);
	if (fd != -EWOULDBLOCK)
		return true;
	act(mountpoint, TASK_UNLOCK);
	return false;
}

void mountpoint_release(struct mountpoint *mountpoint)
{
	if (mountpoint->created) {
		act(mountpoint, TASK_LOCK);
		act(mountpoint, TASK_REMOVE);
	}
	helper_release(&mountpoint->helper);
	act(mountpoint, TASK_UNLOCK);
	close_one(&mountpoint->above);
	close_one(&mountpoint->folder);
	scope_close(&mountpoint->share);
	free(mountpoint->path);
	*mountpoint = MOUNTPOINT_NONE;
}
