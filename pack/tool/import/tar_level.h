/* One tar as libarchive reads it: ustar, pax, GNU and the oldest; plain, or compressed by gzip,
 * bzip2, xz, zstd or lz4. A tar after its end is part of it, as of a concatenation.
 *
 * Names are kept byte for byte, whatever the locale. Members come in the order of the tar; what
 * they say about each other is not checked, and a tar inside it is a file. tar.h nests levels. One
 * thread. */
#ifndef PACK_TOOL_IMPORT_TAR_LEVEL_H
#define PACK_TOOL_IMPORT_TAR_LEVEL_H

#include "pack/tool/import/tar.h"
#include "pack/tool/import/tar_blocks.h"

struct tar_level;

/* Reads up to the first header. 0; one of these, with err; -ENOTSUP (they are compressed, and err
 * says which program libarchive would need); or as tar_level_next(). `err` gets the words of every
 * failure of the level, and outlives it. */
#define TAR_LEVEL_NONE	  1 /* these blocks are no tar */
#define TAR_LEVEL_DAMAGED 2 /* they are compressed, and cannot be decompressed */
int tar_level_new(const struct tar_blocks *from, struct err *err, struct tar_level **ret);
/* The same of bytes that are compressed, and no tar: only tar_level_block() may follow. */
int tar_level_new_raw(const struct tar_blocks *from, struct err *err, struct tar_level **ret);
/* The same of a zip, by its directory; the descriptor stays the caller's, and is sought in. 0, or
 * as tar_level_next(). */
int tar_level_new_zip(int fd, struct err *err, struct tar_level **ret);
void tar_level_free(struct tar_level *level); /* NULL is fine */

/* The next member, its path and target as the tar has them, until the next call, "" where it has
 * none; never TAR_UNFIT or implied. 0; 1 at the end; -EBADMSG (err has what libarchive found);
 * -EACCES (it is encrypted); -ENOMEM; what reading `from` gave. After a failure nothing but
 * tar_level_free() may follow. */
int tar_level_next(struct tar_level *level, struct tar_entry *ret);

/* A tar_blocks's next, of the file in hand; errors as above. */
ssize_t tar_level_block(void *level, const void **ret);

/* Skips what is left of the member in hand. tar_level_next() does so, too, but then a failure
 * cannot be reported with its place. */
int tar_level_finish(struct tar_level *level);

/* At its end: whether the end mark of a whole tar was there. */
bool tar_level_ended(const struct tar_level *level);

/* Bytes read of a zip, about. */
uint64_t tar_level_position(const struct tar_level *level);

#endif
