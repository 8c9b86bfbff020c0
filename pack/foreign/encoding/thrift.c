#include "pack/foreign/encoding/thrift.h"
#include "pack/foreign/encoding/varint.h"

#define DEPTH 16u /* of values in values that are skipped */

static uint8_t next_byte(struct thrift *t)
{
	if (t->bad || t->at == t->end) {
		t->bad = true;
		return 0;
	}
	return *t->at++;
}

static uint64_t next_varint(struct thrift *t)
{
	uint64_t value = 0;
	int n = varint_get(t->at, (size_t)(t->end - t->at), &value);

	if (t->bad || n <= 0) {
		t->bad = true;
		return 0;
	}
	t->at += n;
	return value;
}

static int64_t next_zigzag(struct thrift *t)
{
	uint64_t n = next_varint(t);

	return (int64_t)(n >> 1 ^ (0 - (n & 1)));
}

static const uint8_t *next_bytes(struct thrift *t, uint64_t len)
{
	const uint8_t *bytes = t->at;

	if (t->bad || len > (uint64_t)(t->end - t->at)) {
		t->bad = true;
		return NULL;
	}
	t->at += len;
	return bytes;
}

bool thrift_next(struct thrift *t, struct thrift_field *field)
{
	uint8_t head = next_byte(t);
	int64_t id = head >> 4 ? field->id + (head >> 4) : 0;

	field->type = head & 0xf;
	if (t->bad || field->type == THRIFT_STOP)
		return false;
	if (!(head >> 4))
		id = next_zigzag(t);
	if (id < 0 || id > INT16_MAX || field->type > THRIFT_STRUCT)
		t->bad = true;
	field->id = (int)id;
	return !t->bad;
}

static uint32_t next_list(struct thrift *t, enum thrift_type *items)
{
	uint8_t head = next_byte(t);
	uint64_t count = head >> 4 == 15 ? next_varint(t) : head >> 4;

	*items = head & 0xf;
	if (count > (uint64_t)(t->end - t->at) || *items > THRIFT_STRUCT)
		t->bad = true;
	return t->bad ? 0 : (uint32_t)count;
}

/* --- skipping --------------------------------------------------------------------------------- */

static void skip(struct thrift *t, enum thrift_type type, unsigned depth);

/* In a list a bool takes a byte, in a struct none. */
static void skip_item(struct thrift *t, enum thrift_type type, unsigned depth)
{
	if (type == THRIFT_TRUE || type == THRIFT_FALSE)
		next_byte(t);
	else
		skip(t, type, depth);
}

static void skip_list(struct thrift *t, unsigned depth)
{
	enum thrift_type items;
	uint32_t count = next_list(t, &items);

	for (uint32_t i = 0; !t->bad && i < count; i++)
		skip_item(t, items, depth);
}

static void skip_map(struct thrift *t, unsigned depth)
{
	uint64_t count = next_varint(t);
	uint8_t types = count ? next_byte(t) : 0;

	for (uint64_t i = 0; !t->bad && i < count; i++) {
		skip_item(t, types >> 4, depth);
		skip_item(t, types & 0xf, depth);
	}
}

static void skip_struct(struct thrift *t, unsigned depth)
{
	struct thrift_field field = {0};

	while (thrift_next(t, &field))
		skip(t, field.type, depth);
}

static void skip(struct thrift *t, enum thrift_type type, unsigned depth)
{
	if (depth == DEPTH || type == THRIFT_STOP || type > THRIFT_STRUCT)
		t->bad = true;
	else if (type == THRIFT_I8)
		next_byte(t);
	else if (type >= THRIFT_I16 && type <= THRIFT_I64)
		next_varint(t);
	else if (type == THRIFT_DOUBLE)
		next_bytes(t, 8);
	else if (type == THRIFT_BINARY)
		next_bytes(t, next_varint(t));
	else if (type == THRIFT_LIST || type == THRIFT_SET)
		skip_list(t, depth + 1);
	else if (type == THRIFT_MAP)
		skip_map(t, depth + 1);
	else if (type == THRIFT_STRUCT)
		skip_struct(t, depth + 1);
}

void thrift_skip(struct thrift *t, enum thrift_type type)
{
	skip(t, type, 0);
}

/* --- values ----------------------------------------------------------------------------------- */

int64_t thrift_int(struct thrift *t, enum thrift_type type)
{
	if (type >= THRIFT_I16 && type <= THRIFT_I64)
		return next_zigzag(t);
	thrift_skip(t, type);
	return type == THRIFT_TRUE;
}

struct foreign_text thrift_text(struct thrift *t, enum thrift_type type)
{
	uint64_t len;
	const uint8_t *bytes;

	if (type != THRIFT_BINARY) {
		thrift_skip(t, type);
		return (struct foreign_text){0};
	}
	len = next_varint(t);
	bytes = next_bytes(t, len);
	return (struct foreign_text){(const char *)bytes, bytes ? len : 0};
}

uint32_t thrift_list(struct thrift *t, enum thrift_type type, enum thrift_type items)
{
	enum thrift_type found;
	uint32_t count;

	if (type != THRIFT_LIST) {
		thrift_skip(t, type);
		return 0;
	}
	count = next_list(t, &found);
	if (count && found != items)
		t->bad = true;
	return t->bad ? 0 : count;
}

bool thrift_struct(struct thrift *t, enum thrift_type type)
{
	if (type != THRIFT_STRUCT)
		thrift_skip(t, type);
	return type == THRIFT_STRUCT && !t->bad;
}

void thrift_read(struct thrift *t, const struct thrift_want *wants, size_t count)
{
	struct thrift_field field = {0};

	while (thrift_next(t, &field)) {
		size_t i = 0;

		while (i < count && wants[i].id != field.id)
			i++;
		if (i == count)
			thrift_skip(t, field.type);
		else if (wants[i].text)
			*wants[i].text = thrift_text(t, field.type);
		else
			*wants[i].number = thrift_int(t, field.type);
	}
}
