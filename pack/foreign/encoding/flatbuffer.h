/* Reads a FlatBuffer, of which any byte may be wrong.
 *
 * Positions are counted from its first byte. What lies outside reads as 0 and sets `bad`, so that
 * it is enough to look at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flatbuffer {
	const uint8_t *data;
	size_t len;
	bool bad;
};

/* A number of 1, 2, 4 or 8 bytes. */
uint64_t flatbuffer_number(struct flatbuffer *buffer, size_t at, unsigned width);
/* The position that the offset at `at` leads to. */
size_t flatbuffer_follow(struct flatbuffer *buffer, size_t at);
/* Where a table has its field n; 0: nowhere. */
size_t flatbuffer_field(struct flatbuffer *buffer, size_t table, unsigned n);
/* The number that is field n, or `absent`. */
uint64_t flatbuffer_get(struct flatbuffer *buffer, size_t table, unsigned n, unsigned width,
			uint64_t absent);
/* The table that is field n; 0: none. */
size_t flatbuffer_table(struct flatbuffer *buffer, size_t table, unsigned n);
/* The items of the vector that is field n, `width` bytes each; all of them are within. No vector
 * has none. */
size_t flatbuffer_vector(struct flatbuffer *buffer, size_t table, unsigned n, unsigned width,
			 uint32_t *ret_count);
