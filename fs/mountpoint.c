#include "fs/mountpoint.h"
#include "base/octal.h"
#include "base/scope.h"
#include <dirent.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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

static int make(struct mountpoint *mountpoint, const char *path, bool create, struct err *err)
{
	if (!create)
		return err_set(err, -ENOENT, "no such folder; --mkdir creates it");
	if (mkdir(path, 0755) < 0)
		return err_set(err, -errno, "cannot be created: %s", strerror(errno));
	mountpoint->created = true;
	mountpoint->path = realpath(path, NULL);
	return mountpoint->path ? 0 : -errno;
}

/* realpath() fails on the remains of a daemon that died; the mount table still knows it. */
static int check_dead(const char *path, struct err *err)
{
	return err_set(err, -ENOTCONN,
		       "a mount whose daemon has died is in the way; 'fusermount3 -u %s' (or "
		       "umount) removes it",
		       path);
}

static int check_mounts(struct mountpoint *mountpoint, const char *pack, struct err *err)
{
	SCOPE_FREE struct mount_line *line = malloc(sizeof(*line));

	if (!line)
		return -ENOMEM;
	if (!find_mount(has_path, mountpoint->path, line))
		return check_empty(mountpoint->path, err);
	if (mounted_by_us(line, pack)) {
		mountpoint->ours = true;
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
	struct stat st;

	*mountpoint = (struct mountpoint){0};
	if (strncmp(path, "/dev/fd/", 8) == 0) {
		mountpoint->path = strdup(path);
		return mountpoint->path ? 0 : -ENOMEM;
	}
	if (stat(path, &st) < 0) {
		if (errno == ENOTCONN)
			return check_dead(path, err);
		return errno == ENOENT ? make(mountpoint, path, create, err)
				       : err_set(err, -errno, "%s", strerror(errno));
	}
	if (!S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "not a folder");
	mountpoint->path = realpath(path, NULL);
	return mountpoint->path ? check_mounts(mountpoint, pack, err) : -errno;
}

void mountpoint_release(struct mountpoint *mountpoint)
{
	if (mountpoint->created && mountpoint->path)
		rmdir(mountpoint->path);
	free(mountpoint->path);
	*mountpoint = (struct mountpoint){0};
}
