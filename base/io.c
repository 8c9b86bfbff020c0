#include "base/io.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/scope.h"
#include "base/uapi.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define AT_POSITION ((off_t)-1) /* reads from the descriptor's position */

static ssize_t read_all(int fd, char *buf, size_t len, off_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = offset == AT_POSITION
				    ? read(fd, buf + done, len - done)
				    : pread(fd, buf + done, len - done, offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t io_pread(int fd, void *buf, size_t len, uint64_t offset)
{
	return offset > INT64_MAX ? -EINVAL : read_all(fd, buf, len, (off_t)offset);
}

int io_pread_full(int fd, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = io_pread(fd, buf, len, offset);

	if (n < 0)
		return (int)n;
	return (size_t)n < len ? -ENODATA : 0;
}

ssize_t io_read(int fd, void *buf, size_t len)
{
	return read_all(fd, buf, len, AT_POSITION);
}

/* Counts one transfer. A transfer of 0 bytes is an error, so that no loop is endless. */
static int io_advance(ssize_t n, size_t *done)
{
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EIO;
	*done += (size_t)n;
	return 0;
}

int io_line(FILE *file, char **line, size_t *room, size_t *ret_len)
{
	ssize_t len;

	errno = 0;
	len = getline(line, room, file);
	if (ferror(file) || (len < 0 && !feof(file)))
		return errno ? -errno : -EIO;
	if (len < 0)
		return 1;
	if (len > 0 && (*line)[len - 1] == '\n')
		(*line)[--len] = '\0';
	*ret_len = (size_t)len;
	return 0;
}

/* /dev/fd/N opens anew what a shell has opened, and a pipe without a name has a writer, or had one.
 */
bool io_is_given_pipe(int fd, const char *path)
{
	static const char *const given[] = {"/dev/fd/", "/proc/self/fd/", "/dev/stdin"};
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return false;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (strncmp(path, given[i], strlen(given[i])) == 0)
			return true;
	return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

int io_open_given(const char *path, struct err *err)
{
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISFIFO(st.st_mode) && !io_is_given_pipe(fd, path))
		return err_set(
			err, -ESPIPE,
			"a named pipe, whose writer is not waited for; a file, or <(COMMAND), "
			"can be read");
	if (!S_ISREG(st.st_mode) && fcntl(fd, F_SETFL, O_RDONLY) < 0)
		return -errno;
	return steal_fd(&fd);
}

FILE *io_fopen_given(const char *path, int *ret_error, struct err *err)
{
	int fd = io_open_given(path, err);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (file)
		return file;
	*ret_error = fd < 0 ? fd : -errno;
	scope_close(&fd);
	return NULL;
}

bool io_has_default_acl(int folder)
{
	return fgetxattr(folder, "system.posix_acl_default", NULL, 0) > 0;
}

int io_open_again(int fd, int flags)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

int io_write_full(int fd, const void *buf, size_t len)
{
	size_t done = 0;
	int r = 0;

	while (r == 0 && done < len)
		r = io_advance(write(fd, (const char *)buf + done, len - done), &done);
	return r;
}

int io_pwrite_full(int fd, const void *buf, size_t len, uint64_t offset)
{
	size_t done = 0;
	int r = 0;

	while (r == 0 && done < len)
		r = io_advance(
			pwrite(fd, (const char *)buf + done, len - done, (off_t)(offset + done)),
			&done);
	return r;
}

size_t io_write_now(int fd, const char *text, size_t len)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	size_t done = 0;
	ssize_t n = 1;

	while (n > 0 && done < len && poll(&room, 1, 0) > 0) {
		size_t some = len - done < PIPE_BUF ? len - done : PIPE_BUF;

		n = write(fd, text + done, some);
		done += n > 0 ? (size_t)n : 0;
	}
	return done;
}

bool io_is_refused(int error)
{
	switch (-error) {
	case EPERM:
	case EACCES:
	case ENOSYS:
	case EOPNOTSUPP:
	case EINVAL:
	case ENOTTY:
		return true;
	default:
		return false;
	}
}

int io_sync(int fd, int (*sync)(int fd))
{
	int r = sync(fd) < 0 ? -errno : 0;

	return io_is_refused(r) ? 1 : r;
}

static bool is_there(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* Not every filesystem knows the flag. */
int io_rename(const char *from, const char *to, bool replace)
{
	if (!replace) {
		int r = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

		if (r == 0 || !io_is_refused(-errno))
			return r < 0 ? -errno : 0;
		if (is_there(AT_FDCWD, to))
			return -EEXIST;
	}
	return rename(from, to) < 0 ? -errno : 0;
}

/* Without O_EXCL, what came into the place after the look is no file of ours if it has bytes, or
 * another name. */
static int create_shared(int folder, const char *name, int flags, mode_t mode)
{
	SCOPE_CLOSE int fd = is_there(folder, name) ? -1 : openat(folder, name, flags, mode);
	struct stat st;

	if (fd < 0)
		return is_there(folder, name) ? -EEXIST : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return !S_ISREG(st.st_mode) || st.st_size || st.st_nlink > 1 ? -EEXIST : steal_fd(&fd);
}

int io_create(int folder, const char *name, int flags, mode_t mode)
{
	int fd, error;

	flags |= O_CREAT | O_NOFOLLOW | O_CLOEXEC;
	flags |= flags & O_RDWR ? 0 : O_WRONLY;
	fd = openat(folder, name, flags | O_EXCL, mode);
	error = -errno;
	if (fd >= 0 || !io_is_refused(error))
		return fd < 0 ? error : fd;
	fd = create_shared(folder, name, flags, mode);
	return fd < 0 && fd != -EEXIST ? error : fd;
}

int io_write_parts(int fd, const struct iovec *parts, int count)
{
	int r = 0;

	for (int i = 0; r == 0 && i < count; i++)
		r = io_write_full(fd, parts[i].iov_base, parts[i].iov_len);
	return r;
}

void io_skip(struct iovec **parts, int *count, size_t done)
{
	for (; *count && done >= (*parts)->iov_len; ++*parts, --*count)
		done -= (*parts)->iov_len;
	if (*count) {
		(*parts)->iov_base = (char *)(*parts)->iov_base + done;
		(*parts)->iov_len -= done;
	}
}

/* The folder that a path is in, or -1 with errno. */
static int open_folder_of(const char *path, int flags, mode_t mode)
{
	SCOPE_FREE char *copy = strdup(path);

	return copy ? open(dirname(copy), flags | O_CLOEXEC, mode) : -1;
}

void io_sync_directory(const char *path)
{
	SCOPE_CLOSE int fd = open_folder_of(path, O_RDONLY | O_DIRECTORY, 0);

	if (fd >= 0)
		fsync(fd);
}

int io_link(int fd, int folder, const char *name)
{
	char opened[64];

	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, opened, folder, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* A name beside it that nobody has, not even a process that was killed before it took it away. */
static int name_beside(const char *path, struct buf *ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) < 0)
		return -errno;
	return buf_addf(ret, "%.*s%s%s.%07x", (int)(name - path), path, name[0] == '.' ? "" : ".",
			name, random >> 4);
}

/* Some filesystems report a full disk at close only. */
static int write_whole(int fd, const struct iovec *parts, int count)
{
	int again, r = io_write_parts(fd, parts, count);

	if (r < 0)
		return r;
	again = dup(fd);
	return again < 0 || close(again) < 0 ? -errno : 0;
}

/* Where the filesystem renames nothing. */
static int put_in_place(const char *path, mode_t mode, const struct iovec *parts, int count)
{
	SCOPE_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	int r = fd < 0 ? -errno : write_whole(fd, parts, count);

	if (r < 0 && fd >= 0)
		unlink(path);
	return r < 0 ? r : steal_fd(&fd);
}

/* `unnamed`: the file has no name until it is whole. */
static int put_file(const char *path, mode_t mode, bool unnamed, const struct iovec *parts,
		    int count)
{
	SCOPE(buf_release) struct buf temporary = BUF_INIT;
	SCOPE_CLOSE int fd = -1;
	bool named = !unnamed;
	int r = name_beside(path, &temporary);

	if (r < 0)
		return r;
	fd = unnamed ? open_folder_of(path, O_TMPFILE | O_RDWR, mode)
		     : io_create(AT_FDCWD, temporary.data, O_RDWR, mode);
	if (fd < 0)
		return unnamed ? -errno : fd;
	r = write_whole(fd, parts, count);
	if (r == 0 && unnamed) {
		r = io_link(fd, AT_FDCWD, temporary.data);
		named = r == 0;
	}
	if (r == 0)
		r = io_rename(temporary.data, path, true);
	if (r < 0 && named)
		unlink(temporary.data);
	if (io_is_refused(r) && named)
		return put_in_place(path, mode, parts, count);
	return r < 0 ? r : steal_fd(&fd);
}

/* Not all filesystems have unnamed files. */
int io_put(const char *path, mode_t mode, const struct iovec *parts, int count)
{
	int fd = put_file(path, mode, true, parts, count);

	return fd < 0 ? put_file(path, mode, false, parts, count) : fd;
}

mode_t io_umask(void)
{
	mode_t mask = umask(0777);

	umask(mask);
	return mask;
}

/* open() takes the least number that is free. */
void io_fill_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

enum which { ALL, INHERITED, INHERITED_TERMINALS };

/* The kernel lists descriptors in their order, so that closing one passes over no other. */
static void close_listed(int least, enum which which)
{
	SCOPE_DIR DIR *listing = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (listing && (entry = readdir(listing))) {
		int fd = (int)strtol(entry->d_name, NULL, 10); /* "." is 0 */

		if (fd >= least && fd != dirfd(listing) &&
		    (which == ALL || !(fcntl(fd, F_GETFD) & FD_CLOEXEC)) &&
		    (which != INHERITED_TERMINALS || isatty(fd)))
			close(fd);
	}
}

int io_unchanged(int fd, const struct stat *before)
{
	struct stat now;

	if (!S_ISREG(before->st_mode))
		return 0;
	if (fstat(fd, &now) < 0)
		return -errno;
	if (!S_ISREG(now.st_mode) || now.st_size != before->st_size ||
	    date_of(now.st_mtim) != date_of(before->st_mtim))
		return -ESTALE;
	return 0;
}

int io_check_end(int fd, uint64_t size)
{
	char more;
	ssize_t n = io_pread(fd, &more, 1, size);

	if (n == -ESPIPE)
		n = io_read(fd, &more, 1);
	return n > 0 ? -EOVERFLOW : (int)n;
}

int io_set_mode(int fd, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!((st.st_mode ^ mode) & 0777) && !(mode & ~st.st_mode))
		return 0;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

bool io_is_text(const char *path)
{
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	char head[512];
	ssize_t n = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
			    ? io_pread(fd, head, sizeof(head), 0)
			    : 0;

	return n <= 0 || !memchr(head, '\0', (size_t)n);
}

bool io_is_named(int fd, const char *path)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 && lstat(path, &there) == 0 && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

void io_close_from(int least)
{
	if (syscall(SYS_close_range, least, ~0U, 0) < 0)
		close_listed(least, ALL);
}

void io_close_inherited(int least)
{
	close_listed(least, INHERITED);
}

void io_close_inherited_terminals(int least)
{
	close_listed(least, INHERITED_TERMINALS);
}
