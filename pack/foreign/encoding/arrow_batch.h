/* The messages of Arrow that pyarrow.serialize() writes, as far as arrow.c needs them: a schema,
 * and where a record batch has the buffers of its columns. Columns and buffers are numbered as they
 * come, a parent before its children. */
#pragma once

#include "pack/foreign/source.h"

#define ARROW_COLUMNS  32
#define ARROW_CHILDREN 16
#define ARROW_BUFFERS  (3 * ARROW_COLUMNS)

/* The numbers that Arrow has for types. */
enum arrow_type {
	ARROW_NULL = 1,
	ARROW_INT = 2,
	ARROW_FLOAT = 3,
	ARROW_BINARY = 4,
	ARROW_TEXT = 5,
	ARROW_BOOL = 6,
	ARROW_DATE = 8,
	ARROW_LIST = 12,
	ARROW_STRUCT = 13,
	ARROW_UNION = 14,
};

struct arrow_column {
	enum arrow_type type;
	unsigned bits; /* of an int */
	unsigned children;
	unsigned child[ARROW_CHILDREN]; /* their columns */
	unsigned first_buffer;
};

struct arrow_place {
	uint64_t offset, size; /* in the file */
};

struct arrow_batch {
	unsigned version; /* of the metadata: from 4 on (Arrow 1.0) unions have no validity */
	unsigned columns, buffers;
	uint64_t rows;
	struct arrow_column column[ARROW_COLUMNS]; /* 0: the only one of the schema */
	struct arrow_place buffer[ARROW_BUFFERS];
};

enum arrow_kind { ARROW_END, ARROW_SCHEMA = 1, ARROW_RECORDS = 3, ARROW_TENSOR = 4 };

struct arrow_message {
	enum arrow_kind kind;
	unsigned version;
	const uint8_t *metadata; /* lives until the next read of the source */
	size_t len;
	size_t header;		  /* the table of its kind, in the metadata */
	uint64_t body, body_size; /* in the file; within what was given */
};

/* Reads a message, which begins at *at and ends before `end`; *at is moved past it. */
int arrow_message(struct foreign_source *source, uint64_t *at, uint64_t end,
		  struct arrow_message *ret, struct err *err);

/* The first of these makes the columns, the second one the buffers. 0; -EBADMSG; or -EOPNOTSUPP
 * where pyarrow.serialize() writes no such thing. */
int arrow_schema(const struct arrow_message *message, struct arrow_batch *ret, struct err *err);
int arrow_records(const struct arrow_message *message, struct arrow_batch *ret, struct err *err);
