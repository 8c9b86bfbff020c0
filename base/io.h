/* Reads and writes that complete: loops around short transfers and EINTR. Also lines of a text, and
 * names on the disk. */
#pragma once

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Reads up to len bytes at offset; fewer only at the end of the file.
 * Returns the bytes read or -errno. */
ssize_t io_pread(int fd, void *buf, size_t len, uint64_t offset);

/* As io_pread, but a file that ends early is -ENODATA. Returns 0 or -errno. */
int io_pread_full(int fd, void *buf, size_t len, uint64_t offset);

/* Reads up to len bytes from the position; fewer only at the end. */
ssize_t io_read(int fd, void *buf, size_t len);

/* Reads the next line, without its newline, which the last line need not have. `line` and `room`
 * are those of getline(): NULL and 0 at first, and the caller frees the line. Returns 0, 1 after
 * the last line, or -errno; then the line is not valid. */
int io_line(FILE *file, char **line, size_t *room, size_t *ret_len);

/* Whether a file that is open is a pipe that this process was given: by <(COMMAND) of a shell, or
 * by a redirection, as /dev/fd/3 or /dev/stdin. A named pipe may have no writer, ever. */
bool io_is_given_pipe(int fd, const char *path);

/* Opens a file that the user names, to be read from its beginning to its end. A named pipe would
 * wait for a writer, which may never come, and is refused, unless it was given. Returns a
 * descriptor, or -errno; -ESPIPE: a named pipe. */
int io_open_given(const char *path, struct err *err);
/* The same as a stream. NULL: *ret_error is set. */
FILE *io_fopen_given(const char *path, int *ret_error, struct err *err);

/* Whether a folder hands its access control list down to what is made in it. */
bool io_has_default_acl(int folder);

/* Opens the file of a descriptor again, whatever its name leads to now. Needs /proc. Returns a
 * descriptor, which exec() closes, or -errno. */
int io_open_again(int fd, int flags);

/* Write all of it. Return 0 or -errno. */
int io_write_full(int fd, const void *buf, size_t len);
int io_pwrite_full(int fd, const void *buf, size_t len, uint64_t offset);
int io_write_parts(int fd, const struct iovec *parts, int count); /* one after the other */

/* Takes off what was read or written of parts: their first bytes. */
void io_skip(struct iovec **parts, int *count, size_t done);

/* Whether a call failed as a filesystem does not have it, or not for this user: as chmod(2) of one
 * without modes, or of files that belong to another. */
bool io_is_refused(int error);

/* Makes a file, to write to, where nothing is; in a folder that is open, or AT_FDCWD. `flags` come
 * on top, as O_RDWR. Returns a descriptor or -errno. */
int io_create(int folder, const char *name, int flags, mode_t mode);

/* Gives an open file, which may have none, a name in a folder, where nothing is. Needs /proc. 0 or
 * -errno. */
int io_link(int fd, int folder, const char *name);

/* Brings a file to the disk by `sync`, fsync() or fdatasync(). Returns 0; 1: that is refused, so
 * that the file is there when the filesystem sees fit; or -errno. */
int io_sync(int fd, int (*sync)(int fd));

/* Makes or replaces a file of these parts, which appears under its name when it is whole, unless
 * the filesystem renames nothing. Returns a descriptor of it, or -errno. */
int io_put(const char *path, mode_t mode, const struct iovec *parts, int count);

/* Writes what fits at once into a pipe, terminal or socket. Another writer of the same pipe may
 * take the room first: then it waits, unless the descriptor does not (O_NONBLOCK). Returns the
 * number of bytes. */
size_t io_write_now(int fd, const char *text, size_t len);

/* Syncs the directory of `path`, so that names made, renamed and removed there reach the disk. A
 * directory that cannot be synced is not an error. */
void io_sync_directory(const char *path);

/* Renames a file. With `replace` false, nothing may have the new name; else it is -EEXIST. Returns
 * 0 or -errno. */
int io_rename(const char *from, const char *to, bool replace);

/* The bits that no new file gets. A file that another thread makes meanwhile gets none at all. */
mode_t io_umask(void);

/* Whether a regular file still has the size and the time (as far as date.h tells) of `before`. 0,
 * also where that was none, as a pipe; -ESTALE (it has changed); or -errno. */
int io_unchanged(int fd, const struct stat *before);

/* Whether a file has no more bytes than its size says, as those of /proc have, or one that grows.
 * Its position is at that size, or does not matter. 0, -EOVERFLOW (it has more), or -errno. */
int io_check_end(int fd, uint64_t size);
#define IO_HAS_MORE  "has more bytes than its filesystem says; what 'cp' makes of it can be read"
#define IO_HAS_FEWER "has fewer bytes than its filesystem says"

/* Gives what was just made the mode that it was to get, should the umask have changed that. Only a
 * call where it has. Returns 0 or -errno. */
int io_set_mode(int fd, mode_t mode);

/* False for a file that begins as no text does: with a zero byte in its first 512. */
bool io_is_text(const char *path);

/* Whether a path is still a name of the file that is open. Links are not followed. */
bool io_is_named(int fd, const char *path);

/* Opens those of the descriptors 0 to 2 that are closed, so that no file gets a number that is read
 * from or written to by those who do not know of it. Both still fail, with EBADF. */
void io_fill_standard(void);

/* Closes all descriptors from `least` on. Before Linux 5.9 that needs /proc. */
void io_close_from(int least);

/* Closes those from `least` on that are not closed by exec(): what the program was started with,
 * such as the lock of a script. Needs /proc. */
void io_close_inherited(int least);
void io_close_inherited_terminals(int least); /* those of them */
