/* A reader that keeps a copy of a far or slow file on a local disk.
 *
 *	reader_read, _submit	from the copy where it has the pages, else from the far reader; then
 *				they are written to the copy, after the answer (block_writer.h)
 *	reader_get		the same, for what has a checksum: sections of an index
 *	reader_origin		the far reader: what has no checksum
 *
 * Until reader_known() has said which pack it is, and where its copy cannot be opened, all is
 * read from the far reader. A range of which the copy has parts is read in parts; a short part that
 * it has between two that it has not is read again with them, as a request costs more.
 *
 * The copy may be damaged: who reads checks all that has a checksum, and tells reader_bad().
 *
 * With `fill`, once a 64th part of the file has been read, the rest is fetched as well, behind what
 *readers want, if there is room for all of it (block_filler.h).
 *
 * A copy that has all pages is as good as a local file: hints say so, and the far reader is only
 * asked for the identity. */
#ifndef REMOTE_READER_BLOCKS_H
#define REMOTE_READER_BLOCKS_H

#include "remote/block_filler.h"

struct reader_blocks_params {
	struct block_store *store; /* must outlive the reader */
	const char *name;	   /* a path or URL, see block_store_remember(); copied */
	bool fill;		   /* what is not read is fetched as well, see above */
	/* Gets a line when the copy cannot be used, or no longer be written; NULL: nobody does. */
	void (*notice)(const char *line);
};

/* Takes over `far`, even on failure. Returns 0 or -errno. */
int reader_blocks_new(struct reader *far, const struct reader_blocks_params *params,
		      struct reader **ret);

struct reader_blocks_stats {
	uint64_t size, cached;		   /* bytes: of the file; of the disk that the copy takes */
	uint64_t near_bytes, far_bytes;	   /* read from the copy, from the far reader */
	uint64_t damaged;		   /* ranges of the copy that did not fit their checksum */
	uint64_t left_out;		   /* bytes that were not written, as too much waited */
	bool open, complete, full, failed; /* there is a copy; see block_writer.h */
	enum block_filler_state filler;
	int error; /* of the far reader, where filling has failed */
};

/* Of a reader that reader_blocks_new() has made. */
void reader_blocks_stats(struct reader *reader, struct reader_blocks_stats *ret);

/* Fetches all that is missing, if there is room for it: from now on, and not only once a part of
 * the file has been read. False: there is no copy. */
bool reader_blocks_fill(struct reader *reader);

/* Waits until what was read is written. */
void reader_blocks_drain(struct reader *reader);

#endif
