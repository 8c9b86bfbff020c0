/* What reader_blocks.c and reader_blocks_submit.c share. */
#pragma once

#include "remote/block_parts.h"
#include "remote/reader_blocks.h"

struct reader_blocks {
	struct reader reader;
	struct reader *far;
	struct disk *disk;
	void (*freed)(void *context, struct reader *reader);
	void *context;	/* of freed() */
	bool far_waits; /* to be asked for its identity: a file of a server that may be dead */
	struct reader_identity known; /* of the far file, when its copy was opened */
	/* What follows is NULL until the pack is known, and if there is no copy: */
	struct blocks *blocks;
	struct reader *near; /* reads from the copy */
	struct block_claims *claims;
	struct block_target target;
	struct block_filler *filler;

	_Atomic uint64_t near_bytes, far_bytes, damaged;
	bool fill;	   /* see struct reader_blocks_params */
	atomic_bool fills; /* the filler has been started */
	atomic_bool cancelled;
};

bool copy_has_pages(const struct reader_blocks *copy, uint64_t offset, uint64_t end);

/* Reads a part that the copy has. After an error, the copy no longer has it. */
int copy_read_near(struct reader_blocks *copy, const struct part *part, const struct iovec *iov,
		   int count);
/* Counts what was read, and begins to fill the copy once that is enough. */
void copy_count_read(struct reader_blocks *copy, _Atomic uint64_t *counter, uint64_t bytes);
/* Memory for a part that will be written; NULL: there is none. */
struct block_piece *copy_take_piece(struct reader_blocks *copy, const struct part *part);

void copy_submit(struct reader *reader, struct reader_request *request);
