/* One tar as libarchive reads it: ustar, pax, GNU and the oldest; plain, or compressed by gzip,
 * bzip2, xz, zstd or lz4. A tar that follows its end is part of it, as in a concatenation.
 *
 * Names are kept byte for byte, whatever the locale. Members come in the order of the tar. What
 * they say about each other is not checked, and a tar inside it is a file; tar.h nests levels. One
 * thread. */
#ifndef PACK_TOOL_IMPORT_TAR_LEVEL_H
#define PACK_TOOL_IMPORT_TAR_LEVEL_H

#include "pack/tool/import/tar.h"
#include "pack/tool/import/tar_blocks.h"

struct tar_level;

/* Reads up to the first header. 0; one of the values below, with err; -ENOTSUP (the blocks are
 * compressed, and err says which program libarchive would need); or as tar_level_next(). `err` gets
 * the sentence of every failure of the level, and outlives it. */
#define TAR_LEVEL_NONE	  1 /* these blocks are no tar */
#define TAR_LEVEL_DAMAGED 2 /* they are compressed, and cannot be decompressed */
int tar_level_new(const struct tar_blocks *from, struct err *err, struct tar_level **ret);
/* The same for compressed bytes that are not a tar. Only tar_level_block() may follow. */
int tar_level_new_raw(const struct tar_blocks *from, struct err *err, struct tar_level **ret);
/* The same for a zip, by its directory. The descriptor stays the caller's, and is sought in. 0, or
 * as tar_level_next(). */
int tar_level_new_zip(int fd, struct err *err, struct tar_level **ret);
void tar_level_free(struct tar_level *level); /* NULL is fine */

/* The next member. Path and target are as in the tar, "" if it has none, and live until the next
 * call; it is never TAR_UNFIT or implied. 0; 1 at the end; -EBADMSG (err has what libarchive
 * found); -EACCES (it is encrypted); -ENOMEM; or what reading `from` returned. After a failure only
 * tar_level_free() may follow. */
int tar_level_next(struct tar_level *level, struct tar_entry *ret);

/* A tar_blocks's next, for the current file. Errors as above. */
ssize_t tar_level_block(void *level, const void **ret);

/* Skips the rest of the current member. tar_level_next() does so, too, but then the place of a
 * failure cannot be reported. */
int tar_level_finish(struct tar_level *level);

/* At the end: whether the tar had its end mark, as a whole tar has. */
bool tar_level_ended(const struct tar_level *level);

/* Bytes read of a zip, about. */
uint64_t tar_level_position(const struct tar_level *level);

#endif
