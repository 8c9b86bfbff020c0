/* statx(2), by the call itself: older C libraries have no function, or a struct without what is
 * asked for here. Any thread. */
#ifndef BASE_STATX_H
#define BASE_STATX_H

#include <stdint.h>
#include <sys/types.h>

/* The alignment that direct I/O needs, of memory and of offsets, in bytes; 0: there is no direct
 * I/O. Returns 0, or -errno: -EOPNOTSUPP if the filesystem does not say, as none does before Linux
 * 6.1. */
int statx_direct_io(int fd, uint32_t *ret_memory, uint32_t *ret_offset);

/* The device of what is at the path, as far as the kernel knows it without asking the filesystem.
 * Returns 0 or -errno. */
int statx_device(const char *path, dev_t *ret);

#endif
