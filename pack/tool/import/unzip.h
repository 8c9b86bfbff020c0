/* A zip whose files are compressed becomes one whose files are stored, so that any part of it can
 * be read. */
#ifndef PACK_TOOL_IMPORT_UNZIP_H
#define PACK_TOOL_IMPORT_UNZIP_H

#include "base/err.h"

/* Reads the zip `from` of this name, which stays as it is, and writes to `to`, which is empty.
 * Files may be compressed by deflate, bzip2, lzma, xz and zstd; their checksums are compared.
 * Returns 0; 1: it is no zip, or there is nothing to unpack; -EBADMSG (damaged, with a sentence);
 * -EOPNOTSUPP (encrypted, or another compression); -ENOMEM; -EINTR; or what reading or writing
 * returned. */
int unzip(int from, const char *name, int to, struct err *err);

#endif
