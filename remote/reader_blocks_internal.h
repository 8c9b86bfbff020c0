/* What reader_blocks.c and reader_blocks_submit.c share. */
#pragma once

#include "remote/block_parts.h"
#include "remote/reader_blocks.h"

struct reader_blocks {
	struct reader reader;
	struct reader *far;
	struct disk *disk;
	char *name;
	void (*notice)(const char *line);
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

/* Reads a part that the copy has; changes iov. After an error, the copy no longer has it. */
int copy_read_near(struct reader_blocks *copy, const struct part *part, struct iovec *iov,
		   int count);

/* What to do with a part that the copy lacked: claims it if it is to be fetched. */
enum claim {
	CLAIM_NEAR,  /* the copy has it now */
	CLAIM_BUSY,  /* others fetch it */
	CLAIM_TAKEN, /* fetch it: it is claimed now, or nobody else deserves to be waited for */
};
enum claim copy_claim(struct reader_blocks *copy, const struct part *part, bool ahead);

/* The same of a part that others fetch, and that has been waited for since `since`: not CLAIM_BUSY
 * for longer than others deserve, since they may hang. */
enum claim copy_claim_again(struct reader_blocks *copy, const struct part *part, bool ahead,
			    uint64_t since);

/* Comes before a part is fetched: gaps in it are kept too. They get memory that will be written;
 * NULL: there is none, or there are no gaps. */
struct block_piece *copy_fill_gaps(struct reader_blocks *copy, const struct part *part,
				   struct iovec *iov, int count);
/* Comes after it: has the part written to the copy unless there is an error or no memory
 * for it, and has the claim dropped, which was `ahead`. */
void copy_keep(struct reader_blocks *copy, const struct part *part, bool ahead,
	       struct block_piece *piece, const struct iovec *iov, int count, int error);
/* Comes after that, if the far reader gave the part, right or not. */
void copy_count_far(struct reader_blocks *copy, const struct part *part);

/* A copy of the array, since a read changes it; NULL: no memory. */
struct iovec *copy_pieces(const struct iovec *iov, int count);

void copy_submit(struct reader *reader, struct reader_request *request);
