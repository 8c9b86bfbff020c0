#include "pack/foreign/encoding/pickle.h"
#include "pack/foreign/encoding/pickle_opcodes.h"
#include <stdlib.h>

struct opcode {
	const char *name;
	pickle_run *run; /* NULL: refused */
	unsigned argument;
};

static const struct opcode opcodes[256] = {
	['('] = {"MARK", pickle_run_mark, 0},
	['0'] = {"POP", NULL, 0},
	['1'] = {"POP_MARK", NULL, 0},
	['2'] = {"DUP", NULL, 0},
	['F'] = {"FLOAT", pickle_run_float_line, 0},
	['I'] = {"INT", pickle_run_int_line, 0},
	['J'] = {"BININT", pickle_run_int, 4},
	['K'] = {"BININT1", pickle_run_int, 1},
	['L'] = {"LONG", pickle_run_int_line, 0},
	['M'] = {"BININT2", pickle_run_int, 2},
	['N'] = {"NONE", pickle_run_value, PICKLE_NONE},
	['P'] = {"PERSID", NULL, 0},
	['Q'] = {"BINPERSID", NULL, 0},
	['R'] = {"REDUCE", pickle_run_reduce, 0},
	['S'] = {"STRING", NULL, 0},
	['T'] = {"BINSTRING", pickle_run_bytes, 4},
	['U'] = {"SHORT_BINSTRING", pickle_run_bytes, 1},
	['V'] = {"UNICODE", pickle_run_text_line, 0},
	['X'] = {"BINUNICODE", pickle_run_text, 4},
	['a'] = {"APPEND", pickle_run_add, PICKLE_LIST},
	['b'] = {"BUILD", pickle_run_build, 0},
	['c'] = {"GLOBAL", pickle_run_global, 0},
	['d'] = {"DICT", pickle_run_collect, PICKLE_DICT},
	['}'] = {"EMPTY_DICT", pickle_run_value, PICKLE_DICT},
	['e'] = {"APPENDS", pickle_run_extend, PICKLE_LIST},
	['g'] = {"GET", pickle_run_get, 0},
	['h'] = {"BINGET", pickle_run_get, 1},
	['i'] = {"INST", NULL, 0},
	['j'] = {"LONG_BINGET", pickle_run_get, 4},
	['l'] = {"LIST", pickle_run_collect, PICKLE_LIST},
	[']'] = {"EMPTY_LIST", pickle_run_value, PICKLE_LIST},
	['o'] = {"OBJ", NULL, 0},
	['p'] = {"PUT", pickle_run_put, 0},
	['q'] = {"BINPUT", pickle_run_put, 1},
	['r'] = {"LONG_BINPUT", pickle_run_put, 4},
	['s'] = {"SETITEM", pickle_run_add, PICKLE_DICT},
	['t'] = {"TUPLE", pickle_run_collect, PICKLE_TUPLE},
	[')'] = {"EMPTY_TUPLE", pickle_run_value, PICKLE_TUPLE},
	['u'] = {"SETITEMS", pickle_run_extend, PICKLE_DICT},
	['G'] = {"BINFLOAT", pickle_run_float, 0},
	['.'] = {"STOP", NULL, 0},
	['B'] = {"BINBYTES", pickle_run_bytes, 4},
	['C'] = {"SHORT_BINBYTES", pickle_run_bytes, 1},
	[0x80] = {"PROTO", pickle_run_nothing, 1},
	[0x81] = {"NEWOBJ", NULL, 0},
	[0x82] = {"EXT1", NULL, 0},
	[0x83] = {"EXT2", NULL, 0},
	[0x84] = {"EXT4", NULL, 0},
	[0x85] = {"TUPLE1", pickle_run_tuple, 1},
	[0x86] = {"TUPLE2", pickle_run_tuple, 2},
	[0x87] = {"TUPLE3", pickle_run_tuple, 3},
	[0x88] = {"NEWTRUE", pickle_run_bool, 1},
	[0x89] = {"NEWFALSE", pickle_run_bool, 0},
	[0x8a] = {"LONG1", pickle_run_long, 1},
	[0x8b] = {"LONG4", pickle_run_long, 4},
	[0x8c] = {"SHORT_BINUNICODE", pickle_run_text, 1},
	[0x8d] = {"BINUNICODE8", pickle_run_text, 8},
	[0x8e] = {"BINBYTES8", pickle_run_bytes, 8},
	[0x8f] = {"EMPTY_SET", NULL, 0},
	[0x90] = {"ADDITEMS", NULL, 0},
	[0x91] = {"FROZENSET", NULL, 0},
	[0x92] = {"NEWOBJ_EX", NULL, 0},
	[0x93] = {"STACK_GLOBAL", pickle_run_stack_global, 0},
	[0x94] = {"MEMOIZE", pickle_run_memoize, 0},
	[0x95] = {"FRAME", pickle_run_nothing, 8},
	[0x96] = {"BYTEARRAY8", pickle_run_bytes, 8},
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
