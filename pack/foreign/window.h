/* What a scan has read of a file: small reads come from a window, which grows where one read
 * follows the other.
 *
 * Where a read is a round trip, those that follow each other become a stream of whole windows that
 * are asked for ahead, as fast as the link is; and a scan that knows which few bytes it will need
 * says so: window_will_get().
 *
 * Not thread-safe. */
#pragma once

#include "base/buf.h"
#include "base/reader.h"

struct window {
	struct reader *reader;
	uint64_t size; /* of the file */
	bool remote;
	struct buf bytes; /* [start, start + bytes.len) of the file */
	uint64_t start;
	size_t least; /* bytes that the next read brings at least */

	/* A stream: windows from `next` to `asked` are under way. asked: 0: there is none. */
	uint64_t next, asked;
	unsigned ahead; /* windows */

	struct buf before; /* what was there before that */
	uint64_t before_start;

	/* Pieces that were announced, in the order of their use, from `first` on. */
	struct buf pieces;
	size_t first;
	int trust; /* below 0: announcements are ignored, as they were wrong */
};

/* The reader stays the caller's. Returns 0, or why it cannot tell its size. */
int window_init(struct window *window, struct reader *reader);
void window_release(struct window *window);

/* Fills `bytes` with the bytes from `offset` on, as many of `len` as the file has. Returns 0,
 * -ENOMEM or the error of the read. */
int window_fill(struct window *window, uint64_t offset, size_t len);

/* Streams all of the file through this reader, from the first read on. */
void window_stream(struct window *window, struct reader *reader);

/* These bytes will be needed, in this order: a hint. */
void window_will_get(struct window *window, uint64_t offset, size_t len);

static inline bool window_has(const struct window *window, uint64_t offset, size_t len)
{
	return offset >= window->start && offset - window->start <= window->bytes.len &&
	       len <= window->bytes.len - (offset - window->start);
}
