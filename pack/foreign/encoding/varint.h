/* Numbers of 7 bits a byte, the lowest first, where the top bit says that more follow (LEB128). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns how many bytes it takes; 0 if it is cut off, -1 if it has more than 64 bits. */
static inline int varint_get(const uint8_t *bytes, size_t len, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 10; i++) {
		if (i == len)
			return 0;
		value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
		if (i == 9 && bytes[i] > 1)
			break;
		if (bytes[i] < 0x80) {
			*ret = value;
			return (int)i + 1;
		}
	}
	return -1;
}
