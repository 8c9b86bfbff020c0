/* The memory and the descriptors of a process whose call waits. By a thread's number, as the kernel
 * names who asks. Needs the rights of ptrace(2) over it, which an ancestor of the same user has. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read and write all of it. 0 or -errno. */
int job_read(pid_t pid, uint64_t address, void *ret, size_t len);
int job_write(pid_t pid, uint64_t address, const void *bytes, size_t len);
/* A text with its NUL. 0, -ERANGE: it is longer, or -errno. */
int job_read_text(pid_t pid, uint64_t address, char *ret, size_t room);

#define JOB_NAME 64 /* bytes of /proc/PID/fd/N */

/* The name in /proc of a descriptor, or of the working folder (AT_FDCWD). */
void job_name(pid_t pid, int fd, char ret[static JOB_NAME]);
/* What that leads to. 0 or -errno. */
int job_link(pid_t pid, int fd, char ret[static PATH_MAX]);
/* Where a descriptor is. Bytes, or places of a folder; or -errno. */
int64_t job_position(pid_t pid, int fd);
