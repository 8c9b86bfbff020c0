/* Zips of stored entries, or of what says that it is not. */
#pragma once

#include "base/buf.h"
#include "tests/unit/test.h"
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct zip_written {
	const char *name, *text;
	uint16_t flags, method;
	uint32_t mode;	      /* of Unix; 0: made elsewhere */
	uint32_t local_extra; /* bytes, of zeros */
	const char *extra;    /* in the central directory, if there is no zip64 */
	uint16_t extra_len;
	bool zip64;
	uint64_t at; /* of the local header: set by zip_add_local() */
};

static inline void zip_put16(struct buf *zip, uint16_t v)
{
	v = htole16(v);
	assert_done(buf_add(zip, &v, sizeof(v)));
}

static inline void zip_put32(struct buf *zip, uint32_t v)
{
	v = htole32(v);
	assert_done(buf_add(zip, &v, sizeof(v)));
}

static inline void zip_put64(struct buf *zip, uint64_t v)
{
	v = htole64(v);
	assert_done(buf_add(zip, &v, sizeof(v)));
}

static inline void zip_add_local(struct buf *zip, struct zip_written *e)
{
	static const char zeros[64];

	e->at = zip->len;
	zip_put32(zip, 0x04034b50);
	zip_put16(zip, 20);
	zip_put16(zip, e->flags);
	zip_put16(zip, e->method);
	zip_put32(zip, 0);
	zip_put32(zip, 0);
	zip_put64(zip, 0); /* the sizes: only the central directory has them, as of a pipe */
	zip_put16(zip, (uint16_t)strlen(e->name));
	zip_put16(zip, (uint16_t)e->local_extra);
	assert_done(buf_add(zip, e->name, strlen(e->name)));
	assert_done(buf_add(zip, zeros, e->local_extra));
	assert_done(buf_add(zip, e->text, strlen(e->text)));
}

static inline void zip_add_central(struct buf *zip, const struct zip_written *e)
{
	uint32_t size = (uint32_t)strlen(e->text);

	zip_put32(zip, 0x02014b50);
	zip_put16(zip, e->mode ? 3 << 8 : 0);
	zip_put16(zip, 20);
	zip_put16(zip, e->flags);
	zip_put16(zip, e->method);
	zip_put16(zip, 12 << 11 | 30 << 5 | 2); /* 12:30:04 */
	zip_put16(zip, 40 << 9 | 2 << 5 | 29);	/* 2020-02-29 */
	zip_put32(zip, 0);
	zip_put32(zip, e->zip64 ? UINT32_MAX : size);
	zip_put32(zip, e->zip64 ? UINT32_MAX : size);
	zip_put16(zip, (uint16_t)strlen(e->name));
	zip_put16(zip, e->zip64 ? 28 : e->extra_len);
	zip_put32(zip, 0);
	zip_put16(zip, 0);
	zip_put32(zip, e->mode << 16);
	zip_put32(zip, e->zip64 ? UINT32_MAX : (uint32_t)e->at);
	assert_done(buf_add(zip, e->name, strlen(e->name)));
	if (!e->zip64) {
		assert_done(buf_add(zip, e->extra, e->extra_len));
		return;
	}
	zip_put16(zip, 1);
	zip_put16(zip, 24);
	zip_put64(zip, size);
	zip_put64(zip, size);
	zip_put64(zip, e->at);
}

static inline void zip_add_end(struct buf *zip, size_t count, uint64_t at, const char *comment)
{
	uint32_t bytes = (uint32_t)(zip->len - at);

	zip_put32(zip, 0x06054b50);
	zip_put32(zip, 0);
	zip_put16(zip, (uint16_t)count);
	zip_put16(zip, (uint16_t)count);
	zip_put32(zip, bytes);
	zip_put32(zip, (uint32_t)at);
	zip_put16(zip, (uint16_t)strlen(comment));
	assert_done(buf_add(zip, comment, strlen(comment)));
}

static inline void zip_add_end64(struct buf *zip, size_t count, uint64_t at)
{
	uint64_t end = zip->len;

	zip_put32(zip, 0x06064b50);
	zip_put64(zip, 44);
	zip_put32(zip, 45 << 16 | 45);
	zip_put64(zip, 0);
	zip_put64(zip, count);
	zip_put64(zip, count);
	zip_put64(zip, end - at);
	zip_put64(zip, at);
	zip_put32(zip, 0x07064b50);
	zip_put32(zip, 0);
	zip_put64(zip, end);
	zip_put32(zip, 1);
	zip_put32(zip, 0x06054b50);
	zip_put32(zip, 0);
	zip_put32(zip, UINT32_MAX);
	zip_put64(zip, UINT64_MAX);
	zip_put16(zip, 0);
}

/* Returns where its central directory begins. */
static inline uint64_t zip_write(struct buf *zip, struct zip_written *entries, size_t count,
				 const char *comment)
{
	uint64_t at;

	zip->len = 0;
	for (size_t i = 0; i < count; i++)
		zip_add_local(zip, &entries[i]);
	at = zip->len;
	for (size_t i = 0; i < count; i++)
		zip_add_central(zip, &entries[i]);
	if (comment)
		zip_add_end(zip, count, at, comment);
	else
		zip_add_end64(zip, count, at);
	return at;
}
