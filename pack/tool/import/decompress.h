/* Decompresses a file that gzip, bzip2, xz, zstd or lz4 has compressed as a whole, into a file, so
 * that any part of it can be read. */
#ifndef PACK_TOOL_IMPORT_DECOMPRESS_H
#define PACK_TOOL_IMPORT_DECOMPRESS_H

#include "base/err.h"
#include "base/reader.h"

/* Reads `from` from its position to its end, and writes to `to`. Returns 0; -EBADMSG (damaged or
 * cut off, with a sentence); -ENOTSUP (libarchive lacks the library: err says which); -ENOMEM;
 * -EINTR; or what reading or writing returned. */
int decompress(int from, int to, struct err *err);

/* The same for a part of a file. */
int decompress_part(struct reader *from, uint64_t offset, uint64_t len, int to, struct err *err);

#endif
