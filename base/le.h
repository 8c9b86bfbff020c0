/* Little-endian integers in byte buffers, wherever they lie. */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t le_get16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t le_get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t le_get64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void le_put16(void *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void le_put32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void le_put64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

/* One of 1, 2, 4 or 8 bytes. */
static inline void le_put(void *p, uint32_t width, uint64_t v)
{
	switch (width) {
	case 1:
		*(uint8_t *)p = (uint8_t)v;
		break;
	case 2:
		le_put16(p, (uint16_t)v);
		break;
	case 4:
		le_put32(p, (uint32_t)v);
		break;
	default:
		le_put64(p, v);
	}
}
