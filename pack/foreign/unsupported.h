/* Formats that are recognised by their first bytes and not supported in place: what is
 * compressed as a whole, what a script of Python reads for foldpack create, and the text that a
 * checkout without its large files has in the place of each. Pure, but for unsupported_tell(). */
#pragma once

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct foreign_source;

#define UNSUPPORTED_HEAD 512 /* bytes that are looked at */

/* "gzip", "zstd", "xz", "bzip2", "lz4", or NULL. */
const char *compression_of(const void *head, size_t len);
/* Of zstd and lz4: the bytes of a frame that holds nothing, which pzstd writes first; or 0. */
uint64_t compression_skips(const void *head, size_t len);

/* The script that reads it, as in python/foldfs/sources/: "hdf5", "torch", or NULL. */
const char *script_of(const void *head, size_t len);

/* Returns 0: it is none of these; -EOPNOTSUPP: it is, and err says the way out; or the error of a
 * read. */
int unsupported_tell(struct foreign_source *source, struct err *err);
