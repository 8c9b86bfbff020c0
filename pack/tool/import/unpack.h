/* What gzip, bzip2, xz, zstd or lz4 have compressed, unpacked block by block. One thread. */
#ifndef PACK_TOOL_IMPORT_UNPACK_H
#define PACK_TOOL_IMPORT_UNPACK_H

#include "base/err.h"
#include "pack/tool/import/tar_blocks.h"

enum unpack_as {
	UNPACK_FOUND, /* what its first bytes say; what is not compressed passes through */
	UNPACK_GZIP,
	UNPACK_BZIP2,
	UNPACK_LZMA,
	UNPACK_XZ,
	UNPACK_ZSTD,
};

struct unpack;

/* "libarchive 3.6.2": the library that unpacks all but gzip. */
const char *unpack_library(void);

/* Reads the first bytes. `err` gets the sentence of every failure, and outlives it. 0, -EBADMSG
 * (damaged), -ENOTSUP (libarchive needs a program, which err names), -ENOMEM, or what `from` gave.
 */
int unpack_new(const struct tar_blocks *from, enum unpack_as as, struct err *err,
	       struct unpack **ret);
void unpack_free(struct unpack *unpack); /* NULL is fine */

/* A tar_blocks's next. Errors as above. */
ssize_t unpack_next(void *unpack, const void **ret);

#endif
