/* Unpacks compressed pages by libraries of the system, which are loaded when first
 * needed. Any thread. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* The numbers that Parquet has for them, and two of our own. GZIP is also zlib. */
enum codec {
	CODEC_NONE,
	CODEC_SNAPPY,
	CODEC_GZIP,
	CODEC_ZSTD = 6,
	CODEC_SNAPPY_PIECE = 64, /* elements of snappy, without the length in front */
	CODEC_HOLE = 66		 /* none: bytes as they are, then zeros (virtual.h) */
};

/* Returns 0, -ENOSYS (the library is missing) or -EOPNOTSUPP (another codec); err says it. */
int codec_check(enum codec codec, struct err *err);

/* Unpacks exactly `ret_len` bytes. Returns 0, -EBADMSG (damaged, or of another size), -ENOMEM, or
 * as codec_check(). */
int codec_unpack(enum codec codec, const void *packed, size_t len, void *ret, size_t ret_len,
		 struct err *err);

/* A part that unpacks by itself. */
struct codec_piece {
	size_t offset;		   /* of the packed bytes */
	uint32_t packed, unpacked; /* bytes; of all pieces but the last, unpacked is a multiple of
				      64 KiB */
	enum codec codec;
};

/* Appends pieces that codec_unpack() unpacks one by one: of 128 KiB each for what the library of
 * snappy wrote, otherwise a single one. Returns 0 or -ENOMEM. */
int codec_split(enum codec codec, const void *packed, size_t len, size_t unpacked, struct buf *ret);
