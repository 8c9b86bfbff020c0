#include "pack/foreign/lmdb/sample.h"
#include <string.h>

/* Whether it is numpy's uint8. */
static bool is_bytes(const struct pickle_value *dtype)
{
	const char *callee = pickle_callee(dtype);

	return callee && strcmp(callee, "dtype") == 0 &&
	       pickle_is(pickle_at(dtype->call.arguments, 0), "u1");
}

static int add_array(struct sample *sample, const struct pickle_value *dtype,
		     const struct pickle_value *shape, const struct pickle_value *data,
		     struct err *err)
{
	uint64_t sizes[SAMPLE_SHAPE];

	if (!is_bytes(dtype))
		return sample_add_other("an array of another type than uint8", err);
	if (!shape || shape->kind != PICKLE_TUPLE || !data || data->kind != PICKLE_BYTES)
		return sample_add_other("an array that is not bytes", err);
	for (uint32_t i = 0; i < shape->count && i < SAMPLE_SHAPE; i++) {
		int64_t size;

		if (!pickle_number(pickle_at(shape, i), &size) || size < 0)
			return err_set(err, -EBADMSG, "an array with a size that is no number");
		sizes[i] = (uint64_t)size;
	}
	return sample_add_array(sample, data->bytes.offset, data->bytes.size, shape->count, sizes,
				err);
}

/* _reconstruct(ndarray, ...) and the state (version, shape, dtype, column-major, data), or
 * _frombuffer(data, dtype, shape, "C"). */
static int add_call(struct sample *sample, const struct pickle_value *call, struct err *err)
{
	const struct pickle_value *arguments = call->call.arguments, *state = call->call.state;
	const char *callee = pickle_callee(call);

	if (strcmp(callee, "_frombuffer") == 0 && pickle_is(pickle_at(arguments, 3), "C"))
		return add_array(sample, pickle_at(arguments, 1), pickle_at(arguments, 2),
				 pickle_at(arguments, 0), err);
	if (strcmp(callee, "_reconstruct") == 0 && state) {
		const struct pickle_value *by_columns = pickle_at(state, 3);

		if (by_columns && by_columns->kind == PICKLE_BOOL && !by_columns->number)
			return add_array(sample, pickle_at(state, 2), pickle_at(state, 1),
					 pickle_at(state, 4), err);
	}
	if (strcmp(callee, "encode") == 0)
		return sample_add_other(
			"bytes of a pickle below protocol 3, which are not stored "
			"as they are",
			err);
	return sample_add_other("another object", err);
}

static int add_value(struct sample *sample, const struct pickle_value *value, struct err *err)
{
	static const char *const names[] = {
		[PICKLE_NONE] = "None",
		[PICKLE_FLOAT] = "a float",
		[PICKLE_TEXT] = "text",
		[PICKLE_LIST] = "a list in a list",
		[PICKLE_TUPLE] = "a tuple in a tuple",
		[PICKLE_DICT] = "a dict",
		[PICKLE_GLOBAL] = "a class",
		[PICKLE_PERSISTENT] = "a persistent id",
	};
	int64_t number;

	if (value->kind == PICKLE_BYTES)
		return sample_add_bytes(sample, value->bytes.offset, value->bytes.size, err);
	if (pickle_number(value, &number))
		return sample_add_number(sample, number, err);
	if (value->kind == PICKLE_CALL)
		return add_call(sample, value, err);
	return sample_add_other(names[value->kind], err);
}

int sample_from_pickle(struct pickle *pickle, struct foreign_source *source, uint64_t offset,
		       uint64_t len, struct sample *ret, struct err *err)
{
	const struct pickle_value *value;
	int r = pickle_read(pickle, source, offset, len, &value, err);

	if (r < 0)
		return r;
	if (value->kind != PICKLE_TUPLE && value->kind != PICKLE_LIST)
		return add_value(ret, value, err);
	for (const struct pickle_item *item = value->items.first; r == 0 && item; item = item->next)
		r = add_value(ret, item->value, err);
	return r;
}
