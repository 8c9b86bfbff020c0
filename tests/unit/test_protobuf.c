/* Fields of protocol buffers: pack/foreign/encoding/protobuf.h. */
#include "pack/foreign/encoding/protobuf.h"
#include "tests/unit/foreign_fixture.h"
#include "tests/unit/test.h"

static struct protobuf open_message(struct foreign_fixture *f, const void *bytes, size_t len)
{
	fixture_write(f, "bytes", bytes, len);
	fixture_look(f, "bytes");
	return protobuf_at(&f->source, 0, len);
}

#define OPEN(f, ...) \
	open_message(f, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

TEST_OF(f, test_every_type_of_field_is_read)
{
	struct protobuf message =
		OPEN(f, 0x08, 0xac, 0x02,	   /* 1: 300 */
		     0x12, 0x03, 'a', 'b', 'c',	   /* 2: "abc" */
		     0x1d, 1, 2, 3, 4,		   /* 3: fixed32 */
		     0x21, 1, 2, 3, 4, 5, 6, 7, 8, /* 4: fixed64 */
		     0xf8, 0xff, 0xff, 0xff, 0x0f, /* the greatest number */
		     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, /* -1 */
		     0x12, 0x00);						 /* 2: "" */
	struct protobuf_field field;

	assert_done(protobuf_next(&message, &field, &f->err));
	assert_true(field.number == 1 && field.type == PROTOBUF_VARINT && field.value == 300);
	assert_done(protobuf_next(&message, &field, &f->err));
	assert_true(field.number == 2 && field.type == PROTOBUF_BYTES);
	assert_true(field.offset == 5 && field.size == 3);
	assert_done(protobuf_next(&message, &field, &f->err));
	assert_true(field.number == 3 && field.value == 0x04030201);
	assert_done(protobuf_next(&message, &field, &f->err));
	assert_true(field.number == 4 && field.value == 0x0807060504030201);
	assert_done(protobuf_next(&message, &field, &f->err));
	assert_true(field.number == (1u << 29) - 1 && field.value == UINT64_MAX);
	assert_done(protobuf_next(&message, &field, &f->err));
	assert_true(field.number == 2 && field.size == 0);
	assert_int_equal(protobuf_next(&message, &field, &f->err), 1);
	assert_int_equal(protobuf_next(&message, &field, &f->err), 1);
}

static void refuses(struct foreign_fixture *f, struct protobuf message, const char *why)
{
	struct protobuf_field field;

	assert_int_equal(protobuf_next(&message, &field, &f->err), -EBADMSG);
	assert_string_equal(f->err.text, why);
}

TEST_OF(f, test_refusals_say_what_and_where)
{
	refuses(f, OPEN(f, 0x80), "a number that does not end at byte 0 of a message of 1");
	refuses(f, OPEN(f, 0x08), "a number that does not end at byte 0 of a message of 1");
	refuses(f, OPEN(f, 0x00, 0x00),
		"a field without a valid number at byte 0 of a message of 2");
	refuses(f, OPEN(f, 0x0b, 0x0c), "a group or an unknown type at byte 0 of a message of 2");
	refuses(f, OPEN(f, 0x0f, 0x00), "a group or an unknown type at byte 0 of a message of 2");
	refuses(f, OPEN(f, 0x0d, 1, 2, 3),
		"a number that does not end at byte 0 of a message of 4");
	refuses(f, OPEN(f, 0x09, 1, 2, 3, 4, 5, 6, 7),
		"a number that does not end at byte 0 of a message of 8");
	refuses(f, OPEN(f, 0x0a, 0x03, 'a', 'b'),
		"a field that is longer than its message at byte 0 of a message of 4");
	refuses(f, OPEN(f, 0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
		"a field that is longer than its message at byte 0 of a message of 11");
	refuses(f, OPEN(f, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02),
		"a number of more than 64 bits at byte 0 of a message of 11");
	refuses(f, OPEN(f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00),
		"a number of more than 64 bits at byte 0 of a message of 12");
	refuses(f, OPEN(f, 0x80, 0x80, 0x80, 0x80, 0x10, 0x00),
		"a field without a valid number at byte 0 of a message of 6");
}

TEST_OF(f, test_a_message_does_not_see_behind_its_end)
{
	struct protobuf message = OPEN(f, 0x0a, 0x02, 0x08, 0x96, 0x01, 0x00), inner;
	struct protobuf_field field;

	assert_done(protobuf_next(&message, &field, &f->err));
	inner = protobuf_in(&message, &field);
	refuses(f, inner, "a number that does not end at byte 0 of a message of 2");
}

TEST_OF(f, test_packed_numbers)
{
	struct protobuf packed = OPEN(f, 0x01, 0xac, 0x02, 0x80);
	uint64_t value;

	assert_done(protobuf_varint(&packed, &value, &f->err));
	assert_int_equal(value, 1);
	assert_done(protobuf_varint(&packed, &value, &f->err));
	assert_int_equal(value, 300);
	assert_int_equal(protobuf_varint(&packed, &value, &f->err), -EBADMSG);
	packed.at = packed.end;
	assert_int_equal(protobuf_varint(&packed, &value, &f->err), 1);
}
