/* What compresses a file as a whole, by its first bytes. Pure. */
#pragma once

#include <stddef.h>

#define COMPRESSION_HEAD 6 /* bytes that are looked at */

/* "gzip", "zstd", "xz", "bzip2", "lz4", or NULL. */
const char *compression_of(const void *head, size_t len);

/* The length of a path without the suffix that says so, as ".gz"; of all of it where it has none.
 */
size_t compression_stem(const char *path);
