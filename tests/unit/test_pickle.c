/* Pickles as Python writes them, whatever else is in them, and what is refused. */
#include "base/scope.h"
#include "pack/foreign/encoding/pickle_machine.h"
#include "tests/unit/foreign_bytes.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <string.h>

struct fixture {
	struct pickle *pickle;
	struct foreign_bytes bytes;
	const struct pickle_value *value;
	struct err err;
};

static void setup(struct fixture *f)
{
	assert_int_equal(pickle_new(&f->pickle), 0);
}

static void teardown(struct fixture *f)
{
	if (f->bytes.reader)
		foreign_bytes_release(&f->bytes);
	pickle_free(f->pickle);
}

static int read_bytes(struct fixture *f, const void *data, size_t len)
{
	if (f->bytes.reader)
		foreign_bytes_release(&f->bytes);
	foreign_bytes_init(&f->bytes, data, len);
	f->value = NULL;
	f->err.text[0] = '\0';
	return pickle_read(f->pickle, &f->bytes.source, 0, len, &f->value, &f->err);
}

/* Of a literal, which may have zeros. */
#define reads(f, literal)                                             \
	do {                                                          \
		int r_ = read_bytes(f, literal, sizeof(literal) - 1); \
                                                                      \
		if (r_ < 0)                                           \
			fail_msg("%d: %s", r_, (f)->err.text);        \
	} while (0)
#define refuses(f, literal, error, words)                                             \
	do {                                                                          \
		assert_int_equal(read_bytes(f, literal, sizeof(literal) - 1), error); \
		assert_string_equal((f)->err.text, words);                            \
	} while (0)

static void assert_place(const struct pickle_value *value, uint64_t offset, uint64_t size)
{
	assert_non_null(value);
	assert_int_equal(value->kind, PICKLE_BYTES);
	assert_int_equal(value->bytes.offset, offset);
	assert_int_equal(value->bytes.size, size);
}

static void assert_number(const struct pickle_value *value, int64_t expected)
{
	int64_t number;

	assert_true(pickle_number(value, &number));
	assert_int_equal(number, expected);
}

/* --- what is read ------------------------------------------------------------------------ */

/* pickle.dumps((b"image", 300), 3) */
#define PAIR "\x80\3C\5imageq\0M\x2c\1\x86q\1."

FIXTURE(f, struct fixture, setup, teardown);

TEST_OF(f, test_pair)
{
	reads(f, PAIR);
	assert_int_equal(f->value->kind, PICKLE_TUPLE);
	assert_int_equal(f->value->count, 2);
	assert_place(pickle_at(f->value, 0), 4, 5);
	assert_number(pickle_at(f->value, 1), 300);
	assert_null(pickle_at(f->value, 2));
}

TEST_OF(f, test_frames_and_memo_of_protocol_4)
{
	reads(f, "\x80\4\x95\13\0\0\0\0\0\0\0C\5image\x94K\7\x86\x94.");
	assert_place(pickle_at(f->value, 0), 13, 5);
	assert_number(pickle_at(f->value, 1), 7);
}

TEST_OF(f, test_numbers)
{
	reads(f,
	      "\x80\2(K\xffM\xff\xffJ\xff\xff\xff\xff\x8a\0\x8a\1\xfe\x8a\x08\0\0\0\0\0\0\0\x80"
	      "I-12\nI01\nL99L\nt.");
	assert_number(pickle_at(f->value, 0), 255);
	assert_number(pickle_at(f->value, 1), 65535);
	assert_number(pickle_at(f->value, 2), -1);
	assert_number(pickle_at(f->value, 3), 0);
	assert_number(pickle_at(f->value, 4), -2);
	assert_number(pickle_at(f->value, 5), INT64_MIN);
	assert_number(pickle_at(f->value, 6), -12);
	assert_int_equal(pickle_at(f->value, 7)->kind, PICKLE_BOOL);
	assert_number(pickle_at(f->value, 8), 99);
}

TEST_OF(f, test_dict_of_lists)
{
	reads(f,
	      "\x80\3}q\0(X\4\0\0\0nameq\1X\2\0\0\0ab"
	      "X\4\0\0\0keysq\2]q\3(h\1h\2eX\1\0\0\0fG\x3f\xf8\0\0\0\0\0\0X\1\0\0\0nNu.");
	assert_int_equal(f->value->kind, PICKLE_DICT);
	assert_true(pickle_is(pickle_get(f->value, "name"), "ab"));
	assert_true(pickle_is(pickle_at(pickle_get(f->value, "keys"), 0), "name"));
	assert_true(pickle_is(pickle_at(pickle_get(f->value, "keys"), 1), "keys"));
	assert_int_equal(pickle_get(f->value, "f")->kind, PICKLE_FLOAT);
	assert_int_equal(pickle_get(f->value, "n")->kind, PICKLE_NONE);
	assert_null(pickle_get(f->value, "nothing"));
}

/* numpy.core.multiarray.scalar(dtype("i8"), bytes) */
#define DTYPE(name)                                       \
	"cnumpy\ndtype\nX\2\0\0\0" name                   \
	"\x89\x88\x87R(K\3X\1\0\0\0<NNNJ\xff\xff\xff\xff" \
	"J\xff\xff\xff\xffK\0tb"

TEST_OF(f, test_number_of_numpy)
{
	reads(f, "\x80\3cnumpy.core.multiarray\nscalar\n" DTYPE("i8") "C\x08\xfd\xff\xff\xff\xff"
		 "\xff\xff\xff\x86R.");
	assert_string_equal(pickle_callee(f->value), "scalar");
	assert_number(f->value, -3);
	reads(f, "\x80\3cnumpy.core.multiarray\nscalar\n" DTYPE("u1") "C\1\xfd\x86R.");
	assert_number(f->value, 253);
	/* Python 2 */
	reads(f,
	      "\x80\2cnumpy.core."
	      "multiarray\nscalar\ncnumpy\ndtype\nU\2i4\x85RU\4\xfd\xff\xff\xff\x86R.");
	assert_number(f->value, -3);
}

TEST_OF(f, test_number_of_numpy_of_the_wrong_size_is_none)
{
	int64_t number;

	reads(f, "\x80\3cnumpy.core.multiarray\nscalar\n" DTYPE("i8") "C\1\xfd\x86R.");
	assert_false(pickle_number(f->value, &number));
	reads(f, "\x80\3cnumpy.core.multiarray\nscalar\n" DTYPE("f8") "C\x08........\x86R.");
	assert_false(pickle_number(f->value, &number));
}

/* As a DataLoader's samples have it. */
TEST_OF(f, test_tensor_of_torch)
{
	const struct pickle_value *storage;

	reads(f,
	      "\x80\2ctorch._utils\n_rebuild_tensor_v2\n(ctorch.storage\n_load_from_bytes\n"
	      "U\4save\x85RK\0K\5\x85K\1\x85\x89"
	      "ccollections\nOrderedDict\n)RtR.");
	assert_string_equal(pickle_callee(f->value), "_rebuild_tensor_v2");
	storage = pickle_at(f->value->call.arguments, 0);
	assert_string_equal(pickle_callee(storage), "_load_from_bytes");
	assert_true(pickle_is(pickle_at(storage->call.arguments, 0), "save"));
	assert_int_equal(pickle_at(f->value->call.arguments, 5)->kind, PICKLE_DICT);
}

TEST_OF(f, test_a_list_may_have_itself)
{
	reads(f, "\x80\3]q\0h\0a.");
	assert_ptr_equal(pickle_at(f->value, 0), f->value);
}

TEST_OF(f, test_long_payloads_are_not_read)
{
	SCOPE_FREE char *data = calloc(1, 1 << 20);

	assert_non_null(data);
	memcpy(data, "\x80\3X\0\0\x08\0", 7);
	data[(1 << 19) + 7] = '.';
	assert_int_equal(read_bytes(f, data, (1 << 19) + 8), 0);
	assert_int_equal(f->value->kind, PICKLE_TEXT);
	assert_null(f->value->bytes.data);
	assert_true(f->bytes.reader->bytes <= 3 * READER_PAGE);
}

/* --- what is refused --------------------------------------------------------------------- */

TEST_OF(f, test_nothing_is_executed)
{
	refuses(f, "\x80\3cposix\nsystem\nX\2\0\0\0ls\x85R.", -EOPNOTSUPP,
		"a pickle that needs posix.system, which is not called");
	refuses(f,
		"\x80\4\x8c\x08"
		"builtins\x8c\4eval\x93.",
		-EOPNOTSUPP, "a pickle that needs builtins.eval, which is not called");
	refuses(f, "(S'ls'\nios\nsystem\n.", -EOPNOTSUPP, "a pickle with the opcode STRING");
	refuses(f, "\x80\3)\x81.", -EOPNOTSUPP, "a pickle with the opcode NEWOBJ");
	refuses(f, "\x80\3(ios\nsystem\n.", -EOPNOTSUPP, "a pickle with the opcode INST");
}

TEST_OF(f, test_other_values_are_refused)
{
	refuses(f, "\x80\3\x8a\x09.........", -EOPNOTSUPP,
		"a pickle with a number of more than 64 bits");
	refuses(f, "V\\u20ac\n.", -EOPNOTSUPP,
		"a pickle of protocol 0 with text that is not ASCII");
	refuses(f, "\x80\3\xff.", -EBADMSG, "a pickle with the byte 0xff for an opcode");
}

TEST_OF(f, test_damage_is_named)
{
	refuses(f, "", -EBADMSG, "a pickle that is cut off");
	refuses(f, "\x80\3B\xff\xff\xff\x7fx.", -EBADMSG, "a pickle that is cut off");
	refuses(f, "\x80\3\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", -EBADMSG,
		"a pickle that is cut off");
	refuses(f, "\x80\3.", -EBADMSG, "a pickle whose opcode STOP finds no value");
	refuses(f, "\x80\3K\1\x86.", -EBADMSG, "a pickle whose opcode TUPLE2 finds no value");
	refuses(f, "\x80\3(K\1\x86.", -EBADMSG, "a pickle whose opcode TUPLE2 finds no value");
	refuses(f, "\x80\3K\1t.", -EBADMSG, "a pickle whose opcode TUPLE finds no mark");
	refuses(f, "\x80\3(K\1e.", -EBADMSG,
		"a pickle whose opcode APPENDS finds nothing to add to");
	refuses(f, "\x80\3}K\1a.", -EBADMSG,
		"a pickle whose opcode APPEND finds nothing to add to");
	refuses(f, "\x80\3}(K\1u.", -EBADMSG,
		"a pickle whose opcode SETITEMS finds a key without a value");
	refuses(f, "\x80\3h\0.", -EBADMSG,
		"a pickle whose opcode BINGET finds nothing in the memo");
	refuses(f, "\x80\3Nr\xff\xff\xff\xff.", -EBADMSG,
		"a pickle whose opcode LONG_BINPUT leaves places of the memo out");
	refuses(f, "\x80\3K\1K\2.", -EBADMSG, "a pickle whose opcode STOP comes before the end");
	refuses(f, "\x80\3K\1.x", -EBADMSG, "a pickle whose opcode STOP comes before the end");
	refuses(f, "\x80\3K\1)R.", -EBADMSG, "a pickle whose opcode REDUCE finds nothing to call");
	refuses(f, "\x80\3K\1)b.", -EBADMSG, "a pickle whose opcode BUILD finds no object");
	refuses(f, "\x80\3K\1K\1\x93.", -EBADMSG,
		"a pickle whose opcode STACK_GLOBAL finds no name");
	refuses(f, "I1x\n.", -EBADMSG, "a pickle whose opcode INT has no number of 64 bits");
	refuses(f, "I1", -EBADMSG,
		"a pickle whose opcode INT has a line that is cut off, or too long");
}

TEST_OF(f, test_numbers_as_lines_take_no_memory)
{
	char data[30003] = "N";

	for (size_t i = 1; i < sizeof(data) - 2; i += 3)
		memcpy(data + i, "p0\n", 4);
	data[sizeof(data) - 2] = '.';
	assert_int_equal(read_bytes(f, data, sizeof(data) - 1), 0);
	assert_true(f->pickle->arena.used <= 2 * sizeof(struct pickle_value));
}

/* A pickle that is cut off anywhere, and one with any byte changed, is read or refused. */
TEST_OF(f, test_no_byte_is_trusted)
{
	static const char good[] =
		"\x80\4\x95\13\0\0\0\0\0\0\0C\5image\x94K\7\x86\x94}(X\1\0\0\0"
		"ah\0u]q\0(N\x88Laaa\x86"
		"e\x87.";
	char data[sizeof(good) - 1];

	for (size_t len = 0; len < sizeof(data); len++)
		assert_true(read_bytes(f, good, len) < 0);
	for (size_t at = 0; at < sizeof(data); at++) {
		memcpy(data, good, sizeof(data));
		for (unsigned value = 0; value < 256; value += (unsigned)at % 3 + 1) {
			data[at] = (char)value;
			read_bytes(f, data, sizeof(data));
		}
	}
}
