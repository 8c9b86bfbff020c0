/* A pickle of protocol 4 is a header, and opcodes in frames: FRAME, 8 bytes of length, the opcodes.
 * CPython writes it so:
 *
 *	- a frame of FRAME_FULL bytes or more ends before the next value
 *	- bytes of that length end the frame, and stand outside any frame
 *	- a frame of fewer than FRAME_LEAST bytes gets no header */
#include "pack/tool/export/pickle.h"

#include "base/le.h"
#include "base/scope.h"
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

static void add_byte(struct buf *to, uint8_t byte)
{
	buf_add(to, &byte, 1);
}

/* The low bytes of an integer, little-endian. */
static void add_le(struct buf *to, uint64_t value, uint32_t bytes)
{
	uint8_t raw[8];

	le_put64(raw, value);
	buf_add(to, raw, bytes);
}

/* The header of a frame of `len` bytes. */
static void add_frame(struct buf *to, uint64_t len)
{
	if (len < FRAME_LEAST)
		return;
	add_byte(to, FRAME);
	add_le(to, len, 8);
}

/* Ends a frame. */
static void move_frame(struct buf *to, struct buf *frame)
{
	add_frame(to, frame->len);
	buf_add(to, frame->data, frame->len);
	to->failed |= frame->failed;
	frame->len = 0;
}

/* BININT has a sign. */
static void add_int(struct buf *to, uint32_t value)
{
	uint32_t bytes = value <= UINT8_MAX ? 1 : value <= UINT16_MAX ? 2 : 4;

	add_byte(to, bytes == 1 ? BININT1 : bytes == 2 ? BININT2 : BININT);
	add_le(to, value, bytes);
}

static void add_bytes_opcode(struct buf *to, uint64_t size)
{
	add_byte(to, size <= UINT8_MAX ? SHORT_BINBYTES : BINBYTES);
	add_le(to, size, size <= UINT8_MAX ? 1 : 4);
}

/* What comes after the bytes, their MEMOIZE left out. */
static void add_pickled_label(struct buf *to, uint32_t label)
{
	add_int(to, label);
	add_byte(to, TUPLE2);
	add_byte(to, MEMOIZE);
	add_byte(to, STOP);
}

int pickle_sample(uint64_t size, int32_t label, struct buf *head, struct buf *tail)
{
	SCOPE(buf_release) struct buf rest = BUF_INIT;
	uint64_t first = (size <= UINT8_MAX ? 2 : 5) + size + 1;

	add_pickled_label(&rest, (uint32_t)label);
	buf_add(head, protocol, sizeof(protocol));
	if (size >= FRAME_FULL)
		add_frame(tail, 1 + rest.len);
	else
		add_frame(head, first < FRAME_FULL ? first + rest.len : first);
	add_bytes_opcode(head, size);
	add_byte(tail, MEMOIZE);
	if (size < FRAME_FULL && first >= FRAME_FULL)
		add_frame(tail, rest.len);
	buf_add(tail, rest.data, rest.len);
	return rest.failed || head->failed ? -ENOMEM : buf_error(tail);
}

int pickle_int(uint32_t value, struct buf *to)
{
	SCOPE(buf_release) struct buf frame = BUF_INIT;

	buf_add(to, protocol, sizeof(protocol));
	add_int(&frame, value);
	add_byte(&frame, STOP);
	move_frame(to, &frame);
	return buf_error(to);
}

static void add_key(struct buf *frame, struct buf *to, uint64_t number)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRIu64, number);

	if (frame->len >= FRAME_FULL)
		move_frame(to, frame);
	add_bytes_opcode(frame, (uint64_t)len);
	buf_add(frame, text, (size_t)len);
	add_byte(frame, MEMOIZE);
}

static void add_keys(struct buf *frame, struct buf *to, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (count > 1 && i % LIST_BATCH == 0)
			add_byte(frame, MARK);
		add_key(frame, to, i);
		if (count > 1 && (i % LIST_BATCH == LIST_BATCH - 1 || i == count - 1))
			add_byte(frame, APPENDS);
	}
	if (count == 1)
		add_byte(frame, APPEND);
}

int pickle_keys(uint64_t count, struct buf *to)
{
	SCOPE(buf_release) struct buf frame = BUF_INIT;

	buf_add(to, protocol, sizeof(protocol));
	add_byte(&frame, EMPTY_LIST);
	add_byte(&frame, MEMOIZE);
	add_keys(&frame, to, count);
	add_byte(&frame, STOP);
	move_frame(to, &frame);
	return buf_error(to);
}
