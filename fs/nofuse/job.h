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
/* The same of the memory that is open, which stays that of this process, whatever its number
 * becomes. job_open() returns a descriptor or -errno. */
int job_open(pid_t pid);
int job_write_open(int memory, uint64_t address, const void *bytes, size_t len);
/* A text with its NUL. 0, -ERANGE: it is longer, or -errno. */
int job_read_text(pid_t pid, uint64_t address, char *ret, size_t room);

#define JOB_NAME 64 /* bytes of /proc/PID/fd/N */

/* The name in /proc of a descriptor, or of the working folder (AT_FDCWD). */
void job_name(pid_t pid, int fd, char ret[static JOB_NAME]);
/* What that leads to. 0 or -errno. */
int job_link(pid_t pid, int fd, char ret[static PATH_MAX]);

/* Marks a description, so that it is told from all others in each process that has it: by a number
 * from 1 up, below 2^63. 0 or -errno. */
int job_mark(int fd, uint64_t mark);
/* What a descriptor of a folder is. 0 or -errno. */
struct job_place {
	uint64_t mark; /* 0: none */
	off_t at;
	int flags; /* of open(2) */
};
int job_read_place(pid_t pid, int fd, struct job_place *ret);

/* The parent of a process; 0: it has none; or -errno. */
pid_t job_parent(pid_t pid);
/* The process of a thread, or -errno. */
pid_t job_leader(pid_t thread);
/* Whether an error says that foldfs is short of something, and nothing of the job. */
bool job_is_short(int error);

/* What names the user namespace of a process; "": that cannot be known. */
void job_space(pid_t pid, char ret[static JOB_NAME]);
/* Turns a user and a group into what a process calls them, by the maps of its namespace, where
 * these can be seen. 0, or -errno: foldfs is short of something. */
int job_ids(pid_t pid, uid_t *uid, gid_t *gid);
/* Whether a process, of the user namespace of this name, may do all that this one may. */
bool job_is_equal(pid_t pid, const char *space);
