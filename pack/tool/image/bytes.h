/* A bounded view of the bytes of a file, in either byte order. Every reader of a format asks
 * bytes_have() before it looks, or reads by bytes_get(). Pure. */
#ifndef PACK_TOOL_IMAGE_BYTES_H
#define PACK_TOOL_IMAGE_BYTES_H

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

/* --- TIFF, which EXIF is too: fields of 12 bytes (tag, type, count, value or where it is) ----- */

enum {
	TIFF_SHORT = 3,
	TIFF_LONG = 4,
	TIFF_FIELD = 12,
};

/* Whether the bytes begin as a TIFF does; sets their order. */
static inline bool tiff_begins(struct bytes *tiff)
{
	tiff->big = bytes_are(tiff, 0, "MM\0*", 4);
	return tiff->big || bytes_are(tiff, 0, "II*\0", 4);
}

/* Where the fields of the first directory begin, and how many it says there are. */
static inline uint64_t tiff_fields(const struct bytes *tiff, uint32_t *ret_count)
{
	uint64_t directory = bytes_get(tiff, 4, 4);

	*ret_count = bytes_get(tiff, directory, 2);
	return directory + 2;
}

/* The value of a field with one SHORT or LONG; 0 for anything else. */
static inline uint32_t tiff_number(const struct bytes *tiff, uint64_t field)
{
	uint32_t type = bytes_get(tiff, field + 2, 2);

	if (bytes_get(tiff, field + 4, 4) != 1 || (type != TIFF_SHORT && type != TIFF_LONG))
		return 0;
	return bytes_get(tiff, field + 8, type == TIFF_SHORT ? 2 : 4);
}

#endif
