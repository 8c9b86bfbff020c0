/* What the opcodes of a pickle do. */
#pragma once

#include "pack/foreign/encoding/pickle_machine.h"

/* The argument distinguishes opcodes of one kind: the width in bytes of the number that follows, an
 * enum pickle_kind, a count of items, or the value of a bool. Returns 0, or as pickle_read(). */
typedef int pickle_run(struct pickle *pickle, unsigned argument, struct err *err);

extern pickle_run pickle_run_nothing;
extern pickle_run pickle_run_mark;
extern pickle_run pickle_run_bool;
extern pickle_run pickle_run_int;
extern pickle_run pickle_run_long;
extern pickle_run pickle_run_int_line;
extern pickle_run pickle_run_float;
extern pickle_run pickle_run_float_line;
extern pickle_run pickle_run_bytes;
extern pickle_run pickle_run_text;
extern pickle_run pickle_run_text_line;
extern pickle_run pickle_run_put;
extern pickle_run pickle_run_memoize;
extern pickle_run pickle_run_get;
extern pickle_run pickle_run_value;
extern pickle_run pickle_run_collect;
extern pickle_run pickle_run_tuple;
extern pickle_run pickle_run_extend;
extern pickle_run pickle_run_add;
extern pickle_run pickle_run_global;
extern pickle_run pickle_run_stack_global;
extern pickle_run pickle_run_reduce;
extern pickle_run pickle_run_build;
