/* statx(2), by the call itself: older C libraries have no function, or a struct without what is
 * asked for here. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The alignment that direct I/O needs, of memory and of offsets, in bytes; 0: there is no direct
 * I/O. Returns 0, or -errno: -EOPNOTSUPP if the filesystem does not say, as none does before Linux
 * 6.1. */
int statx_direct_io(int fd, uint32_t *ret_memory, uint32_t *ret_offset);

/* What a file is, whatever its name: a number is given to another once a file is removed, so that
 * the time counts at which it was made (0: unknown). */
struct statx_file {
	dev_t device;
	uint64_t inode;
	int64_t made;	/* ns */
	mode_t type;	/* S_IFDIR and so on */
	uint64_t mount; /* its number; before Linux 5.8, of no meaning */
};

/* What is at the path from the folder ("": itself), as far as the kernel knows it without asking
 * the filesystem. A link is not followed. Returns 0 or -errno. */
int statx_file(int folder, const char *path, struct statx_file *ret);

static inline bool statx_is_same(const struct statx_file *a, const struct statx_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->made == b->made;
}
