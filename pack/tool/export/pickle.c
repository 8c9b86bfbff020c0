/* A pickle of protocol 4 is a header, and opcodes in frames: FRAME, 8 bytes of length, the opcodes.
 * CPython writes it so:
 *
 *	- a frame of FRAME_FULL bytes or more ends before the next value
 *	- bytes of that length end the frame, and stand outside any frame
 *	- a frame of fewer than FRAME_LEAST bytes gets no header */
#include "pack/tool/export/pickle.h"

#include "base/scope.h"
#include "pack/tool/export/encoder.h"
#include <inttypes.h>

#define FRAME_FULL  (64 * 1024)
#define FRAME_LEAST 4
#define LIST_BATCH  1000 /* items that one APPENDS takes */

enum pickle_opcode {
	PROTO = 0x80,
	FRAME = 0x95,
	STOP = '.',
	SHORT_BINBYTES = 'C',
	BINBYTES = 'B',
	BININT1 = 'K',
	BININT2 = 'M',
	BININT = 'J',
	EMPTY_LIST = ']',
	MARK = '(',
	APPEND = 'a',
	APPENDS = 'e',
	TUPLE2 = 0x86,
	MEMOIZE = 0x94,
};

static const uint8_t protocol[] = {PROTO, 4};

/* The header of a frame of `len` bytes. */
static void add_frame(struct encoder *to, uint64_t len)
{
	if (len < FRAME_LEAST)
		return;
	encoder_byte(to, FRAME);
	encoder_le(to, len, 8);
}

/* Ends a frame. */
static void move_frame(struct encoder *to, struct buf *frame)
{
	add_frame(to, frame->len);
	encoder_add(to, frame->data, frame->len);
	frame->len = 0;
}

/* BININT has a sign. */
static void add_int(struct encoder *to, uint32_t value)
{
	uint32_t bytes = value <= UINT8_MAX ? 1 : value <= UINT16_MAX ? 2 : 4;

	encoder_byte(to, bytes == 1 ? BININT1 : bytes == 2 ? BININT2 : BININT);
	encoder_le(to, value, bytes);
}

static void add_bytes_opcode(struct encoder *to, uint64_t size)
{
	encoder_byte(to, size <= UINT8_MAX ? SHORT_BINBYTES : BINBYTES);
	encoder_le(to, size, size <= UINT8_MAX ? 1 : 4);
}

/* What comes after the bytes, their MEMOIZE left out. */
static void add_pickled_label(struct encoder *to, uint32_t label)
{
	add_int(to, label);
	encoder_byte(to, TUPLE2);
	encoder_byte(to, MEMOIZE);
	encoder_byte(to, STOP);
}

static size_t opcode_len(uint64_t size)
{
	return size <= UINT8_MAX ? 2 : 5;
}

int pickle_sample(uint64_t size, int32_t label, struct buf *head, struct buf *tail)
{
	SCOPE(buf_release) struct buf rest = BUF_INIT;
	struct encoder before = {.to = head}, after = {.to = tail}, last = {.to = &rest};
	uint64_t first = opcode_len(size) + size + 1;

	add_pickled_label(&last, (uint32_t)label);
	encoder_add(&before, protocol, sizeof(protocol));
	if (size >= FRAME_FULL)
		add_frame(&after, 1 + rest.len);
	else
		add_frame(&before, first < FRAME_FULL ? first + rest.len : first);
	add_bytes_opcode(&before, size);
	encoder_byte(&after, MEMOIZE);
	if (size < FRAME_FULL && first >= FRAME_FULL)
		add_frame(&after, rest.len);
	encoder_add(&after, rest.data, rest.len);
	return last.error ? last.error : before.error ? before.error : after.error;
}

int pickle_int(uint32_t value, struct buf *to)
{
	SCOPE(buf_release) struct buf frame = BUF_INIT;
	struct encoder inner = {.to = &frame}, outer = {.to = to};

	encoder_add(&outer, protocol, sizeof(protocol));
	add_int(&inner, value);
	encoder_byte(&inner, STOP);
	move_frame(&outer, &frame);
	return inner.error ? inner.error : outer.error;
}

static void add_key(struct encoder *inner, struct encoder *outer, uint64_t number)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRIu64, number);

	if (inner->to->len >= FRAME_FULL)
		move_frame(outer, inner->to);
	add_bytes_opcode(inner, (uint64_t)len);
	encoder_add(inner, text, (size_t)len);
	encoder_byte(inner, MEMOIZE);
}

static void add_keys(struct encoder *inner, struct encoder *outer, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (count > 1 && i % LIST_BATCH == 0)
			encoder_byte(inner, MARK);
		add_key(inner, outer, i);
		if (count > 1 && (i % LIST_BATCH == LIST_BATCH - 1 || i == count - 1))
			encoder_byte(inner, APPENDS);
	}
	if (count == 1)
		encoder_byte(inner, APPEND);
}

int pickle_keys(uint64_t count, struct buf *to)
{
	SCOPE(buf_release) struct buf frame = BUF_INIT;
	struct encoder inner = {.to = &frame}, outer = {.to = to};

	encoder_add(&outer, protocol, sizeof(protocol));
	encoder_byte(&inner, EMPTY_LIST);
	encoder_byte(&inner, MEMOIZE);
	add_keys(&inner, &outer, count);
	encoder_byte(&inner, STOP);
	move_frame(&outer, &frame);
	return inner.error ? inner.error : outer.error;
}
