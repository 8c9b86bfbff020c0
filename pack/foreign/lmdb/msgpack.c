#include "pack/foreign/encoding/numpy_integer.h"
#include "pack/foreign/lmdb/sample.h"
#include <string.h>

/* An array of an image and a label. The image is bytes, or what msgpack_numpy makes of an array:
 *
 *	{b"nd": True, b"type": "|u1", b"kind": b"", b"shape": [n], b"data": bytes}
 *
 * Where use_bin_type was not set, bytes are of the type that text has. */
enum kind { NOTHING, BOOL, NUMBER, BYTES, ARRAY, MAP };

#define SHORT 16u /* bytes of a key that is of interest */

struct cursor {
	struct foreign_source *source;
	uint64_t at, end; /* in the file */
};

struct item {
	enum kind kind;
	int64_t number;
	uint64_t size;	      /* bytes, or items */
	uint64_t offset;      /* of bytes, in the file */
	char text[SHORT + 1]; /* short bytes, too */
};

/* How the bytes from 0xc0 on are read: a number or a size follows, of so many bytes. */
static const struct form {
	enum kind kind;
	uint8_t width;
	bool is_signed;
} forms[32] = {
	[0x00] = {NOTHING, 0, false}, [0x02] = {BOOL, 0, false},   [0x03] = {BOOL, 0, false},
	[0x04] = {BYTES, 1, false},   [0x05] = {BYTES, 2, false},  [0x06] = {BYTES, 4, false},
	[0x0c] = {NUMBER, 1, false},  [0x0d] = {NUMBER, 2, false}, [0x0e] = {NUMBER, 4, false},
	[0x0f] = {NUMBER, 8, false},  [0x10] = {NUMBER, 1, true},  [0x11] = {NUMBER, 2, true},
	[0x12] = {NUMBER, 4, true},   [0x13] = {NUMBER, 8, true},  [0x19] = {BYTES, 1, false},
	[0x1a] = {BYTES, 2, false},   [0x1b] = {BYTES, 4, false},  [0x1c] = {ARRAY, 2, false},
	[0x1d] = {ARRAY, 4, false},   [0x1e] = {MAP, 2, false},	   [0x1f] = {MAP, 4, false},
};

static int get(struct cursor *cursor, uint64_t len, const uint8_t **ret, struct err *err)
{
	int r;

	if (len > cursor->end - cursor->at)
		return err_set(err, -EBADMSG, "msgpack that is cut off");
	r = foreign_get(cursor->source, cursor->at, (size_t)len, ret, err);
	if (r == 0)
		cursor->at += len;
	return r;
}

static int take_bytes(struct cursor *cursor, struct item *item, struct err *err)
{
	const uint8_t *bytes;
	int r = 0;

	item->offset = cursor->at;
	if (item->size > cursor->end - cursor->at)
		return err_set(err, -EBADMSG, "msgpack that is cut off");
	if (item->size > 0 && item->size <= SHORT) {
		r = get(cursor, item->size, &bytes, err);
		if (r == 0)
			memcpy(item->text, bytes, (size_t)item->size);
		return r;
	}
	cursor->at += item->size;
	return 0;
}

/* What is in the first byte itself: 0 to 127, -32 to -1, short maps, arrays and texts. */
static void take_fixed(uint8_t byte, struct item *item)
{
	if (byte < 0x80 || byte >= 0xe0) {
		item->kind = NUMBER;
		item->number = byte < 0x80 ? byte : byte - 0x100;
	} else if (byte < 0xa0) {
		item->kind = byte < 0x90 ? MAP : ARRAY;
		item->size = byte & 0x0f;
	} else {
		item->kind = BYTES;
		item->size = byte & 0x1f;
	}
}

static int take_wide(struct cursor *cursor, const struct form *form, struct item *item,
		     struct err *err)
{
	const uint8_t *bytes;
	uint64_t number = 0;
	unsigned bits = 8u * form->width;
	int r = get(cursor, form->width, &bytes, err);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < form->width; i++)
		number = number << 8 | bytes[i];
	if (form->is_signed && bits < 64 && number >> (bits - 1))
		number |= UINT64_MAX << bits;
	if (form->kind == NUMBER && !form->is_signed && number > INT64_MAX)
		return err_set(err, -EOPNOTSUPP, "a number of more than 63 bits");
	item->number = (int64_t)number;
	item->size = number;
	return 0;
}

static int take_item(struct cursor *cursor, struct item *item, struct err *err)
{
	const uint8_t *byte;
	int r = get(cursor, 1, &byte, err);

	*item = (struct item){0};
	if (r < 0)
		return r;
	if (*byte < 0xc0 || *byte >= 0xe0) {
		take_fixed(*byte, item);
	} else {
		uint8_t first = *byte;
		const struct form *form = &forms[first - 0xc0];

		if (form->kind == NOTHING && first != 0xc0)
			return err_set(err, -EOPNOTSUPP, "msgpack with the type 0x%02x", first);
		item->kind = form->kind;
		if (form->kind == BOOL)
			item->number = first & 1;
		if (form->width > 0)
			r = take_wide(cursor, form, item, err);
	}
	return r == 0 && item->kind == BYTES ? take_bytes(cursor, item, err) : r;
}

/* --- arrays of numpy -------------------------------------------------------------------------- */

struct nd {
	bool is_nd;
	char type[SHORT + 1];
	unsigned dimensions;
	uint64_t shape[SAMPLE_SHAPE];
	struct item data;
};

static int take_shape(struct cursor *cursor, const struct item *list, struct nd *nd,
		      struct err *err)
{
	struct item size;
	int r = 0;

	if (list->kind != ARRAY || list->size > SAMPLE_SHAPE)
		return sample_add_other("an array of another shape", err);
	nd->dimensions = (unsigned)list->size;
	for (unsigned i = 0; r == 0 && i < nd->dimensions; i++) {
		r = take_item(cursor, &size, err);
		if (r == 0 && (size.kind != NUMBER || size.number < 0))
			r = err_set(err, -EBADMSG, "an array with a size that is no number");
		nd->shape[i] = (uint64_t)size.number;
	}
	return r;
}

static int take_field(struct cursor *cursor, struct nd *nd, struct err *err)
{
	struct item key, value;
	int r = take_item(cursor, &key, err);

	if (r == 0)
		r = take_item(cursor, &value, err);
	if (r)
		return r;
	if (strcmp(key.text, "shape") == 0)
		return take_shape(cursor, &value, nd, err);
	if (value.kind == ARRAY || value.kind == MAP)
		return sample_add_other("a list or dict in a dict", err);
	if (strcmp(key.text, "nd") == 0)
		nd->is_nd = value.kind == BOOL && value.number == 1;
	else if (strcmp(key.text, "type") == 0)
		memcpy(nd->type, value.text, sizeof(nd->type));
	else if (strcmp(key.text, "data") == 0)
		nd->data = value;
	return 0;
}

/* A label may be a number of numpy, {b"nd": False, b"type": "<i8", b"data": bytes}, or an array of
 * one. */
static bool is_integer(const struct nd *nd, int64_t *ret)
{
	bool in_order = nd->type[0] == '<' || nd->type[0] == '|';

	return in_order && nd->data.kind == BYTES && nd->data.size <= SHORT &&
	       numpy_integer(nd->type + 1, nd->data.text, nd->data.size, ret);
}

static int take_nd(struct cursor *cursor, uint64_t fields, struct sample *sample, struct err *err)
{
	struct nd nd = {0};
	int64_t number;
	int r = 0;

	if (fields > 8)
		return sample_add_other("a dict", err);
	for (uint64_t i = 0; r == 0 && i < fields; i++)
		r = take_field(cursor, &nd, err);
	if (r < 0)
		return r;
	if (is_integer(&nd, &number))
		return sample_add_number(sample, number, err);
	if (!nd.is_nd || strcmp(nd.type, "|u1") != 0 || nd.data.kind != BYTES)
		return sample_add_other("a dict that is no array of uint8", err);
	return sample_add_array(sample, nd.data.offset, nd.data.size, nd.dimensions, nd.shape, err);
}

/* --- values ----------------------------------------------------------------------------------- */

static int take_value(struct cursor *cursor, struct sample *sample, struct err *err)
{
	struct item item;
	int r = take_item(cursor, &item, err);

	if (r < 0)
		return r;
	switch (item.kind) {
	case BYTES:
		return sample_add_bytes(sample, item.offset, item.size, err);
	case NUMBER:
		return sample_add_number(sample, item.number, err);
	case MAP:
		return take_nd(cursor, item.size, sample, err);
	case ARRAY:
		return sample_add_other("a list in a list", err);
	default:
		return sample_add_other("None or a bool", err);
	}
}

int msgpack_read(struct foreign_source *source, uint64_t offset, uint64_t len, struct sample *ret,
		 struct err *err)
{
	struct cursor cursor = {.source = source, .at = offset, .end = offset + len};
	struct item list;
	int r;

	if (offset > source->size || len > source->size - offset)
		return err_set(err, -EBADMSG, "msgpack that is cut off");
	r = take_item(&cursor, &list, err);
	if (r == 0 && (list.kind != ARRAY || list.size < 1 || list.size > 2))
		r = sample_add_other("another value", err);
	for (uint64_t i = 0; r == 0 && i < list.size; i++)
		r = take_value(&cursor, ret, err);
	if (r == 0 && cursor.at < cursor.end)
		r = err_set(err, -EBADMSG, "msgpack that ends before its record");
	return r;
}
