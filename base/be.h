/* Big-endian integers in byte buffers, wherever they lie. */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t be_get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}
