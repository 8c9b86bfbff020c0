/* A bounded view of the bytes of a file, in either byte order. Every reader of a format asks
 * bytes_have() before it looks, or reads by bytes_get(). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *data;
	size_t len;
	bool big; /* the byte order of bytes_get() */
};

static inline bool bytes_have(const struct bytes *bytes, uint64_t at, uint64_t count)
{
	return at <= bytes->len && count <= bytes->len - at;
}

/* An integer of 1 to 4 bytes; 0 if it reaches beyond the end. */
static inline uint32_t bytes_get(const struct bytes *bytes, uint64_t at, size_t size)
{
	uint32_t value = 0;

	if (!bytes_have(bytes, at, size))
		return 0;
	for (size_t i = 0; i < size; i++)
		value = value << 8 | bytes->data[at + (bytes->big ? i : size - 1 - i)];
	return value;
}

/* Whether `count` bytes of `magic` are at `at`. */
static inline bool bytes_are(const struct bytes *bytes, uint64_t at, const char *magic,
			     size_t count)
{
	return bytes_have(bytes, at, count) && memcmp(bytes->data + at, magic, count) == 0;
}
