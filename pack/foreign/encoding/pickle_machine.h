/* The machine that runs a pickle, which is a program. */
#pragma once

#include "pack/foreign/encoding/arena.h"
#include "pack/foreign/encoding/pickle.h"

#define PICKLE_DIGITS 64 /* bytes of a number as text, with a NUL */

struct pickle_stack {
	struct pickle_value **values; /* NULL: a mark; in the memo: nothing */
	uint32_t count, room;
};

struct pickle {
	struct arena arena;
	struct pickle_stack stack, memo;
	uint32_t made; /* values, items and text: see PICKLE_MOST */

	struct foreign_source *source;
	uint64_t at, end;   /* in the file */
	const char *opcode; /* name of the one in hand */
};

/* All return 0, or as pickle_read(). */
int pickle_damaged(const struct pickle *pickle, const char *what, struct err *err);

/* The next bytes; they live until the next call. */
int pickle_take(struct pickle *pickle, uint64_t len, const uint8_t **ret, struct err *err);
/* An unsigned number of up to 8 bytes. */
int pickle_take_number(struct pickle *pickle, unsigned width, uint64_t *ret, struct err *err);
/* The next line, without its end; it lives until the next call. */
int pickle_take_line(struct pickle *pickle, const uint8_t **ret, size_t *ret_len, struct err *err);
/* The next line as text, which may be a number. */
int pickle_take_digits(struct pickle *pickle, char ret[static PICKLE_DIGITS], struct err *err);
/* Keeps bytes of the file, with a NUL. */
int pickle_keep(struct pickle *pickle, const uint8_t *bytes, size_t len, const char **ret,
		struct err *err);

/* Makes room for `count` values. */
int pickle_room(struct pickle_stack *stack, uint32_t count, struct err *err);
int pickle_push(struct pickle *pickle, struct pickle_value *value, struct err *err);
int pickle_pop(struct pickle *pickle, struct pickle_value **ret, struct err *err);
/* Whether the last `count` on the stack are values: 0 or -EBADMSG. */
int pickle_has(const struct pickle *pickle, unsigned count, struct err *err);
/* Where the values after the last mark begin. */
int pickle_mark(const struct pickle *pickle, uint32_t *ret, struct err *err);
/* A new value on the stack. */
int pickle_make(struct pickle *pickle, enum pickle_kind kind, struct pickle_value **ret,
		struct err *err);
/* Moves the values from `first` on to the end of a list, and takes the mark before them away. */
int pickle_move(struct pickle *pickle, struct pickle_value *list, uint32_t first, bool marked,
		struct err *err);
