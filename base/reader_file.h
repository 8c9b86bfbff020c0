/* A reader of a file in a filesystem of this machine.
 *
 * Direct reads (O_DIRECT) go from the device into the caller's memory: one copy less, and none in
 * the page cache. Buffered reads go through the page cache. They are used if the filesystem has no
 * direct reads, if the user asks for it, and if another mount of this machine reads the same file,
 * so that both share one copy. With READER_AUTO, the copy that a buffered read leaves in the page
 * cache is dropped, unless another mount may use it.
 *
 * On a filesystem of other machines, a failure may pass: the server fails over, or the filesystem
 * is mounted again. So reads that fail may be repeated (base/outage.h), after the file was opened
 * again by its path. Not on a local one: the kernel has repeated what a disk did not read, and
 * readers would wait for each bad sector. */
#pragma once

#include "base/reader.h"

/* Opens a regular file. Returns 0, -EISDIR, -EINVAL (neither a file nor a directory), -ENOMEM, or
 * the error of open(2). */
int reader_file_open(const char *path, struct reader **ret);
/* The same of the file of a descriptor, which stays the caller's: as io_open_again(). */
int reader_file_open_again(int fd, struct reader **ret);

/* From the next reader_prepare() on, repeats reads that fail for up to `seconds`, if the filesystem
 * is one of other machines. `path` leads to the file, from any folder; a file there of another size
 * or time of writing is not read. `notice`: as in base/outage.h. Without memory for it, nothing is
 * repeated. */
void reader_file_retry(struct reader *reader, const char *path, uint64_t seconds,
		       void (*notice)(const char *line));

/* A reader of a descriptor that is open for reading. The caller owns the descriptor, which must
 * outlive the reader. Returns 0 or -ENOMEM. */
int reader_file_borrow(int fd, struct reader **ret);

/* The descriptor for buffered reads. The reader owns it. */
int reader_file_fd(const struct reader *reader);
