/* A reader of a file of this machine's filesystems.
 *
 * Direct reads (O_DIRECT) go from the device into the caller's memory: one copy less, and the page
 * cache keeps none. Buffered reads go through the page cache: where the filesystem has no direct
 * ones, where the user asks for it, and where another mount of this machine reads the same file, so
 * that both share one copy. With READER_AUTO the copy that a buffered read leaves in the page cache
 * is dropped, unless another mount may use it. */
#ifndef BASE_READER_FILE_H
#define BASE_READER_FILE_H

#include "base/reader.h"

/* Opens a regular file. Returns 0, -EISDIR, -EINVAL (neither a file nor a directory), -ENOMEM, or
 * the error of open(2). */
int reader_file_open(const char *path, struct reader **ret);

/* A reader of a descriptor that is open for reading. It stays the caller's and must outlive the
 * reader. Returns 0 or -ENOMEM. */
int reader_file_borrow(int fd, struct reader **ret);

/* The descriptor, for buffered reads. It stays the reader's. */
int reader_file_fd(const struct reader *reader);

#endif
