#include "fs/nofuse/job.h"
#include "base/math.h"
#include "base/scope.h"
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PIECE	    4096  /* memory is mapped by so much, or by a multiple */
#define OVERFLOW_ID 65534 /* what the kernel calls those that a namespace has not */

void opener_waits(struct opener *opener)
{
	if (opener->waits)
		opener->waits(opener->context);
	opener->waits = NULL;
}

int job_open(pid_t pid)
{
	char name[JOB_NAME];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	fd = open(name, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int copy_open(int memory, uint64_t address, const struct iovec *here, bool write)
{
	ssize_t n = write ? pwrite(memory, here->iov_base, here->iov_len, (off_t)address)
			  : pread(memory, here->iov_base, here->iov_len, (off_t)address);

	return n < 0 && errno != EIO ? -errno : n < 0 || (size_t)n < here->iov_len ? -EFAULT : 0;
}

/* Where a container's profile refuses the call that is made for it, as Docker's did before 23.0. */
static int copy_by_file(pid_t pid, uint64_t address, const struct iovec *here, bool write)
{
	SCOPE_CLOSE int memory = job_open(pid);

	return memory < 0 ? memory : copy_open(memory, address, here, write);
}

static int copy(pid_t pid, uint64_t address, const struct iovec *here, bool write)
{
	/* NOLINTNEXTLINE: of another process */
	const struct iovec there = {(void *)(uintptr_t)address, here->iov_len};
	ssize_t n = write ? process_vm_writev(pid, here, 1, &there, 1, 0)
			  : process_vm_readv(pid, here, 1, &there, 1, 0);

	if (n < 0 && (errno == EPERM || errno == ENOSYS))
		return copy_by_file(pid, address, here, write);
	return n < 0 ? -errno : (size_t)n < here->iov_len ? -EFAULT : 0;
}

int job_read(pid_t pid, uint64_t address, void *ret, size_t len)
{
	return copy(pid, address, &(const struct iovec){ret, len}, false);
}

int job_write(pid_t pid, uint64_t address, const void *bytes, size_t len)
{
	return copy(pid, address, &(const struct iovec){(void *)(uintptr_t)bytes, len}, true);
}

int job_write_open(int memory, uint64_t address, const void *bytes, size_t len)
{
	return copy_open(memory, address, &(const struct iovec){(void *)(uintptr_t)bytes, len},
			 true);
}

/* What follows the text may not be mapped. */
int job_read_text(pid_t pid, uint64_t address, char *ret, size_t room)
{
	size_t len = 0;

	while (len < room) {
		size_t piece = min(room - len, (size_t)(PIECE - (address + len) % PIECE));
		int r = job_read(pid, address + len, ret + len, piece);

		if (r < 0)
			return r;
		if (memchr(ret + len, '\0', piece))
			return 0;
		len += piece;
	}
	return -ERANGE;
}

void job_name(pid_t pid, int fd, char ret[static JOB_NAME])
{
	if (fd == AT_FDCWD)
		snprintf(ret, JOB_NAME, "/proc/%d/cwd", pid);
	else
		snprintf(ret, JOB_NAME, "/proc/%d/fd/%d", pid, fd);
}

int job_link(pid_t pid, int fd, char ret[static PATH_MAX])
{
	char name[JOB_NAME];
	ssize_t len;

	job_name(pid, fd, name);
	len = readlink(name, ret, PATH_MAX);
	if (len < 0 || len == PATH_MAX)
		return len < 0 ? -errno : -ENAMETOOLONG;
	ret[len] = '\0';
	return 0;
}

/* Reads the beginning of a file of /proc as a text. 0 or -errno. */
static int read_proc(pid_t pid, const char *name, char *ret, size_t room)
{
	SCOPE_CLOSE int file = -1;
	char path[JOB_NAME];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	len = file < 0 ? -1 : read(file, ret, room - 1);
	if (len < 0)
		return -errno;
	ret[len] = '\0';
	return 0;
}

/* A lock is of the description, and fdinfo shows it. Nobody can write to a folder, so no lock of
 * another is in its way. */
int job_mark(int fd, uint64_t mark)
{
	struct flock lock = {.l_type = F_RDLCK, .l_start = (off_t)mark, .l_len = 1};

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

int job_read_place(pid_t pid, int fd, struct job_place *ret)
{
	char name[32], text[512];
	struct job_place place = {0};
	const char *lock;
	unsigned flags;
	int r;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	r = read_proc(pid, name, text, sizeof(text));
	if (r < 0)
		return r;
	if (sscanf(text, "pos: %jd flags: %o", (intmax_t *)&place.at, &flags) != 2)
		return -EBADF;
	place.flags = (int)flags;
	lock = strstr(text, "OFDLCK");
	if (lock && sscanf(lock, "%*s %*s %*s %*s %*s %" SCNu64, &place.mark) != 1)
		place.mark = 0;
	*ret = place;
	return 0;
}

/* The name, which comes second, may have anything in it. */
pid_t job_parent(pid_t pid)
{
	char text[512], *end;
	pid_t parent;
	int r = read_proc(pid, "stat", text, sizeof(text));

	if (r < 0)
		return r;
	end = strrchr(text, ')');
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : -EPROTO;
}

/* The kernel takes its time for a status: one that can be had for the asking is a process. */
pid_t job_leader(pid_t thread)
{
	SCOPE_CLOSE int process = (int)syscall(SYS_pidfd_open, thread, 0);
	char text[4096];
	const char *line;
	pid_t leader;
	int r = process < 0 ? read_proc(thread, "status", text, sizeof(text)) : 0;

	if (process >= 0)
		return thread;
	if (r < 0)
		return r;
	line = strstr(text, "\nTgid:");
	return line && sscanf(line, " Tgid: %d", &leader) == 1 ? leader : -EPROTO;
}

bool job_is_short(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

void job_space(pid_t pid, char ret[static JOB_NAME])
{
	char name[JOB_NAME];
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/%d/ns/user", pid);
	len = readlink(name, ret, JOB_NAME - 1);
	ret[len < 0 ? 0 : len] = '\0';
}

/* A line is: the first one there, the first one here, how many. What cannot be seen stays as it is.
 */
static int map_id(pid_t pid, const char *map, uint32_t *id)
{
	char text[4096], *line = text;
	uint32_t there, here, count;
	int len = 0, r = read_proc(pid, map, text, sizeof(text));

	if (r < 0)
		return job_is_short(r) ? r : 0;
	for (; sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu32 "%n", &there, &here, &count, &len) ==
	       3;
	     line += len)
		if (*id >= here && *id - here < count) {
			*id = there + (*id - here);
			return 0;
		}
	*id = OVERFLOW_ID;
	return 0;
}

int job_ids(pid_t pid, uid_t *uid, gid_t *gid)
{
	int r = map_id(pid, "uid_map", uid);

	return r < 0 ? r : map_id(pid, "gid_map", gid);
}

/* 0: this process. */
static uint64_t capabilities(pid_t pid)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, pid};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	syscall(SYS_capget, &header, data);
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

bool job_is_equal(pid_t pid, const char *space)
{
	uint64_t own = capabilities(0);
	char found[JOB_NAME];

	if (!own || own & ~capabilities(pid))
		return false;
	job_space(pid, found);
	return strcmp(found, space) == 0;
}
