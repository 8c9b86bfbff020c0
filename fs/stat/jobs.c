#include "fs/stat/jobs.h"
#include "base/io.h"
#include "base/peer.h"
#include "base/scope.h"
#include "fs/job_socket.h"
#include "fs/stat/mounts.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define TABLE	   "/proc/net/unix"
#define ANSWER_MAX 65536
#define PATIENCE_S 5 /* with one that is stopped */

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

static bool shows(const struct job_socket *job, const struct stat *folder)
{
	return job->device == folder->st_dev && job->inode == folder->st_ino;
}

static bool is_believed(const struct ucred *peer, const struct stat *folder)
{
	return peer_is_trusted(peer) || (geteuid() == 0 && peer_is(peer, folder->st_uid));
}

/* Returns a descriptor, or -errno as jobs_ask(). */
static int connect_to_latest(const struct stat *folder)
{
	SCOPE_FILE FILE *table = fopen(TABLE, "re");
	SCOPE_FREE char *line = NULL;
	SCOPE_CLOSE int latest = -1;
	unsigned long long began = 0;
	struct job_socket job;
	size_t room = 0;
	int error = -ENOENT;

	while (table && next_job(table, &line, &room, &job) == 0) {
		SCOPE_CLOSE int fd = -1;
		struct ucred peer;

		if (!shows(&job, folder) || job.began <= began)
			continue;
		fd = connect_to(&job, &peer);
		if (fd >= 0 && is_believed(&peer, folder)) {
			scope_close(&latest);
			latest = steal_fd(&fd);
			began = job.began;
		} else if (fd != -ECONNREFUSED) {
			error = fd == -EAGAIN ? -ETIMEDOUT : -EACCES;
		}
	}
	return latest < 0 ? error : steal_fd(&latest);
}

int jobs_ask(const char *path, const void *question, size_t len, struct buf *buf)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	int error = buf_reserve(buf, ANSWER_MAX);
	SCOPE_CLOSE int fd = -1;
	struct iovec parts[] = {{&error, sizeof(error)}, {buf->data + buf->len, ANSWER_MAX}};
	struct stat folder;
	ssize_t n;

	if (error < 0)
		return error;
	if (stat(path, &folder) < 0)
		return -ENOENT;
	fd = connect_to_latest(&folder);
	if (fd < 0)
		return fd;
	fcntl(fd, F_SETFL, 0); /* it waits for the answer */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	send(fd, question, len, MSG_NOSIGNAL);
	n = readv(fd, parts, 2);
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

/* The server works in the folder, whose path is not looked up: it may be on storage that hangs.
 * False: it is not seen from here. */
static bool find_folder(pid_t server, char ret[static PATH_MAX])
{
	char ours[64], theirs[64];

	return read_link(getpid(), "ns/mnt", ours, sizeof(ours)) &&
	       read_link(server, "ns/mnt", theirs, sizeof(theirs)) && strcmp(ours, theirs) == 0 &&
	       read_link(server, "cwd", ret, PATH_MAX);
}

int jobs_of_user(uid_t uid, char **ret_paths, int count, int most)
{
	SCOPE_FILE FILE *table = fopen(TABLE, "re");
	SCOPE_FREE char *line = NULL;
	char path[PATH_MAX];
	struct job_socket job;
	size_t room = 0;

	while (table && count < most && next_job(table, &line, &room, &job) == 0) {
		struct ucred peer;
		SCOPE_CLOSE int fd = connect_to(&job, &peer);

		if (fd < 0 || !peer_is(&peer, uid) || !find_folder(peer.pid, path) ||
		    mounts_names(ret_paths, count, path))
			continue;
		ret_paths[count] = strdup(path);
		count += ret_paths[count] != NULL;
	}
	return count;
}
