/* Unpacks what gzip, bzip2, xz, zstd or lz4 has compressed, and members of a zip, into a file, so
 * that any part of it can be read.
 *
 * libarchive unpacks all but gzip and deflate. It ignores the checksums of gzip: it accepted 98 of
 * 100 archives in which one bit was flipped. Any thread. */
#pragma once

#include "pack/foreign/settings.h"

/* "libarchive 3.6.2" */
const char *unpack_library(void);

/* Unpacks `from`, or, where that is NULL, all that comes from the descriptor `stream`, such as a
 * pipe. Writes at the position of `to`. What is not compressed is copied. *ret_behind: bytes after
 * the end of what gzip or bzip2 has compressed, but zeros, which these programs pass with a
 * warning. Returns 0; -EBADMSG (damaged or cut off, with a sentence: what came before that was
 * written); -EOPNOTSUPP (another method of a zip, or libarchive lacks a library: err says which);
 * -ENOMEM; -EINTR (a signal asked foldpack to stop); or what reading or writing returned. */
int unpack(const struct foreign_compressed *from, int stream, int to, uint64_t *ret_behind,
	   struct err *err);
