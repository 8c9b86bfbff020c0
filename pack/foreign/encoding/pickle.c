#include "pack/foreign/encoding/pickle.h"
#include "pack/foreign/encoding/pickle_machine.h"
#include <stdlib.h>
#include <string.h>

/* --- what opcodes do --------------------------------------------------------------------------
 *
 * The argument distinguishes those of one kind: the width in bytes of the number that follows, an
 * enum pickle_kind, a count of items, or the value of a bool. All return 0, or as pickle_read(). */
typedef int run(struct pickle *pickle, unsigned argument, struct err *err);

static int run_nothing(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t ignored;

	return pickle_take_number(pickle, width, &ignored, err);
}

static int run_mark(struct pickle *pickle, unsigned argument, struct err *err)
{
	(void)argument;
	return pickle_push(pickle, NULL, err);
}

static int run_value(struct pickle *pickle, unsigned kind, struct err *err)
{
	struct pickle_value *value;

	return pickle_make(pickle, (enum pickle_kind)kind, &value, err);
}

static int push_number(struct pickle *pickle, enum pickle_kind kind, int64_t number,
		       struct err *err)
{
	struct pickle_value *value;
	int r = pickle_make(pickle, kind, &value, err);

	if (r == 0)
		value->number = number;
	return r;
}

static int run_bool(struct pickle *pickle, unsigned truth, struct err *err)
{
	return push_number(pickle, PICKLE_BOOL, truth, err);
}

static int run_int(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t number;
	int r = pickle_take_number(pickle, width, &number, err);

	return r < 0 ? r
		     : push_number(pickle, PICKLE_INT,
				   width == 4 ? (int32_t)number : (int64_t)number, err);
}

static int run_long(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t size, number = 0;
	int r = pickle_take_number(pickle, width, &size, err);

	if (r == 0 && size > 8)
		return err_set(err, -EOPNOTSUPP, "a pickle with a number of more than 64 bits");
	if (r == 0)
		r = pickle_take_number(pickle, (unsigned)size, &number, err);
	if (r < 0)
		return r;
	if (size > 0 && size < 8 && number >> (8 * size - 1))
		number |= UINT64_MAX << 8 * size;
	return push_number(pickle, PICKLE_INT, (int64_t)number, err);
}

/* "12", "12L"; "00" and "01" are bools. */
static int run_int_line(struct pickle *pickle, unsigned argument, struct err *err)
{
	char digits[PICKLE_DIGITS], *end;
	long long number;
	int r = pickle_take_digits(pickle, digits, err);

	(void)argument;
	if (r < 0)
		return r;
	if (strcmp(digits, "00") == 0 || strcmp(digits, "01") == 0)
		return run_bool(pickle, digits[1] == '1', err);
	errno = 0;
	number = strtoll(digits, &end, 10);
	if (*end == 'L')
		end++;
	if (*end || errno)
		return pickle_damaged(pickle, "has no number of 64 bits", err);
	return push_number(pickle, PICKLE_INT, number, err);
}

/* Nobody asks for its value. */
static int run_float(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t bits;
	int r = pickle_take_number(pickle, width, &bits, err);

	return r < 0 ? r : run_value(pickle, PICKLE_FLOAT, err);
}

static int run_float_line(struct pickle *pickle, unsigned argument, struct err *err)
{
	char digits[PICKLE_DIGITS];
	int r = pickle_take_digits(pickle, digits, err);

	(void)argument;
	return r < 0 ? r : run_value(pickle, PICKLE_FLOAT, err);
}

/* --- bytes and text --------------------------------------------------------------------------- */

static int take_bytes(struct pickle *pickle, struct pickle_value *value, uint64_t size,
		      struct err *err)
{
	uint64_t most = value->kind == PICKLE_TEXT ? PICKLE_TEXT_MOST : PICKLE_BYTES_MOST;
	const uint8_t *bytes;
	int r;

	if (size > pickle->end - pickle->at)
		return err_set(err, -EBADMSG, "a pickle that is cut off");
	value->bytes.offset = pickle->at;
	value->bytes.size = size;
	if (size > most) {
		pickle->at += size;
		return 0;
	}
	r = pickle_take(pickle, size, &bytes, err);
	return r < 0 ? r : pickle_keep(pickle, bytes, (size_t)size, &value->bytes.data, err);
}

static int push_payload(struct pickle *pickle, enum pickle_kind kind, unsigned width,
			struct err *err)
{
	struct pickle_value *value;
	uint64_t size;
	int r = pickle_take_number(pickle, width, &size, err);

	if (r == 0)
		r = pickle_make(pickle, kind, &value, err);
	return r ? r : take_bytes(pickle, value, size, err);
}

static int run_bytes(struct pickle *pickle, unsigned width, struct err *err)
{
	return push_payload(pickle, PICKLE_BYTES, width, err);
}

static int run_text(struct pickle *pickle, unsigned width, struct err *err)
{
	return push_payload(pickle, PICKLE_TEXT, width, err);
}

/* Protocol 0 encodes what is not ASCII in a way of its own, which is refused. */
static int run_text_line(struct pickle *pickle, unsigned argument, struct err *err)
{
	struct pickle_value *value;
	uint64_t offset = pickle->at;
	const uint8_t *line;
	size_t len;
	int r = pickle_take_line(pickle, &line, &len, err);

	(void)argument;
	for (size_t i = 0; r == 0 && i < len; i++) {
		if (line[i] == '\\' || line[i] > 0x7e || line[i] < 0x20)
			return err_set(err, -EOPNOTSUPP,
				       "a pickle of protocol 0 with text that is not ASCII");
	}
	if (r == 0)
		r = pickle_make(pickle, PICKLE_TEXT, &value, err);
	if (r)
		return r;
	value->bytes.offset = offset;
	value->bytes.size = len;
	return pickle_keep(pickle, line, len, &value->bytes.data, err);
}

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

static int run_put(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t index;
	int r = take_index(pickle, width, &index, err);

	return r < 0 ? r : memo_put(pickle, index, err);
}

static int run_memoize(struct pickle *pickle, unsigned argument, struct err *err)
{
	(void)argument;
	return memo_put(pickle, pickle->memo.count, err);
}

static int run_get(struct pickle *pickle, unsigned width, struct err *err)
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

static int run_collect(struct pickle *pickle, unsigned kind, struct err *err)
{
	uint32_t first;
	int r = pickle_mark(pickle, &first, err);

	return r < 0 ? r : collect(pickle, (enum pickle_kind)kind, first, true, err);
}

static int run_tuple(struct pickle *pickle, unsigned count, struct err *err)
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

static int run_extend(struct pickle *pickle, unsigned kind, struct err *err)
{
	uint32_t first;
	int r = pickle_mark(pickle, &first, err);

	return r < 0 ? r : extend(pickle, (enum pickle_kind)kind, first, true, err);
}

static int run_add(struct pickle *pickle, unsigned kind, struct err *err)
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

static int run_global(struct pickle *pickle, unsigned argument, struct err *err)
{
	const char *module, *name;
	int r = keep_line(pickle, &module, err);

	(void)argument;
	if (r == 0)
		r = keep_line(pickle, &name, err);
	return r ? r : push_global(pickle, module, name, err);
}

static int run_stack_global(struct pickle *pickle, unsigned argument, struct err *err)
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

static int run_reduce(struct pickle *pickle, unsigned argument, struct err *err)
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

static int run_build(struct pickle *pickle, unsigned argument, struct err *err)
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

/* --- the machine ------------------------------------------------------------------------------ */

struct opcode {
	const char *name;
	run *run; /* NULL: refused */
	unsigned argument;
};

static const struct opcode opcodes[256] = {
	['('] = {"MARK", run_mark, 0},
	['0'] = {"POP", NULL, 0},
	['1'] = {"POP_MARK", NULL, 0},
	['2'] = {"DUP", NULL, 0},
	['F'] = {"FLOAT", run_float_line, 0},
	['I'] = {"INT", run_int_line, 0},
	['J'] = {"BININT", run_int, 4},
	['K'] = {"BININT1", run_int, 1},
	['L'] = {"LONG", run_int_line, 0},
	['M'] = {"BININT2", run_int, 2},
	['N'] = {"NONE", run_value, PICKLE_NONE},
	['P'] = {"PERSID", NULL, 0},
	['Q'] = {"BINPERSID", NULL, 0},
	['R'] = {"REDUCE", run_reduce, 0},
	['S'] = {"STRING", NULL, 0},
	['T'] = {"BINSTRING", run_bytes, 4},
	['U'] = {"SHORT_BINSTRING", run_bytes, 1},
	['V'] = {"UNICODE", run_text_line, 0},
	['X'] = {"BINUNICODE", run_text, 4},
	['a'] = {"APPEND", run_add, PICKLE_LIST},
	['b'] = {"BUILD", run_build, 0},
	['c'] = {"GLOBAL", run_global, 0},
	['d'] = {"DICT", run_collect, PICKLE_DICT},
	['}'] = {"EMPTY_DICT", run_value, PICKLE_DICT},
	['e'] = {"APPENDS", run_extend, PICKLE_LIST},
	['g'] = {"GET", run_get, 0},
	['h'] = {"BINGET", run_get, 1},
	['i'] = {"INST", NULL, 0},
	['j'] = {"LONG_BINGET", run_get, 4},
	['l'] = {"LIST", run_collect, PICKLE_LIST},
	[']'] = {"EMPTY_LIST", run_value, PICKLE_LIST},
	['o'] = {"OBJ", NULL, 0},
	['p'] = {"PUT", run_put, 0},
	['q'] = {"BINPUT", run_put, 1},
	['r'] = {"LONG_BINPUT", run_put, 4},
	['s'] = {"SETITEM", run_add, PICKLE_DICT},
	['t'] = {"TUPLE", run_collect, PICKLE_TUPLE},
	[')'] = {"EMPTY_TUPLE", run_value, PICKLE_TUPLE},
	['u'] = {"SETITEMS", run_extend, PICKLE_DICT},
	['G'] = {"BINFLOAT", run_float, 8},
	['.'] = {"STOP", NULL, 0},
	['B'] = {"BINBYTES", run_bytes, 4},
	['C'] = {"SHORT_BINBYTES", run_bytes, 1},
	[0x80] = {"PROTO", run_nothing, 1},
	[0x81] = {"NEWOBJ", NULL, 0},
	[0x82] = {"EXT1", NULL, 0},
	[0x83] = {"EXT2", NULL, 0},
	[0x84] = {"EXT4", NULL, 0},
	[0x85] = {"TUPLE1", run_tuple, 1},
	[0x86] = {"TUPLE2", run_tuple, 2},
	[0x87] = {"TUPLE3", run_tuple, 3},
	[0x88] = {"NEWTRUE", run_bool, 1},
	[0x89] = {"NEWFALSE", run_bool, 0},
	[0x8a] = {"LONG1", run_long, 1},
	[0x8b] = {"LONG4", run_long, 4},
	[0x8c] = {"SHORT_BINUNICODE", run_text, 1},
	[0x8d] = {"BINUNICODE8", run_text, 8},
	[0x8e] = {"BINBYTES8", run_bytes, 8},
	[0x8f] = {"EMPTY_SET", NULL, 0},
	[0x90] = {"ADDITEMS", NULL, 0},
	[0x91] = {"FROZENSET", NULL, 0},
	[0x92] = {"NEWOBJ_EX", NULL, 0},
	[0x93] = {"STACK_GLOBAL", run_stack_global, 0},
	[0x94] = {"MEMOIZE", run_memoize, 0},
	[0x95] = {"FRAME", run_nothing, 8},
	[0x96] = {"BYTEARRAY8", run_bytes, 8},
	[0x97] = {"NEXT_BUFFER", NULL, 0},
	[0x98] = {"READONLY_BUFFER", NULL, 0},
};

/* Returns 1 after the last one. */
static int run_opcode(struct pickle *pickle, struct err *err)
{
	const struct opcode *opcode;
	const uint8_t *byte;
	int r = pickle_take(pickle, 1, &byte, err);

	if (r < 0)
		return r;
	opcode = &opcodes[*byte];
	if (!opcode->name)
		return err_set(err, -EBADMSG, "a pickle with the byte 0x%02x for an opcode", *byte);
	pickle->opcode = opcode->name;
	if (*byte == '.')
		return 1;
	if (!opcode->run)
		return err_set(err, -EOPNOTSUPP, "a pickle with the opcode %s", opcode->name);
	return opcode->run(pickle, opcode->argument, err);
}

int pickle_read(struct pickle *pickle, struct foreign_source *source, uint64_t offset, uint64_t len,
		const struct pickle_value **ret, struct err *err)
{
	struct pickle_value *value;
	int r;

	if (offset > source->size || len > source->size - offset)
		return err_set(err, -EBADMSG, "a pickle that is cut off");
	arena_reset(&pickle->arena);
	pickle->stack.count = pickle->memo.count = pickle->made = 0;
	pickle->source = source;
	pickle->at = offset;
	pickle->end = offset + len;
	do
		r = run_opcode(pickle, err);
	while (r == 0);
	if (r > 0)
		r = pickle_pop(pickle, &value, err);
	if (r < 0)
		return r;
	if (pickle->stack.count > 0 || pickle->at < pickle->end)
		return pickle_damaged(pickle, "comes before the end", err);
	*ret = value;
	return 0;
}

int pickle_new(struct pickle **ret)
{
	struct pickle *pickle = calloc(1, sizeof(*pickle));

	if (!pickle)
		return -ENOMEM;
	*ret = pickle;
	return 0;
}

void pickle_free(struct pickle *pickle)
{
	if (!pickle)
		return;
	arena_release(&pickle->arena);
	free(pickle->stack.values);
	free(pickle->memo.values);
	free(pickle);
}
