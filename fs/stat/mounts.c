#include "fs/stat/mounts.h"
#include "base/mountinfo.h"
#include "base/scope.h"
#include "fs/stat/jobs.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define STATS_NAME "user.foldfs.stats"
/* The kernel's limit for a value (XATTR_SIZE_MAX). With so much room, no value is too large, and
 * one call is enough. */
#define STATS_MAX  65536
#define JOBS_NAMED 64

int mounts_list(const char *table, dev_t device, struct buf *buf)
{
	SCOPE_FILE FILE *file = fopen(table, "re");
	SCOPE_FREE char *line = NULL;
	const char *comma = "";
	struct mountinfo mount;
	size_t room = 0;
	int r;

	if (!file)
		return -errno;
	while ((r = mountinfo_next(file, &line, &room, &mount)) == 0) {
		if (!mountinfo_is_foldfs(&mount) || (device && mount.device != device))
			continue;
		r = buf_addf(buf, "%s%s", comma, mount.path);
		if (r < 0)
			return r;
		comma = ", ";
	}
	return r < 0 ? r : 0;
}

bool mounts_is_gone(int error)
{
	return error == -ENODATA || error == -ENOTSUP || error == -ENOENT;
}

bool mounts_names(char *const *paths, int count, const char *path)
{
	for (int i = 0; i < count; i++)
		if (strcmp(paths[i], path) == 0)
			return true;
	return false;
}

int mounts_of_user(const char *table, uid_t uid, char **ret_paths, int most)
{
	SCOPE_FILE FILE *file = fopen(table, "re");
	SCOPE_FREE char *line = NULL;
	struct mountinfo mount;
	size_t room = 0;
	int count = 0, r = 0;

	if (!file)
		return -errno;
	while (count < most && (r = mountinfo_next(file, &line, &room, &mount)) == 0) {
		if (!mountinfo_is_foldfs_of(&mount, uid) ||
		    mounts_names(ret_paths, count, mount.path))
			continue;
		ret_paths[count] = strdup(mount.path);
		count += ret_paths[count] != NULL;
	}
	while (r < 0 && count)
		free(ret_paths[--count]);
	return r < 0 ? r : count;
}

int mounts_here(char **ret_paths, int most)
{
	int count = mounts_of_user(MOUNTS_TABLE, getuid(), ret_paths, most);

	return count < 0 ? count : jobs_of_user(getuid(), ret_paths, count, most);
}

static int list_all(struct buf *buf)
{
	char *jobs[JOBS_NAMED];
	int count = jobs_of_user(getuid(), jobs, 0, JOBS_NAMED);
	int r = mounts_list(MOUNTS_TABLE, 0, buf);

	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = buf_addf(buf, "%s%s", buf->len ? ", " : "", jobs[i]);
		free(jobs[i]);
	}
	return r;
}

/* Gives the reason, and where foldstat could look instead. */
static int refuse_path(const char *path, int error, const char *reason, struct err *err)
{
	SCOPE(buf_release) struct buf mounts = BUF_INIT;
	struct stat st;

	if (stat(path, &st) == 0 && mounts_list(MOUNTS_TABLE, st.st_dev, &mounts) == 0 &&
	    mounts.len)
		return err_set(err, error, "%s; its root is %s", reason, mounts.data);
	if (list_all(&mounts) == 0 && mounts.len)
		return err_set(err, error, "%s; mounts: %s", reason, mounts.data);
	return err_set(err, error,
		       "%s; no pack is mounted here, 'foldfs PACK MOUNTPOINT' mounts one", reason);
}

int mounts_explain(const char *path, int error, struct err *err)
{
	switch (error) {
	case -ENOENT:
		return refuse_path(path, error, "no such folder", err);
	case -ENODATA:
	case -ENOTSUP:
	case -ENOTDIR:
	case -ENOTTY:
	case -EPERM: /* user attributes of what is neither file nor folder */
		return refuse_path(path, error, "not the root of a foldfs mount", err);
	case -ENOTCONN:
	case -ECONNABORTED:
		return err_set(err, error,
			       "its daemon has died; 'fusermount3 -u %s' (or umount) removes the "
			       "mount",
			       path);
	case -EACCES:
		return err_set(err, error,
			       "permission denied; a mount is open to its own user only, unless "
			       "made with '-o allow_other', and a job to its user and root");
	case -ETIMEDOUT:
		return err_set(err, error, "it does not answer");
	default:
		return error;
	}
}

int mounts_ask(const char *path, struct buf *buf, struct err *err)
{
	ssize_t len;
	int error, r = buf_reserve(buf, STATS_MAX);

	if (r < 0)
		return r;
	len = getxattr(path, STATS_NAME, buf->data + buf->len, STATS_MAX);
	if (len >= 0) {
		buf->len += (size_t)len;
		return 0;
	}
	error = -errno;
	r = mounts_is_gone(error) ? jobs_ask(path, "?", 1, buf) : -ENOENT;
	return r == 0 ? 0 : mounts_explain(path, r == -ENOENT ? error : r, err);
}
