#include "pack/foreign/encoding/protobuf.h"
#include "base/le.h"
#include "base/math.h"
#include "pack/foreign/encoding/varint.h"
#include <inttypes.h>

#define VARINT_MAX 10 /* bytes: 64 bits by 7 */
#define NUMBER_MAX ((1u << 29) - 1)
/* A tag, and a length or a number. */
#define HEAD_MAX (2 * VARINT_MAX)

/* What begins at message->at: as much as a field can need, or all that is left. */
struct head {
	const uint8_t *bytes;
	size_t len, at;
};

static int damaged(const struct protobuf *message, const char *what, struct err *err)
{
	return err_set(err, -EBADMSG, "%s at byte %" PRIu64 " of a message of %" PRIu64, what,
		       message->at - message->start, message->end - message->start);
}

static int head_get(const struct protobuf *message, struct head *ret, struct err *err)
{
	uint64_t left = message->end - message->at;
	size_t len = (size_t)min(left, HEAD_MAX);
	int r;

	*ret = (struct head){0};
	r = foreign_peek(message->source, message->at, len, &ret->bytes, &ret->len);
	if (r < 0)
		return r;
	return ret->len == len ? 0 : damaged(message, "the file ends", err);
}

static int number_get(const struct protobuf *message, struct head *head, uint64_t *ret,
		      struct err *err)
{
	int n = varint_get(head->bytes + head->at, head->len - head->at, ret);

	if (n <= 0)
		return damaged(message,
			       n ? "a number of more than 64 bits" : "a number that does not end",
			       err);
	head->at += (size_t)n;
	return 0;
}

static int fixed_get(const struct protobuf *message, struct head *head, size_t width, uint64_t *ret,
		     struct err *err)
{
	const uint8_t *bytes = head->bytes + head->at;

	if (head->len - head->at < width)
		return damaged(message, "a number that does not end", err);
	*ret = width == 8 ? le_get64(bytes) : le_get32(bytes);
	head->at += width;
	return 0;
}

static int bytes_get(const struct protobuf *message, struct head *head,
		     struct protobuf_field *field, struct err *err)
{
	int r = number_get(message, head, &field->size, err);

	if (r < 0)
		return r;
	field->offset = message->at + head->at;
	if (field->size > message->end - field->offset)
		return damaged(message, "a field that is longer than its message", err);
	return 0;
}

static int value_get(const struct protobuf *message, struct head *head,
		     struct protobuf_field *field, struct err *err)
{
	switch (field->type) {
	case PROTOBUF_VARINT:
		return number_get(message, head, &field->value, err);
	case PROTOBUF_FIXED64:
		return fixed_get(message, head, 8, &field->value, err);
	case PROTOBUF_FIXED32:
		return fixed_get(message, head, 4, &field->value, err);
	case PROTOBUF_BYTES:
		return bytes_get(message, head, field, err);
	}
	return damaged(message, "a group or an unknown type", err);
}

int protobuf_next(struct protobuf *message, struct protobuf_field *ret, struct err *err)
{
	struct protobuf_field field = {0};
	struct head head;
	uint64_t tag;
	int r;

	if (message->at == message->end)
		return 1;
	r = head_get(message, &head, err);
	if (r == 0)
		r = number_get(message, &head, &tag, err);
	if (r < 0)
		return r;
	if (tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		return damaged(message, "a field without a valid number", err);
	field.number = (uint32_t)(tag >> 3);
	field.type = (enum protobuf_type)(tag & 7);
	r = value_get(message, &head, &field, err);
	if (r < 0)
		return r;
	message->at += head.at + field.size;
	*ret = field;
	return 0;
}

int protobuf_varint(struct protobuf *packed, uint64_t *ret, struct err *err)
{
	struct head head;
	int r;

	if (packed->at == packed->end)
		return 1;
	r = head_get(packed, &head, err);
	if (r == 0)
		r = number_get(packed, &head, ret, err);
	if (r == 0)
		packed->at += head.at;
	return r;
}
