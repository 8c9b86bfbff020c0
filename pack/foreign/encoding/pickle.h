/* Reads what Python's pickle module wrote (protocols 0 to 5), and executes nothing: what a pickle
 * would call becomes a value that says so. It knows the opcodes that writers of datasets emit, and
 * the names in numpy and torch that they call; any other is refused by its name.
 *
 * Payloads are not read: of bytes, and of long text, only their place is told. What was read lives
 * until the next pickle is read with the same struct. A list may be an item of itself, or of many
 * others: who goes down into values bounds how deep.
 *
 * Not thread-safe. */
#pragma once

#include "pack/foreign/source.h"
#include <stdbool.h>

/* Values of one pickle, of which 64 bytes of text are one more: 800 MB. No more are read. */
#define PICKLE_MOST (1u << 23)
#define PICKLE_TEXT_MOST                                                                         \
	4096u		      /* longer text is not read; a longer line of protocol 0 is refused \
			       */
#define PICKLE_BYTES_MOST 64u /* the same of bytes: numpy has its numbers in them */

struct pickle;

enum pickle_kind {
	PICKLE_NONE,
	PICKLE_BOOL,
	PICKLE_INT,
	PICKLE_FLOAT,
	PICKLE_TEXT,  /* UTF-8 as the pickle has it, unchecked */
	PICKLE_BYTES, /* bytes, bytearray, str of Python 2 */
	PICKLE_LIST,
	PICKLE_TUPLE,
	PICKLE_DICT,   /* items: key, value, key, value, ...; also an OrderedDict */
	PICKLE_GLOBAL, /* a function or class, by its name */
	PICKLE_CALL,   /* of such a one */
};

struct pickle_value;

struct pickle_item {
	const struct pickle_value *value;
	struct pickle_item *next;
};

struct pickle_value {
	enum pickle_kind kind;
	uint32_t count; /* items of a list, tuple or dict */
	union {
		int64_t number; /* int, bool */
		struct {
			const char *data;      /* NULL: too long to be read */
			uint64_t offset, size; /* in the file */
		} bytes;		       /* text, too */
		struct {
			struct pickle_item *first, *last;
		} items;
		struct {
			const char *name; /* without its module */
		} global;
		struct {
			const struct pickle_value *function, *arguments,
				*state; /* state: or NULL */
		} call;
	};
};

int pickle_new(struct pickle **ret);
void pickle_free(struct pickle *pickle);

/* For SCOPE(). */
static inline void pickle_release(struct pickle **pickle)
{
	pickle_free(*pickle);
}

/* Reads the pickle that fills [offset, offset + len). Returns 0; -EOPNOTSUPP: it has what is not
 * read (err: "a pickle with the opcode INST"); -EBADMSG: it is damaged; -ENOMEM, or the error of a
 * read. */
int pickle_read(struct pickle *pickle, struct foreign_source *source, uint64_t offset, uint64_t len,
		const struct pickle_value **ret, struct err *err);

/* Item i of a list, tuple or dict; NULL: it is none, or has no such item. */
const struct pickle_value *pickle_at(const struct pickle_value *value, uint32_t i);
/* What a dict has for this text; NULL: nothing, or it is no dict. */
const struct pickle_value *pickle_get(const struct pickle_value *dict, const char *key);
/* Whether it is the text, or the bytes. */
bool pickle_is(const struct pickle_value *value, const char *text);
/* The name of what is called without its module, as "_rebuild_tensor_v2"; NULL: it is no call. */
const char *pickle_callee(const struct pickle_value *value);
/* Whether it is a whole number: an int, a bool, or of numpy, a scalar or an array of one element,
 * of an integer type. */
bool pickle_number(const struct pickle_value *value, int64_t *ret);

/* An array of numpy whose elements follow each other as C has them. */
struct pickle_array {
	const char *type;		  /* as "u1"; NULL: it is big-endian, or none of these */
	const struct pickle_value *shape; /* a tuple */
	const struct pickle_value *data;  /* bytes */
};

/* Whether it is one. */
bool pickle_array(const struct pickle_value *value, struct pickle_array *ret);
