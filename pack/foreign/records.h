/* What the script of maker.h gets to see of an LMDB: its records, and the ends of their values. */
#pragma once

#include "pack/foreign/source.h"

/* Appends the next records of the walk, so many at most: those from a key on, or from the smallest
 * one on where the key is empty; NULL: it goes on. At the end, none. For each: u16 length of the
 * key, u16 of the head, u64 offset of the value, u64 its size; the key; the head: of a value that
 * is in memory, the bytes that tell what it is. Returns 0, or as walker_seek(). */
int records_next(struct foreign_source *source, const char *key, uint64_t count, struct buf *out,
		 struct err *err);

/* How many bytes of a value are read: of a shorter one, all. */
struct records_ends {
	uint64_t head, tail;
};

/* Of a value, which is within the source. Returns 0, or as foreign_get(). */
int records_read(struct foreign_source *source, const struct records_ends *ends, uint64_t offset,
		 uint64_t size, struct buf *out, struct err *err);
/* They will be read soon, after those of values that were asked for before. */
void records_ask_for(struct foreign_source *source, const struct records_ends *ends,
		     uint64_t offset, uint64_t size);
