/* A reader that keeps a copy of a far or slow file on a local disk.
 *
 *	reader_read, _submit	from the copy where it has the pages, else from the far reader; then
 *				they are written to the copy, after the answer;
 *				of what is submitted, those that reader_settle() says are right
 *	reader_get		the same, for what has a checksum: sections of an index
 *	reader_origin		the remote reader: what has no checksum
 *
 * A copy is of what is at one place (base/reader.h): its checksums do not tell what another server
 * has made look like it. Of a file on this machine it is only until that is written to.
 *
 * Until reader_known() has said which pack it is, and if its copy cannot be opened, everything is
 * read from the remote reader. If the copy has parts of a range, the range is read in parts. A part
 * that another mount fetches is waited for, for a while; what this one fetches ahead is not.
 *
 * The copy may be damaged: callers check all that has a checksum, and tell reader_bad().
 *
 * With `fill`, once a 64th part of the file has been read, the rest is fetched too, after what
 * readers want, if there is room for all of it (disk.h).
 *
 * A complete copy is like a local file: hints say so, and the far reader is asked for nothing, not
 * even for the identity. */
#pragma once

#include "remote/disk.h"

/* Takes over `far`, even on failure; the disk must outlive the reader. Returns 0 or -errno. */
int reader_blocks_new(struct reader *far, struct disk *disk, bool fill, struct reader **ret);
/* The next of all such readers of a disk, the first after NULL; NULL: there are no more. None may
 * be made or freed meanwhile. */
struct reader *reader_blocks_next(const struct disk *disk, struct reader *reader);

struct reader_blocks_stats {
	uint64_t copy;			/* blocks_number(): readers of equal packs share it */
	uint64_t size, cached;		/* bytes: of the file; of these, that are on the disk */
	uint64_t near_bytes, far_bytes; /* bytes read from the copy, and from the remote reader */
	uint64_t damaged;		/* ranges of the copy that did not match their checksum */
	uint64_t left_out;		/* bytes that were not written to the copy */
	bool open;			/* there is a copy */
	bool complete;			/* as far as any process knows */
	bool full, failed; /* the cache may not grow now; the disk was full, or failed */
	enum disk_fill_state filler;
	int error; /* what the remote reader or the system failed with; 0: neither did */
};

/* The reader must be one of reader_blocks_new(), here and below. */
void reader_blocks_stats(struct reader *reader, struct reader_blocks_stats *ret);

/* Begins to fetch all that is missing, if there is room for it, without waiting for a part of the
 * file to be read. False: there is no copy. */
bool reader_blocks_fill(struct reader *reader);

/* Waits until all that was read is written. */
void reader_blocks_drain(struct reader *reader);
