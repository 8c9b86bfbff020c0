/* The opcodes that make a value of others, or put one on the stack once more. */
#include "pack/foreign/encoding/pickle_opcodes.h"
#include <stdlib.h>
#include <string.h>

/* --- the memo --------------------------------------------------------------------------------- */

/* Reads an index of `width` bytes; of width 0, a line. */
static int take_index(struct pickle *pickle, unsigned width, uint64_t *ret, struct err *err)
{
	char digits[PICKLE_DIGITS], *end;
	int r;

	if (width > 0)
		return pickle_take_number(pickle, width, ret, err);
	r = pickle_take_digits(pickle, digits, err);
	if (r < 0)
		return r;
	*ret = strtoull(digits, &end, 10);
	if (digits[0] < '0' || digits[0] > '9' || *end)
		return pickle_damaged(pickle, "has no number", err);
	return 0;
}

static int memo_put(struct pickle *pickle, uint64_t index, struct err *err)
{
	struct pickle_stack *memo = &pickle->memo;
	int r = pickle_has(pickle, 1, err);

	/* Python counts up, from 0 or from 1 on. */
	if (r == 0 && index > (uint64_t)memo->count + 1)
		return pickle_damaged(pickle, "leaves places of the memo out", err);
	if (r == 0)
		r = pickle_room(memo, (uint32_t)index + 1, err);
	if (r < 0)
		return r;
	while (memo->count <= index)
		memo->values[memo->count++] = NULL;
	memo->values[index] = pickle->stack.values[pickle->stack.count - 1];
	return 0;
}

int pickle_run_put(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t index;
	int r = take_index(pickle, width, &index, err);

	return r < 0 ? r : memo_put(pickle, index, err);
}

int pickle_run_memoize(struct pickle *pickle, unsigned argument, struct err *err)
{
	(void)argument;
	return memo_put(pickle, pickle->memo.count, err);
}

int pickle_run_get(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t index;
	int r = take_index(pickle, width, &index, err);

	if (r < 0)
		return r;
	if (index >= pickle->memo.count || !pickle->memo.values[index])
		return pickle_damaged(pickle, "finds nothing in the memo", err);
	return pickle_push(pickle, pickle->memo.values[index], err);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Puts a list on the stack in the place of its items. */
static int collect(struct pickle *pickle, enum pickle_kind kind, uint32_t first, bool marked,
		   struct err *err)
{
	struct pickle_value *list;
	int r = pickle_make(pickle, kind, &list, err);

	if (r < 0)
		return r;
	pickle->stack.count--;
	r = pickle_move(pickle, list, first, marked, err);
	return r < 0 ? r : pickle_push(pickle, list, err);
}

int pickle_run_collect(struct pickle *pickle, unsigned kind, struct err *err)
{
	uint32_t first;
	int r = pickle_mark(pickle, &first, err);

	return r < 0 ? r : collect(pickle, (enum pickle_kind)kind, first, true, err);
}

int pickle_run_tuple(struct pickle *pickle, unsigned count, struct err *err)
{
	int r = pickle_has(pickle, count, err);

	return r < 0 ? r : collect(pickle, PICKLE_TUPLE, pickle->stack.count - count, false, err);
}

/* The values from `first` on become items of the list before them. */
static int extend(struct pickle *pickle, enum pickle_kind kind, uint32_t first, bool marked,
		  struct err *err)
{
	uint32_t below = first - marked;
	struct pickle_value *list = below > 0 ? pickle->stack.values[below - 1] : NULL;

	if (!list || list->kind != kind)
		return pickle_damaged(pickle, "finds nothing to add to", err);
	return pickle_move(pickle, list, first, marked, err);
}

int pickle_run_extend(struct pickle *pickle, unsigned kind, struct err *err)
{
	uint32_t first;
	int r = pickle_mark(pickle, &first, err);

	return r < 0 ? r : extend(pickle, (enum pickle_kind)kind, first, true, err);
}

int pickle_run_add(struct pickle *pickle, unsigned kind, struct err *err)
{
	unsigned count = kind == PICKLE_DICT ? 2 : 1;
	int r = pickle_has(pickle, count, err);

	if (r < 0)
		return r;
	return extend(pickle, (enum pickle_kind)kind, pickle->stack.count - count, false, err);
}

/* --- calls, which are not made ---------------------------------------------------------------- */

/* The functions and classes that writers of datasets name. */
static const char *const known[][2] = {
	{"numpy", "ndarray"},
	{"numpy", "dtype"},
	{"numpy.core.multiarray", "_reconstruct"},
	{"numpy._core.multiarray", "_reconstruct"},
	{"numpy.core.multiarray", "scalar"},
	{"numpy._core.multiarray", "scalar"},
	{"numpy.core.numeric", "_frombuffer"},
	{"numpy._core.numeric", "_frombuffer"},
	{"_codecs", "encode"},
	{"builtins", "bytearray"},
	{"builtins", "bytes"},
	{"__builtin__", "bytearray"},
	{"__builtin__", "bytes"},
	{"collections", "OrderedDict"},
	{"torch", "Size"},
	{"torch._utils", "_rebuild_tensor_v2"},
	{"torch.storage", "_load_from_bytes"},
};

static bool is_known(const char *module, const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(module, known[i][0]) == 0 && strcmp(name, known[i][1]) == 0)
			return true;
	}
	return false;
}

static int push_global(struct pickle *pickle, const char *module, const char *name, struct err *err)
{
	struct pickle_value *value;
	int r;

	if (!is_known(module, name))
		return err_set(err, -EOPNOTSUPP,
			       "a pickle that needs %.80s.%.80s, which is not called", module,
			       name);
	r = pickle_make(pickle, PICKLE_GLOBAL, &value, err);
	if (r < 0)
		return r;
	value->global.module = module;
	value->global.name = name;
	return 0;
}

static int keep_line(struct pickle *pickle, const char **ret, struct err *err)
{
	const uint8_t *line;
	size_t len;
	int r = pickle_take_line(pickle, &line, &len, err);

	return r < 0 ? r : pickle_keep(pickle, line, len, ret, err);
}

int pickle_run_global(struct pickle *pickle, unsigned argument, struct err *err)
{
	const char *module, *name;
	int r = keep_line(pickle, &module, err);

	(void)argument;
	if (r == 0)
		r = keep_line(pickle, &name, err);
	return r ? r : push_global(pickle, module, name, err);
}

int pickle_run_stack_global(struct pickle *pickle, unsigned argument, struct err *err)
{
	struct pickle_value *module, *name;
	int r = pickle_pop(pickle, &name, err);

	(void)argument;
	if (r == 0)
		r = pickle_pop(pickle, &module, err);
	if (r)
		return r;
	if (module->kind != PICKLE_TEXT || !module->bytes.data || name->kind != PICKLE_TEXT ||
	    !name->bytes.data)
		return pickle_damaged(pickle, "finds no name", err);
	return push_global(pickle, module->bytes.data, name->bytes.data, err);
}

/* The value that a call results in, if it is known. */
static const struct pickle_value *outcome(const struct pickle_value *function,
					  const struct pickle_value *arguments,
					  const struct pickle_value *empty)
{
	const struct pickle_value *bytes = pickle_at(arguments, 0);

	if (strcmp(function->global.name, "OrderedDict") == 0 && arguments->count == 0)
		return empty;
	if (strcmp(function->global.name, "bytearray") == 0 && arguments->count == 1 &&
	    bytes->kind == PICKLE_BYTES)
		return bytes;
	return NULL;
}

int pickle_run_reduce(struct pickle *pickle, unsigned argument, struct err *err)
{
	static const struct pickle_value empty = {.kind = PICKLE_DICT};
	struct pickle_value *arguments, *function, *call;
	const struct pickle_value *result;
	int r = pickle_pop(pickle, &arguments, err);

	(void)argument;
	if (r == 0)
		r = pickle_pop(pickle, &function, err);
	if (r)
		return r;
	if (function->kind != PICKLE_GLOBAL || arguments->kind != PICKLE_TUPLE)
		return pickle_damaged(pickle, "finds nothing to call", err);
	r = pickle_make(pickle, PICKLE_CALL, &call, err);
	if (r < 0)
		return r;
	result = outcome(function, arguments, &empty);
	if (result) {
		*call = *result;
	} else {
		call->call.function = function;
		call->call.arguments = arguments;
	}
	return 0;
}

int pickle_run_build(struct pickle *pickle, unsigned argument, struct err *err)
{
	struct pickle_value *state, *call;
	int r = pickle_pop(pickle, &state, err);

	(void)argument;
	if (r == 0)
		r = pickle_has(pickle, 1, err);
	if (r < 0)
		return r;
	call = pickle->stack.values[pickle->stack.count - 1];
	if (call->kind != PICKLE_CALL)
		return pickle_damaged(pickle, "finds no object", err);
	call->call.state = state;
	return 0;
}
