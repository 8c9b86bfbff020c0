/* The values of a column of a row group, one after the other (apache/parquet-format, README.md and
 * Encodings.md): data pages v1 and v2, plain or by a dictionary. Bytes are not copied: a value is a
 * place in the file, or in an unpacked page. Not thread-safe. */
#pragma once

#include "pack/foreign/record/parquet_footer.h"
#include "pack/foreign/record/parquet_runs.h"

/* The bytes of a page: in the file, or, unpacked, in memory. */
struct parquet_body {
	struct foreign_source *source;
	struct buf unpacked;
	struct buf pieces; /* struct codec_piece */
	bool in_memory;
	uint64_t offset; /* in the file */
	uint64_t size;
};

struct parquet_value {
	bool null;
	bool in_memory;	 /* its bytes are in body->unpacked */
	uint64_t offset; /* in the file, or in the body */
	uint64_t size;
	int64_t number;
	const struct parquet_body *body;
};

/* A value without its page. */
struct parquet_entry {
	int64_t number; /* or where the bytes are, as in struct parquet_value */
	uint64_t size;
};

struct parquet_column {
	struct foreign_source *source;
	const struct parquet_leaf *leaf;
	unsigned codec;
	bool load;
	uint64_t at, end; /* of its pages */
	struct parquet_body page, dictionary;
	struct buf entries; /* struct parquet_entry of the dictionary */
	struct buf levels, indices;
	struct parquet_runs level, index;
	uint64_t left; /* values of the page */
	uint64_t next; /* byte of the page's values */
	bool by_dictionary;
};

/* `load`: small pages are kept in memory, so that other columns can be read meanwhile without going
 * back and forth in the file. */
void parquet_column_init(struct parquet_column *column, struct foreign_source *source,
			 const struct parquet_leaf *leaf, const struct parquet_chunk *chunk,
			 bool load);
/* The next value, and how many rows of `most` have it, one at least: the pages may say of many at
 * once that they have none, or the same. Returns 0, -EBADMSG (also where there are no more),
 * -EOPNOTSUPP, or what reading gave. */
int parquet_column_next(struct parquet_column *column, uint64_t most, struct parquet_value *ret,
			uint64_t *ret_count, struct err *err);
void parquet_column_release(struct parquet_column *column);
