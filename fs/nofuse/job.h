/* The memory and the descriptors of a process whose call waits. By a thread's number, as the kernel
 * names who asks. Needs the rights of ptrace(2) over it, which an ancestor of the same user has. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Who asks, and is told once before it waits, or takes long. */
struct opener {
	uint32_t reader;
	void (*waits)(void *context);
	void *context;
};

void opener_waits(struct opener *opener);

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
/* What of a description tells it from all others that foldfs has marked: a number from 1 up, which
 * job_read_mark() finds in each process that has it. 0 or -errno; -EBADF: it has none. */
int job_mark(int fd, uint64_t mark);
int job_read_mark(pid_t pid, int fd, uint64_t *ret);
/* The parent of a process; 0: it has none; or -errno. */
pid_t job_parent(pid_t pid);
/* Whether an error says that foldfs is short of something, and nothing of the job. */
bool job_is_short(int error);

/* What names the user namespace of a process; "": that cannot be known. */
void job_space(pid_t pid, char ret[static JOB_NAME]);
/* What a process calls a user or group, by the map of its namespace: "uid_map", "gid_map". */
uint32_t job_id(pid_t pid, const char *map, uint32_t id);
