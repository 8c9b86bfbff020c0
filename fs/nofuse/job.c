#include "fs/nofuse/job.h"
#include "base/math.h"
#include "base/scope.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#define PIECE 4096 /* memory is mapped by so much, or by a multiple */

static struct iovec remote(uint64_t address, size_t len)
{
	return (struct iovec){(void *)(uintptr_t)address, len}; /* NOLINT: of another process */
}

int job_read(pid_t pid, uint64_t address, void *ret, size_t len)
{
	const struct iovec here = {ret, len}, there = remote(address, len);
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return n < 0 ? -errno : (size_t)n < len ? -EFAULT : 0;
}

int job_write(pid_t pid, uint64_t address, const void *bytes, size_t len)
{
	const struct iovec here = {(void *)(uintptr_t)bytes, len}, there = remote(address, len);
	ssize_t n = process_vm_writev(pid, &here, 1, &there, 1, 0);

	return n < 0 ? -errno : (size_t)n < len ? -EFAULT : 0;
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

int64_t job_position(pid_t pid, int fd)
{
	SCOPE_CLOSE int file = -1;
	char name[JOB_NAME], text[64];
	long long position;
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/%d/fdinfo/%d", pid, fd);
	file = open(name, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	len = read(file, text, sizeof(text) - 1);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	return sscanf(text, "pos: %lld", &position) == 1 ? position : -EPROTO;
}
