/* A reader of members (base/members.h): each begins where the table says, at a multiple of
 * READER_PAGE, and holes wider than any gap that is read over lie between, so that no read spans
 * two of them, as in base/reader_volumes.h.
 *
 * The table lies in a file, and is read as it is needed: of 1,280,000 members, 160 KB are in
 * memory. It has `count` rows of four 64-bit little-endian numbers: start, size, time, and where in
 * the text that follows the rows the path stands, with a NUL, and its tag, with another. Members
 * without bytes have no row. */
#pragma once

#include "base/members.h"

#define READER_MEMBERS_ROW 32u /* bytes */

struct reader_members_table {
	struct reader *file; /* the caller's; must outlive the reader */
	uint64_t offset;     /* of the first row */
	uint64_t count;	     /* rows */
	uint64_t text;	     /* bytes behind the rows */
};

/* Where the next member begins after one of `size` bytes at `start`. */
uint64_t reader_members_after(uint64_t start, uint64_t size);

void reader_members_encode(uint64_t start, const struct member *member, uint64_t text,
			   uint8_t ret[static READER_MEMBERS_ROW]);

/* Takes over `members`, unless it fails. The sum of all sizes is in *ret_stored. Returns 0,
 * -EBADMSG (the table is none), -ENOMEM, or the error of a read. */
int reader_members_new(struct members *members, const struct reader_members_table *table,
		       struct reader **ret, uint64_t *ret_stored);
/* Appends the tag of the member at an offset, with a NUL that buf->len does not count. Returns 0,
 * -ENODATA (no reader of members, or none lies there), -ENOMEM, or the error of a read. */
int reader_members_tag(struct reader *reader, uint64_t offset, struct buf *ret);
/* Frees the reader, but not its members. */
struct members *reader_members_leave(struct reader *reader);
