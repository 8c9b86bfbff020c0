/* What unpacks compressed pages: libraries of the system, loaded when first needed. */
#ifndef PACK_FOREIGN_CODEC_H
#define PACK_FOREIGN_CODEC_H

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

/* The numbers that Parquet has for them. */
enum codec { CODEC_NONE, CODEC_SNAPPY, CODEC_GZIP, CODEC_ZSTD = 6 };

/* Exactly `ret_len` bytes. Any thread. Returns 0, -EBADMSG (it is not that), -ENOSYS (the library
 * is missing) or -EOPNOTSUPP (another codec); err says it. */
int codec_unpack(enum codec codec, const void *packed, size_t len, void *ret, size_t ret_len,
		 struct err *err);

#endif
