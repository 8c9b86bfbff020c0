#include "pack/foreign/encoding/flatbuffer.h"
#include "base/le.h"

uint64_t flatbuffer_number(struct flatbuffer *buffer, size_t at, unsigned width)
{
	uint64_t number = 0;

	if (at > buffer->len || width > buffer->len - at) {
		buffer->bad = true;
		return 0;
	}
	memcpy(&number, buffer->data + at, width);
	return le64toh(number);
}

size_t flatbuffer_follow(struct flatbuffer *buffer, size_t at)
{
	uint64_t offset = flatbuffer_number(buffer, at, 4);

	/* All offsets but those to the fields of a table lead forward, so that there are no
	 * circles. */
	if (offset == 0 || at + offset >= buffer->len) {
		buffer->bad = true;
		return 0;
	}
	return at + (size_t)offset;
}

size_t flatbuffer_field(struct flatbuffer *buffer, size_t table, unsigned n)
{
	int64_t fields = (int64_t)table - (int32_t)flatbuffer_number(buffer, table, 4);
	uint64_t offset;

	if (fields < 0 || (uint64_t)fields >= buffer->len) {
		buffer->bad = true;
		return 0;
	}
	if (4 + 2 * n + 2 > flatbuffer_number(buffer, (size_t)fields, 2))
		return 0;
	offset = flatbuffer_number(buffer, (size_t)fields + 4 + 2 * n, 2);
	return offset ? table + (size_t)offset : 0;
}

uint64_t flatbuffer_get(struct flatbuffer *buffer, size_t table, unsigned n, unsigned width,
			uint64_t absent)
{
	size_t at = flatbuffer_field(buffer, table, n);

	return at ? flatbuffer_number(buffer, at, width) : absent;
}

size_t flatbuffer_table(struct flatbuffer *buffer, size_t table, unsigned n)
{
	size_t at = flatbuffer_field(buffer, table, n);

	return at ? flatbuffer_follow(buffer, at) : 0;
}

size_t flatbuffer_vector(struct flatbuffer *buffer, size_t table, unsigned n, unsigned width,
			 uint32_t *ret_count)
{
	size_t at = flatbuffer_table(buffer, table, n);
	uint64_t count = at ? flatbuffer_number(buffer, at, 4) : 0;

	*ret_count = 0;
	if (count == 0)
		return 0;
	if (count > (buffer->len - at - 4) / width) {
		buffer->bad = true;
		return 0;
	}
	*ret_count = (uint32_t)count;
	return at + 4;
}
