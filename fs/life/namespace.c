#include "fs/life/namespace.h"
#include "base/io.h"
#include "base/scope.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

static int write_proc(const char *path, const char *text)
{
	SCOPE_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : io_write_full(fd, text, strlen(text));
}

/* The IDs are the same inside as outside, so that the command sees the same users. */
static int map_ids(uid_t uid, gid_t gid)
{
	char text[64];
	int r;

	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	r = write_proc("/proc/self/uid_map", text);
	if (r == 0)
		r = write_proc("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return r < 0 ? r : write_proc("/proc/self/gid_map", text);
}

int namespace_enter(struct err *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r = 0;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		r = -errno;
	if (r == 0)
		r = map_ids(uid, gid);
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
