/* The opcodes that put a value of their own on the stack. */
#include "base/be.h"
#include "pack/foreign/encoding/pickle_opcodes.h"
#include <stdlib.h>

/* --- scalars ---------------------------------------------------------------------------------- */

int pickle_run_nothing(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t ignored;

	return pickle_take_number(pickle, width, &ignored, err);
}

int pickle_run_mark(struct pickle *pickle, unsigned argument, struct err *err)
{
	(void)argument;
	return pickle_push(pickle, NULL, err);
}

int pickle_run_value(struct pickle *pickle, unsigned kind, struct err *err)
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

int pickle_run_bool(struct pickle *pickle, unsigned truth, struct err *err)
{
	return push_number(pickle, PICKLE_BOOL, truth, err);
}

int pickle_run_int(struct pickle *pickle, unsigned width, struct err *err)
{
	uint64_t number;
	int r = pickle_take_number(pickle, width, &number, err);

	return r < 0 ? r
		     : push_number(pickle, PICKLE_INT,
				   width == 4 ? (int32_t)number : (int64_t)number, err);
}

int pickle_run_long(struct pickle *pickle, unsigned width, struct err *err)
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
int pickle_run_int_line(struct pickle *pickle, unsigned argument, struct err *err)
{
	char digits[PICKLE_DIGITS], *end;
	long long number;
	int r = pickle_take_digits(pickle, digits, err);

	(void)argument;
	if (r < 0)
		return r;
	if (strcmp(digits, "00") == 0 || strcmp(digits, "01") == 0)
		return pickle_run_bool(pickle, digits[1] == '1', err);
	errno = 0;
	number = strtoll(digits, &end, 10);
	if (*end == 'L')
		end++;
	if (*end || errno)
		return pickle_damaged(pickle, "has no number of 64 bits", err);
	return push_number(pickle, PICKLE_INT, number, err);
}

static int push_float(struct pickle *pickle, double real, struct err *err)
{
	struct pickle_value *value;
	int r = pickle_make(pickle, PICKLE_FLOAT, &value, err);

	if (r == 0)
		value->real = real;
	return r;
}

int pickle_run_float(struct pickle *pickle, unsigned argument, struct err *err)
{
	const uint8_t *bytes;
	uint64_t bits;
	double real;
	int r = pickle_take(pickle, 8, &bytes, err);

	(void)argument;
	if (r < 0)
		return r;
	bits = (uint64_t)be_get32(bytes) << 32 | be_get32(bytes + 4);
	memcpy(&real, &bits, sizeof(real));
	return push_float(pickle, real, err);
}

int pickle_run_float_line(struct pickle *pickle, unsigned argument, struct err *err)
{
	char digits[PICKLE_DIGITS], *end;
	double real;
	int r = pickle_take_digits(pickle, digits, err);

	(void)argument;
	if (r < 0)
		return r;
	real = strtod(digits, &end);
	if (*end)
		return pickle_damaged(pickle, "has no number", err);
	return push_float(pickle, real, err);
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

int pickle_run_bytes(struct pickle *pickle, unsigned width, struct err *err)
{
	return push_payload(pickle, PICKLE_BYTES, width, err);
}

int pickle_run_text(struct pickle *pickle, unsigned width, struct err *err)
{
	return push_payload(pickle, PICKLE_TEXT, width, err);
}

/* Protocol 0 encodes what is not ASCII in a way of its own, which is refused. */
int pickle_run_text_line(struct pickle *pickle, unsigned argument, struct err *err)
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
