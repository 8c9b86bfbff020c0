/* Thrift's compact protocol, as far as Parquet has it: a struct in memory, field by field.
 *
 * What does not lie within the bytes sets `bad`, which stays, and reads as nothing. Not
 * thread-safe. */
#pragma once

#include "pack/foreign/text.h"
#include <stdbool.h>

struct thrift {
	const uint8_t *at, *end;
	bool bad;
};

enum thrift_type {
	THRIFT_STOP,
	THRIFT_TRUE,
	THRIFT_FALSE,
	THRIFT_I8,
	THRIFT_I16,
	THRIFT_I32,
	THRIFT_I64,
	THRIFT_DOUBLE,
	THRIFT_BINARY,
	THRIFT_LIST,
	THRIFT_SET,
	THRIFT_MAP,
	THRIFT_STRUCT,
};

struct thrift_field {
	int id; /* 0 before the first */
	enum thrift_type type;
};

/* The next field of a struct; false at its end. Its value is to be read, or skipped. */
bool thrift_next(struct thrift *thrift, struct thrift_field *field);
void thrift_skip(struct thrift *thrift, enum thrift_type type);

/* A field that is wanted: a number, or a text; the other is NULL. */
struct thrift_want {
	int id;
	int64_t *number;
	struct foreign_text *text;
};

/* Reads a struct to its end: what is wanted, and skips the rest. */
void thrift_read(struct thrift *thrift, const struct thrift_want *wants, size_t count);

/* The value of a field. A field of another type is skipped, and 0 or no text is returned. */
int64_t thrift_int(struct thrift *thrift, enum thrift_type type);
struct foreign_text thrift_text(struct thrift *thrift, enum thrift_type type);
/* How many items there are, each of which takes a byte or more. */
uint32_t thrift_list(struct thrift *thrift, enum thrift_type type, enum thrift_type items);
/* Whether a struct follows. */
bool thrift_struct(struct thrift *thrift, enum thrift_type type);
