/* The end of a Parquet file (apache/parquet-format, parquet.thrift): its columns, where they lie,
 * and what the writer noted.
 *
 *	"PAR1" | pages | footer: FileMetaData | u32 bytes of the footer | "PAR1" */
#pragma once

#include "pack/foreign/encoding/thrift.h"
#include "pack/foreign/source.h"

enum parquet_type {
	PARQUET_BOOLEAN,
	PARQUET_INT32,
	PARQUET_INT64,
	PARQUET_BYTES = 6,
};

struct parquet_leaf {
	char *name; /* as "image.bytes", on the heap */
	enum parquet_type type;
	unsigned optional; /* fields of its path that are: its greatest definition level */
	bool repeated;
	bool text; /* bytes that are UTF-8 */
};

struct parquet_group {
	uint64_t rows;
	size_t chunks; /* one for each leaf */
};

/* A column of a row group. */
struct parquet_chunk {
	unsigned codec;
	uint64_t values;
	uint64_t offset, size; /* in the file, of all its pages */
};

struct parquet_footer {
	struct buf bytes;
	struct buf leaves;  /* struct parquet_leaf */
	struct buf groups;  /* struct parquet_group */
	struct buf chunks;  /* struct parquet_chunk: of each row group one for each leaf */
	uint64_t all_bytes; /* of these: at most as many as the file has */
	struct foreign_text huggingface; /* JSON; within `bytes` */
};

int parquet_footer_probe(struct foreign_source *source);
/* Returns 0, -EBADMSG, -EOPNOTSUPP, -ENOMEM, or the error of a read. */
int parquet_footer_read(struct foreign_source *source, struct parquet_footer *ret, struct err *err);
void parquet_footer_release(struct parquet_footer *footer);

static inline const struct parquet_leaf *parquet_leaves(const struct parquet_footer *footer)
{
	return BUF_ITEMS(&footer->leaves, const struct parquet_leaf);
}

static inline unsigned parquet_leaf_count(const struct parquet_footer *footer)
{
	return (unsigned)BUF_COUNT(&footer->leaves, struct parquet_leaf);
}
