#include "fs/stat/mounts.h"
#include "base/io.h"
#include "base/mountinfo.h"
#include "base/peer.h"
#include "base/scope.h"
#include "fs/job_socket.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>

#define STATS_NAME "user.foldfs.stats"
/* The kernel's limit for a value (XATTR_SIZE_MAX). With so much room, no value is too large, and
 * one call is enough. */
#define STATS_MAX  65536
#define NAMED_MOST 64
#define JOBS_TABLE "/proc/net/unix"
#define PATIENCE_S 5 /* with one that is stopped */

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

int mounts_find(const char *table, uid_t uid, dev_t device, char **ret_paths, int most)
{
	SCOPE_FILE FILE *file = fopen(table, "re");
	SCOPE_FREE char *line = NULL;
	struct mountinfo mount;
	size_t room = 0;
	int count = 0, r = 0;

	if (!file)
		return -errno;
	while (count < most && (r = mountinfo_next(file, &line, &room, &mount)) == 0) {
		if (!mountinfo_is_foldfs(&mount) || (device && mount.device != device) ||
		    (uid != MOUNTS_ANYBODY && !mountinfo_is_foldfs_of(&mount, uid)) ||
		    mounts_names(ret_paths, count, mount.path))
			continue;
		ret_paths[count] = strdup(mount.path);
		count += ret_paths[count] != NULL;
	}
	while (r < 0 && count)
		free(ret_paths[--count]);
	return r < 0 ? r : count;
}

/* --- jobs ---------------------------------------------------------------------------------- */

/* Goes on to the next name of a job. 0, or what io_line() returns at the end. */
static int next_job(FILE *table, char **line, size_t *room, struct job_socket *ret)
{
	const char *name;
	size_t len;
	int r;

	while ((r = io_line(table, line, room, &len)) == 0) {
		name = strchr(*line, '@');
		if (name && sscanf(name, "@" JOB_SOCKET_FORMAT, &ret->device, &ret->inode,
				   &ret->began) == 3)
			return 0;
	}
	return r;
}

/* Returns a descriptor and who has the name, or -errno; -EAGAIN: too many wait for that already. */
static int connect_to(const struct job_socket *job, struct ucred *ret)
{
	const struct sockaddr_un name = job_socket_name(job);
	SCOPE_CLOSE int fd = peer_socket(SOCK_NONBLOCK);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0)
		return -errno;
	return peer_find(fd, ret) < 0 ? -EACCES : steal_fd(&fd);
}

int mounts_ask_job(const char *path, const void *question, size_t len, struct buf *buf)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	int error = buf_reserve(buf, STATS_MAX), refused = -ENOENT;
	SCOPE_FILE FILE *table = fopen(JOBS_TABLE, "re");
	SCOPE_FREE char *line = NULL;
	SCOPE_CLOSE int latest = -1;
	struct iovec parts[] = {{&error, sizeof(error)}, {buf->data + buf->len, STATS_MAX}};
	unsigned long long began = 0;
	struct job_socket job;
	struct stat folder;
	size_t room = 0;
	ssize_t n;

	if (error < 0)
		return error;
	if (stat(path, &folder) < 0)
		return -ENOENT;
	while (table && next_job(table, &line, &room, &job) == 0) {
		SCOPE_CLOSE int fd = -1;
		struct ucred peer;

		if (job.device != folder.st_dev || job.inode != folder.st_ino || job.began <= began)
			continue;
		fd = connect_to(&job, &peer);
		if (fd >= 0 &&
		    (peer_is_trusted(&peer) || (geteuid() == 0 && peer_is(&peer, folder.st_uid)))) {
			scope_close(&latest);
			latest = steal_fd(&fd);
			began = job.began;
		} else if (fd != -ECONNREFUSED) {
			refused = fd == -EAGAIN ? -ETIMEDOUT : -EACCES;
		}
	}
	if (latest < 0)
		return refused;
	fcntl(latest, F_SETFL, 0); /* it waits for the answer */
	setsockopt(latest, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	send(latest, question, len, MSG_NOSIGNAL);
	n = readv(latest, parts, 2);
	if (n < (ssize_t)sizeof(error))
		return n < 0 && errno == EAGAIN ? -ETIMEDOUT : -ENOENT;
	if (error == 0)
		buf->len += (size_t)n - sizeof(error);
	return error;
}

static bool read_link(pid_t process, const char *name, char *ret, size_t size)
{
	char link[48];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/%s", process, name);
	len = readlink(link, ret, size - 1);
	ret[len < 0 ? 0 : len] = '\0';
	return len > 0;
}

/* Adds the folders of a user's jobs to those that were found, each once. */
static int jobs_of_user(uid_t uid, char **ret_paths, int count, int most)
{
	SCOPE_FILE FILE *table = fopen(JOBS_TABLE, "re");
	SCOPE_FREE char *line = NULL;
	char ours[64], theirs[64], path[PATH_MAX];
	struct job_socket job;
	size_t room = 0;

	while (table && count < most && next_job(table, &line, &room, &job) == 0) {
		struct ucred peer;
		SCOPE_CLOSE int fd = connect_to(&job, &peer);

		/* The server works in the folder, whose path is not looked up: it may be on storage
		 * that hangs. It must be seen from here. */
		if (fd < 0 || !peer_is(&peer, uid) ||
		    !read_link(getpid(), "ns/mnt", ours, sizeof(ours)) ||
		    !read_link(peer.pid, "ns/mnt", theirs, sizeof(theirs)) ||
		    strcmp(ours, theirs) != 0 || !read_link(peer.pid, "cwd", path, PATH_MAX) ||
		    mounts_names(ret_paths, count, path))
			continue;
		ret_paths[count] = strdup(path);
		count += ret_paths[count] != NULL;
	}
	return count;
}

/* --- both ---------------------------------------------------------------------------------- */

int mounts_here(char **ret_paths, int most)
{
	int count = mounts_find(MOUNTS_TABLE, getuid(), 0, ret_paths, most);

	return count < 0 ? count : jobs_of_user(getuid(), ret_paths, count, most);
}

/* Gives the reason, and where foldstat could look instead. */
static int refuse_path(const char *path, int error, const char *reason, struct err *err)
{
	const char *where = "its root is";
	SCOPE(buf_release) struct buf text = BUF_INIT;
	char *paths[NAMED_MOST];
	int count = 0, r = 0;
	struct stat st;

	if (stat(path, &st) == 0)
		count = mounts_find(MOUNTS_TABLE, MOUNTS_ANYBODY, st.st_dev, paths, NAMED_MOST);
	if (count <= 0) {
		where = "mounts:";
		count = mounts_find(MOUNTS_TABLE, MOUNTS_ANYBODY, 0, paths, NAMED_MOST);
		count = jobs_of_user(getuid(), paths, count < 0 ? 0 : count, NAMED_MOST);
	}
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = buf_addf(&text, "%s%s", i ? ", " : "", paths[i]);
		free(paths[i]);
	}
	if (r == 0 && count)
		return err_set(err, error, "%s; %s %s", reason, where, text.data);
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
	r = mounts_is_gone(error) ? mounts_ask_job(path, "?", 1, buf) : -ENOENT;
	return r == 0 ? 0 : mounts_explain(path, r == -ENOENT ? error : r, err);
}
