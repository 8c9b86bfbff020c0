/* What a script (maker.h) asks of compressed pages, so that codecs are in one place: it is given
 * their bytes, or one is held, which files lie in, and is looked at as the file itself is. Not
 * thread-safe.
 */
#pragma once

#include "pack/foreign/tree.h"

struct maker_page {
	uint64_t record;	 /* for messages */
	uint64_t codec;		 /* as Parquet has it */
	uint64_t offset, packed; /* in the source */
	uint64_t unpacked;
};

struct maker_pages {
	struct buf held;	     /* unpacked */
	struct buf pieces;	     /* struct codec_piece */
	struct foreign_packed place; /* of these; without pieces: none is held */
};

void maker_pages_release(struct maker_pages *pages);

/* Both return 0, -EBADMSG, -ENOPKG (the codec, or over 64 MiB), -ENOSYS, -ENOMEM, or the
 * error of a read; err names the record. */
int maker_page_unpack(const struct maker_page *page, struct foreign_source *source, struct buf *ret,
		      struct err *err);
int maker_pages_hold(struct maker_pages *pages, const struct maker_page *page,
		     struct foreign_source *source, struct err *err);

/* Bytes of the page that is held; `pages` is NULL: of the source, as foreign_peek(). */
int maker_pages_look(const struct maker_pages *pages, struct foreign_source *source,
		     uint64_t offset, uint64_t len, const uint8_t **ret, size_t *ret_len);
/* Appends the sizes, in 32 bits, of up to `count` values in these bytes, which follow each other,
 * each behind its size: fewer where one is cut off. */
int maker_pages_sizes(const struct maker_pages *pages, struct foreign_source *source,
		      uint64_t offset, uint64_t len, uint64_t count, struct buf *ret);
