#include "pack/foreign/encoding/numpy_integer.h"
#include "pack/foreign/encoding/pickle.h"
#include <string.h>

static bool has_items(const struct pickle_value *value)
{
	return value && (value->kind == PICKLE_LIST || value->kind == PICKLE_TUPLE ||
			 value->kind == PICKLE_DICT);
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

/* --- numpy ------------------------------------------------------------------------------------ */

/* The name of a type that is not big-endian, as "u1"; or NULL. */
static const char *type_of(const struct pickle_value *dtype)
{
	const char *callee = pickle_callee(dtype);

	if (!callee || strcmp(callee, "dtype") != 0 ||
	    pickle_is(pickle_at(dtype->call.state, 1), ">"))
		return NULL;
	return data_of(pickle_at(dtype->call.arguments, 0));
}

/* _reconstruct(ndarray, ...) and the state (version, shape, dtype, column-major, data), or
 * _frombuffer(data, dtype, shape, "C"). */
bool pickle_array(const struct pickle_value *value, struct pickle_array *ret)
{
	const char *callee = pickle_callee(value);
	const struct pickle_value *dtype = NULL, *by_columns;
	struct pickle_array array = {0};

	if (!callee)
		return false;
	if (strcmp(callee, "_frombuffer") == 0 &&
	    pickle_is(pickle_at(value->call.arguments, 3), "C")) {
		dtype = pickle_at(value->call.arguments, 1);
		array.shape = pickle_at(value->call.arguments, 2);
		array.data = pickle_at(value->call.arguments, 0);
	} else if (strcmp(callee, "_reconstruct") == 0) {
		by_columns = pickle_at(value->call.state, 3);
		if (!by_columns || by_columns->kind != PICKLE_BOOL || by_columns->number)
			return false;
		dtype = pickle_at(value->call.state, 2);
		array.shape = pickle_at(value->call.state, 1);
		array.data = pickle_at(value->call.state, 4);
	}
	if (!array.shape || array.shape->kind != PICKLE_TUPLE || !array.data ||
	    array.data->kind != PICKLE_BYTES)
		return false;
	array.type = type_of(dtype);
	*ret = array;
	return true;
}

static bool is_integer(const char *type, const struct pickle_value *bytes, int64_t *ret)
{
	return type && bytes && bytes->kind == PICKLE_BYTES && bytes->bytes.data &&
	       numpy_integer(type, bytes->bytes.data, bytes->bytes.size, ret);
}

bool pickle_number(const struct pickle_value *value, int64_t *ret)
{
	const char *callee = pickle_callee(value);
	struct pickle_array array;

	/* numpy.core.multiarray.scalar(dtype, bytes) */
	if (callee && strcmp(callee, "scalar") == 0)
		return is_integer(type_of(pickle_at(value->call.arguments, 0)),
				  pickle_at(value->call.arguments, 1), ret);
	if (callee)
		return pickle_array(value, &array) && is_integer(array.type, array.data, ret);
	if (!value || (value->kind != PICKLE_INT && value->kind != PICKLE_BOOL))
		return false;
	*ret = value->number;
	return true;
}
