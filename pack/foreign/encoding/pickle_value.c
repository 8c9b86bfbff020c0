#include "base/le.h"
#include "pack/foreign/encoding/pickle.h"

static bool has_items(const struct pickle_value *value)
{
	return value && (value->kind == PICKLE_LIST || value->kind == PICKLE_TUPLE ||
			 value->kind == PICKLE_DICT || value->kind == PICKLE_PERSISTENT);
}

const struct pickle_value *pickle_at(const struct pickle_value *value, uint32_t i)
{
	const struct pickle_item *item;

	if (!has_items(value) || i >= value->count)
		return NULL;
	for (item = value->items.first; i > 0; i--)
		item = item->next;
	return item->value;
}

const struct pickle_value *pickle_get(const struct pickle_value *dict, const char *key)
{
	const struct pickle_value *found = NULL;

	if (!dict || dict->kind != PICKLE_DICT)
		return NULL;
	for (const struct pickle_item *item = dict->items.first; item; item = item->next->next)
		if (pickle_is(item->value, key))
			found = item->next->value;
	return found;
}

bool pickle_is(const struct pickle_value *value, const char *text)
{
	size_t len = strlen(text);

	return value && (value->kind == PICKLE_TEXT || value->kind == PICKLE_BYTES) &&
	       value->bytes.data && value->bytes.size == len &&
	       memcmp(value->bytes.data, text, len) == 0;
}

const char *pickle_callee(const struct pickle_value *value)
{
	return value && value->kind == PICKLE_CALL ? value->call.function->global.name : NULL;
}

/* The width of a little-endian integer type; 0: it is none. */
static unsigned integer_width(const struct pickle_value *dtype, bool *ret_signed)
{
	static const char *const names[] = {"u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"};
	const struct pickle_value *name;
	const char *callee = pickle_callee(dtype);

	if (!callee || strcmp(callee, "dtype") != 0 ||
	    pickle_is(pickle_at(dtype->call.state, 1), ">"))
		return 0;
	name = pickle_at(dtype->call.arguments, 0);
	for (unsigned i = 0; i < 8; i++) {
		if (pickle_is(name, names[i])) {
			*ret_signed = i % 2;
			return 1u << i / 2;
		}
	}
	return 0;
}

/* numpy.core.multiarray.scalar(dtype, bytes), of little-endian bytes. */
static bool scalar_number(const struct pickle_value *scalar, int64_t *ret)
{
	const struct pickle_value *bytes = pickle_at(scalar->call.arguments, 1);
	bool is_signed = false;
	unsigned width = integer_width(pickle_at(scalar->call.arguments, 0), &is_signed);
	uint64_t number = 0;

	if (width == 0 || !bytes || bytes->kind != PICKLE_BYTES || bytes->bytes.size != width)
		return false;
	memcpy(&number, bytes->bytes.data, width);
	number = le64toh(number);
	if (is_signed && width < 8 && number >> (8 * width - 1))
		number |= UINT64_MAX << 8 * width;
	*ret = (int64_t)number;
	return is_signed || *ret >= 0;
}

bool pickle_number(const struct pickle_value *value, int64_t *ret)
{
	const char *callee = pickle_callee(value);

	if (callee && strcmp(callee, "scalar") == 0)
		return scalar_number(value, ret);
	if (!value || (value->kind != PICKLE_INT && value->kind != PICKLE_BOOL))
		return false;
	*ret = value->number;
	return true;
}
