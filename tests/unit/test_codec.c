/* Cutting what is compressed into pieces: pack/foreign/codec.h. */
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/codec.h"
#include "tests/unit/test.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define SIZE (700 * KIB + 123)

/* Half of it repeats. */
static void fill(uint8_t *bytes)
{
	uint32_t x = 1;

	for (size_t i = 0; i < SIZE; i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = i / 1000 % 2 ? bytes[i - 777] : (uint8_t)(x >> 24);
	}
}

/* By the library itself. */
static size_t compress(const uint8_t *bytes, size_t len, uint8_t *ret, size_t room)
{
	void *library = dlopen("libsnappy.so.1", RTLD_NOW);
	int (*function)(const char *, size_t, char *, size_t *);

	if (!library)
		skip();
	*(void **)&function = dlsym(library, "snappy_compress");
	assert_int_equal(function((const char *)bytes, len, (char *)ret, &room), 0);
	return room;
}

/* Unpacks the pieces one by one; returns how many there are. */
static size_t expect_pieces(const uint8_t *packed, size_t len, const uint8_t *bytes, size_t all)
{
	SCOPE(buf_release) struct buf pieces = BUF_INIT;
	const struct codec_piece *piece;
	size_t made = 0, count;

	assert_int_equal(codec_split(CODEC_SNAPPY, packed, len, all, &pieces), 0);
	piece = (const void *)pieces.data;
	count = pieces.len / sizeof(*piece);
	for (size_t i = 0; i < count; i++, made += piece++->unpacked) {
		SCOPE_FREE uint8_t *out = malloc(piece->unpacked);

		assert_true(made % (64 * KIB) == 0);
		assert_true(piece->offset <= len && piece->packed <= len - piece->offset);
		assert_int_equal(codec_unpack(piece->codec, packed + piece->offset, piece->packed,
					      out, piece->unpacked, NULL),
				 0);
		assert_memory_equal(out, bytes + made, piece->unpacked);
	}
	assert_int_equal(made, all);
	return count;
}

TEST(snappy_is_cut)
{
	SCOPE_FREE uint8_t *bytes = malloc(SIZE), *packed = malloc(2 * SIZE);
	size_t len;

	fill(bytes);
	len = compress(bytes, SIZE, packed, 2 * SIZE);
	assert_true(len < SIZE);
	assert_int_equal(expect_pieces(packed, len, bytes, SIZE), 6);
}

/* A copy that reaches over 64 KiB, as no library writes it. */
TEST(what_reaches_back_is_left_whole)
{
	SCOPE_FREE uint8_t *bytes = calloc(1, SIZE), *packed = malloc(2 * SIZE);
	size_t len = 5, made = 64;

	memcpy(packed, (uint8_t[]){0xc0, 0x80, 0x10, 60 << 2, 63}, 5);
	for (unsigned i = 0; i < 64; i++)
		packed[len++] = (uint8_t)(1 + i % 4);
	for (; made < 256 * KIB + 64; made += 64, len += 3)
		memcpy(packed + len, (uint8_t[]){63 << 2 | 2, 4, 0}, 3);
	for (size_t i = 0; i < made; i++)
		bytes[i] = (uint8_t)(1 + i % 4);
	assert_int_equal(expect_pieces(packed, len, bytes, made), 1);
}

TEST(what_does_not_fit_is_left_whole)
{
	SCOPE_FREE uint8_t *bytes = malloc(SIZE), *packed = malloc(2 * SIZE);
	size_t len;

	fill(bytes);
	len = compress(bytes, SIZE, packed, 2 * SIZE);
	for (unsigned i = 0; i < 2000; i++) {
		SCOPE(buf_release) struct buf pieces = BUF_INIT;
		size_t cut = i % 2 ? len : i * len / 2000;
		SCOPE_FREE uint8_t *copy = malloc(cut + 1);

		memcpy(copy, packed, cut);
		copy[i * 769 % (cut + 1)] ^= (uint8_t)(1 << i % 8);
		copy = realloc(copy, cut ? cut : 1);
		assert_int_equal(codec_split(CODEC_SNAPPY, copy, cut, SIZE, &pieces), 0);
		assert_true(pieces.len >= sizeof(struct codec_piece));
		if (cut < len)
			assert_int_equal(pieces.len, sizeof(struct codec_piece));
	}
}

TEST(other_codecs_are_whole_or_refused)
{
	SCOPE(buf_release) struct buf pieces = BUF_INIT;
	struct err err = {0};

	assert_int_equal(codec_split(CODEC_ZSTD, "abc", 3, 500, &pieces), 0);
	assert_int_equal(pieces.len, sizeof(struct codec_piece));
	assert_int_equal(codec_check((enum codec)4, &err), -EOPNOTSUPP);
	assert_string_equal(
		err.text,
		"pages compressed by brotli, which is not read: snappy, gzip and zstd are");
}
