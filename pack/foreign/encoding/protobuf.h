/* Protocol buffers as they are on disk: the fields of a message that lies in a source, one after
 * the other. For a field with a length the place of its bytes is returned; they are not read.
 *
 *	tag      varint: number << 3 | type
 *	varint   7 bits a byte, the lowest first; the top bit says that more follow
 *	bytes    varint length, and so many bytes: text, a message, or packed numbers
 *
 * Groups, which nobody writes any more, are refused. Not thread-safe. */
#pragma once

#include "pack/foreign/source.h"

struct protobuf {
	struct foreign_source *source;
	uint64_t start, at, end; /* of the message, and of what is left of it, in the source */
};

enum protobuf_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2,
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value;	       /* of a number, as unsigned */
	uint64_t offset, size; /* of PROTOBUF_BYTES, in the source, within the message */
};

/* A message of `size` bytes, which lie in the source. */
static inline struct protobuf protobuf_at(struct foreign_source *source, uint64_t offset,
					  uint64_t size)
{
	return (struct protobuf){source, offset, offset, offset + size};
}

/* The message in a field. */
static inline struct protobuf protobuf_in(const struct protobuf *message,
					  const struct protobuf_field *field)
{
	return protobuf_at(message->source, field->offset, field->size);
}

/* The next field. Returns 0; 1 at the end; -EBADMSG, with what is wrong and at which byte of the
 * message; or the error of the read. */
int protobuf_next(struct protobuf *message, struct protobuf_field *ret, struct err *err);

/* The next of packed varints. Returns as protobuf_next(). */
int protobuf_varint(struct protobuf *packed, uint64_t *ret, struct err *err);
