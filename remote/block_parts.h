/* A read of a far file in parts: those pages that the copy has, and those that it has not. */
#ifndef REMOTE_BLOCK_PARTS_H
#define REMOTE_BLOCK_PARTS_H

#include "remote/blocks.h"

#define PARTS_MOST 32			       /* of one read; the last one takes what is left */
#define PARTS_GAP  (8 * (uint64_t)READER_PAGE) /* bytes: a request costs more than these */

/* Whole pages; the last of the file's may be cut. */
struct part {
	uint64_t begin, end;
	bool near; /* the copy has them */
};

/* Divides pages. A part that the copy has, shorter than PARTS_GAP and between two that it has not,
 * is one with these. Returns the number of parts. */
unsigned parts_divide(const struct blocks *blocks, uint64_t begin, uint64_t end,
		      struct part ret[static PARTS_MOST]);

/* Bytes of a part that the file has. */
uint64_t part_bytes(const struct blocks *blocks, const struct part *part);

/* The memory of a part, of that for a read from `offset` on. Returns the number of pieces, at most
 * one more than there were. */
int part_pieces(const struct part *part, const struct iovec *iov, int count, uint64_t offset,
		struct iovec *ret);

/* The end of the page that byte `end - 1` is in. */
static inline uint64_t pages_end(uint64_t end)
{
	return (end + READER_PAGE - 1) / READER_PAGE * READER_PAGE;
}

#endif
