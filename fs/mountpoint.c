#include "fs/mountpoint.h"
#include "base/clock.h"
#include "base/fstype.h"
#include "base/octal.h"
#include "base/scope.h"
#include "fs/mount.h"
#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LOCK_WAIT (10 * CLOCK_SECOND) /* for another foldfs; then it goes on beside that one */
#define LOCK_LOOK ((uint64_t)10000000)

/* A line of /proc/self/mountinfo (proc(5)). */
struct mount_line {
	unsigned major, minor;
	char path[PATH_MAX], type[64], source[PATH_MAX], options[1024];
};

static bool parse_line(const char *line, struct mount_line *ret)
{
	const char *tail = strstr(line, " - ");

	if (!tail ||
	    sscanf(line, "%*d %*d %u:%u %*s %4095s", &ret->major, &ret->minor, ret->path) != 3 ||
	    sscanf(tail, " - %63s %4095s %1023s", ret->type, ret->source, ret->options) != 3)
		return false;
	octal_unescape(ret->path);
	octal_unescape(ret->source);
	return true;
}

typedef bool match_fn(const struct mount_line *line, const void *wanted);

/* The last line that matches: later mounts cover earlier ones. */
static bool find_mount(match_fn *match, const void *wanted, struct mount_line *ret)
{
	SCOPE_FILE FILE *file = fopen("/proc/self/mountinfo", "re");
	SCOPE_FREE struct mount_line *line = malloc(sizeof(*line));
	SCOPE_FREE char *text = NULL;
	bool found = false;
	size_t room = 0;

	while (file && line && getline(&text, &room, file) > 0)
		if (parse_line(text, line) && match(line, wanted)) {
			*ret = *line;
			found = true;
		}
	return found;
}

static bool has_path(const struct mount_line *line, const void *wanted)
{
	return strcmp(line->path, wanted) == 0;
}

static bool has_device(const struct mount_line *line, const void *wanted)
{
	dev_t device = *(const dev_t *)wanted;

	return line->major == major(device) && line->minor == minor(device);
}

const char *mountpoint_fstype(unsigned long device, char buf[static 64])
{
	SCOPE_FREE struct mount_line *line = malloc(sizeof(*line));
	dev_t wanted = device;

	snprintf(buf, 64, "unknown filesystem");
	if (line && find_mount(has_device, &wanted, line))
		memcpy(buf, line->type, sizeof(line->type));
	return buf;
}

static bool mounted_by_us(const struct mount_line *line, const char *pack)
{
	const char *user = strstr(line->options, "user_id=");
	unsigned id;

	return strcmp(line->type, "fuse.foldfs") == 0 && strcmp(line->source, pack) == 0 && user &&
	       sscanf(user, "user_id=%u", &id) == 1 && id == getuid();
}

static int check_empty(const char *path, struct err *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = true;

	if (!dir)
		return err_set(err, -errno, "%s", strerror(errno));
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(dir);
	return empty ? 0
		     : err_set(err, -ENOTEMPTY,
			       "not empty: what is in it would be hidden; mount on an empty "
			       "folder");
}

/* Also of a folder that is to be created. NULL with errno. */
static char *absolute_path(const char *path)
{
	SCOPE_FREE char *above = strdup(path), *copy = strdup(path), *folder = NULL;
	char *real = realpath(path, NULL), *ret;

	if (real || errno != ENOENT || !above || !copy)
		return real;
	folder = realpath(dirname(above), NULL);
	if (!folder ||
	    asprintf(&ret, "%s/%s", strcmp(folder, "/") ? folder : "", basename(copy)) < 0)
		return NULL;
	return ret;
}

/* On the remains of a daemon that died realpath() fails; the mount table still knows them. */
static int check_folder(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : err_set(err, -ENOTDIR, "not a folder");
	if (errno == ENOTCONN)
		return err_set(err, -ENOTCONN,
			       "a mount whose daemon has died is in the way; 'fusermount3 -u %s' "
			       "(or umount) removes it",
			       path);
	if (errno == ENOENT)
		return err_set(err, -ENOENT, "no such folder; --mkdir creates it");
	return err_set(err, -errno, "%s", strerror(errno));
}

/* What other machines see is theirs, too: they may have made it meanwhile, and who removed it would
 * unmount what they have mounted there. */
static int make(struct mountpoint *mountpoint, const char *path, struct err *err)
{
	struct statfs fs;

	if (mkdir(path, 0755) == 0)
		mountpoint->created = statfs(path, &fs) == 0 && !fstype_is_remote(fs.f_type);
	else if (errno != EEXIST)
		return err_set(err, -errno, "cannot be created: %s", strerror(errno));
	return check_folder(path, err);
}

/* To look whether a place is free and to mount there are two steps. Tasks of a job that begin at
 * once take turns by a name that only one socket can have, and that goes with its process. */
static int lock_path(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const struct timespec look = {.tv_nsec = (long)LOCK_LOOK};
	uint64_t until = clock_ns() + LOCK_WAIT;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char hash[FORMAT_HASH_DIGITS + 1];

	format_path_hash(path, strlen(path), hash);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "foldfs on %s", hash);
	while (fd >= 0 && bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 &&
	       errno == EADDRINUSE && clock_ns() < until)
		nanosleep(&look, NULL);
	return fd;
}

static int check_mounts(struct mountpoint *mountpoint, const char *pack, struct err *err)
{
	SCOPE_FREE struct mount_line *line = malloc(sizeof(*line));

	if (!line)
		return -ENOMEM;
	if (!find_mount(has_path, mountpoint->path, line))
		return check_empty(mountpoint->path, err);
	if (mounted_by_us(line, pack)) {
		mountpoint->already_mounted = true;
		return 0;
	}
	/* The root of a tmpfs or volume is a fair place, another FUSE mount is not. */
	if (strncmp(line->type, "fuse", 4) == 0)
		return err_set(err, -EBUSY, "busy: '%s' (%s) is mounted there", line->source,
			       line->type);
	return check_empty(mountpoint->path, err);
}

int mountpoint_init(struct mountpoint *mountpoint, const char *path, const char *pack, bool create,
		    struct err *err)
{
	int r;

	*mountpoint = MOUNTPOINT_NONE;
	if (strncmp(path, "/dev/fd/", 8) == 0) {
		mountpoint->path = strdup(path);
		return mountpoint->path ? 0 : -ENOMEM;
	}
	mountpoint->path = absolute_path(path);
	if (mountpoint->path)
		mountpoint->lock = lock_path(mountpoint->path);
	r = check_folder(path, err);
	if (r == -ENOENT && create)
		r = make(mountpoint, path, err);
	if (r == 0 && !mountpoint->path)
		r = -ENOMEM;
	return r < 0 ? r : check_mounts(mountpoint, pack, err);
}

void mountpoint_taken(struct mountpoint *mountpoint)
{
	if (mountpoint->lock >= 0)
		close(mountpoint->lock);
	mountpoint->lock = -1;
}

void mountpoint_expire(const struct mountpoint *mountpoint)
{
	umount2(mountpoint->path, MNT_EXPIRE | UMOUNT_NOFOLLOW);
}

void mountpoint_release(struct mountpoint *mountpoint)
{
	if (mountpoint->created) {
		if (mountpoint->lock < 0)
			mountpoint->lock = lock_path(mountpoint->path);
		rmdir(mountpoint->path);
	}
	mountpoint_taken(mountpoint);
	free(mountpoint->path);
	*mountpoint = MOUNTPOINT_NONE;
}
