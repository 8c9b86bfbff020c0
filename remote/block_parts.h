/* Divides a read of a far file into parts: pages that the copy has, and pages that it lacks. */
#pragma once

#include "remote/blocks.h"

#define PARTS_MOST 32 /* of one read; the last part takes all that is left */
#define PARTS_GAP  (8 * (uint64_t)READER_PAGE) /* bytes: less than another request costs */

/* Whole pages; only the last page of the file may be shorter. */
struct part {
	uint64_t begin, end;
	bool near; /* the copy has these pages */
};

/* Divides a range of pages. Two parts that the copy lacks become one if less than PARTS_GAP lies
 * between them. Returns the number of parts. */
unsigned parts_divide(const struct blocks *blocks, uint64_t begin, uint64_t end,
		      struct part ret[static PARTS_MOST]);

/* How many bytes of the part are in the file. */
uint64_t part_bytes(const struct blocks *blocks, const struct part *part);

/* The memory of one part, out of the memory for a read from `offset` on. Returns the number of
 * pieces: at most one more than there were. */
int part_pieces(const struct part *part, const struct iovec *iov, int count, uint64_t offset,
		struct iovec *ret);

/* The end of the page that holds byte `end - 1`. */
static inline uint64_t pages_end(uint64_t end)
{
	return (end + READER_PAGE - 1) / READER_PAGE * READER_PAGE;
}
