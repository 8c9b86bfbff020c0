#include "pack/foreign/encoding/numpy_integer.h"
#include "pack/foreign/encoding/pickle.h"
#include <string.h>

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

/* Text, or bytes; NULL: it is neither, or too long. */
static const char *data_of(const struct pickle_value *value)
{
	return value && (value->kind == PICKLE_TEXT || value->kind == PICKLE_BYTES)
		       ? value->bytes.data
		       : NULL;
}

bool pickle_is(const struct pickle_value *value, const char *text)
{
	const char *data = data_of(value);
	size_t len = strlen(text);

	return data && value->bytes.size == len && memcmp(data, text, len) == 0;
}

const char *pickle_callee(const struct pickle_value *value)
{
	return value && value->kind == PICKLE_CALL ? value->call.function->global.name : NULL;
}

/* numpy.core.multiarray.scalar(dtype, bytes) */
static bool scalar_number(const struct pickle_value *scalar, int64_t *ret)
{
	const struct pickle_value *dtype = pickle_at(scalar->call.arguments, 0);
	const struct pickle_value *bytes = pickle_at(scalar->call.arguments, 1);
	const char *type, *callee = pickle_callee(dtype);

	if (!callee || strcmp(callee, "dtype") != 0 ||
	    pickle_is(pickle_at(dtype->call.state, 1), ">"))
		return false;
	type = data_of(pickle_at(dtype->call.arguments, 0));
	return type && bytes && bytes->kind == PICKLE_BYTES && bytes->bytes.data &&
	       numpy_integer(type, bytes->bytes.data, bytes->bytes.size, ret);
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
