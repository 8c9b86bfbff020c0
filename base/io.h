/* Whole reads and writes, the loops around short transfers and EINTR; lines of a text; and names on
 * the disk. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Reads up to len bytes at offset; fewer only at the end of the file.
 * Returns the bytes read or -errno. */
ssize_t io_pread(int fd, void *buf, size_t len, uint64_t offset);

/* As io_pread, but a file that ends early is -ENODATA. Returns 0 or -errno. */
int io_pread_full(int fd, void *buf, size_t len, uint64_t offset);

/* Reads up to len bytes from the position; fewer only at the end. */
ssize_t io_read(int fd, void *buf, size_t len);

/* Reads the next line, and cuts off its end; the last one need not have any. `line` and `room` are
 * as getline() has them: NULL and 0 at first, the line for the caller to free. Returns 0, 1 after
 * the last line, or -errno: of a line that was cut off by an error nothing is returned. */
int io_line(FILE *file, char **line, size_t *room, size_t *ret_len);

/* Writes all of it. Return 0 or -errno. */
int io_write_full(int fd, const void *buf, size_t len);
int io_pwrite_full(int fd, const void *buf, size_t len, uint64_t offset);

/* Has the names in the directory of `path` reach the disk: those made, renamed and removed. A
 * directory that cannot be synced is no failure. */
void io_sync_directory(const char *path);

#endif
