/* What reader_blocks.c and reader_blocks_submit.c share. */
#ifndef REMOTE_READER_BLOCKS_INTERNAL_H
#define REMOTE_READER_BLOCKS_INTERNAL_H

#include "remote/block_filler.h"
#include "remote/block_parts.h"
#include "remote/block_writer.h"
#include "remote/reader_blocks.h"

struct reader_blocks {
	struct reader reader;
	struct reader *far;
	struct block_store *store;
	char *name;
	void (*notice)(const char *line);
	/* All NULL until it is known which pack it is, and where there is no copy: */
	struct blocks *blocks;
	struct reader *near; /* the copy's */
	struct jobs *jobs;   /* that read from it */
	struct jobs *waits;  /* for what others fetch */
	struct block_claims *claims, *filler_claims;
	struct block_writer *writer;
	struct block_filler *filler;

	_Atomic uint64_t near_bytes, far_bytes, damaged;
	bool fill;	   /* see struct reader_blocks_params */
	atomic_bool fills; /* the filler was started */
	atomic_bool cancelled;
};

/* Reads a part that the copy has; changes iov. An error is noted: the copy has it no more. */
int copy_read_near(struct reader_blocks *copy, const struct part *part, struct iovec *iov,
		   int count);

/* Whether a part that the copy had not is to be fetched: then it is claimed. */
enum claim {
	CLAIM_NEAR,  /* the copy has it now */
	CLAIM_BUSY,  /* others fetch it */
	CLAIM_TAKEN, /* by this */
};
enum claim copy_claim(struct reader_blocks *copy, const struct part *part, bool ahead);

/* Waits for others that fetch the part, for a while. Returns whether the copy has it. `ahead` may
 * change; NULL: somebody waits for it. */
bool copy_await(struct reader_blocks *copy, const struct part *part, const atomic_bool *ahead,
		uint64_t since);

/* Counts what came from the far reader, has it written to the copy, and drops the claim. */
void copy_keep(struct reader_blocks *copy, const struct part *part, const struct iovec *iov,
	       int count);

/* A new array, as a read changes it; NULL: no memory. */
struct iovec *copy_pieces(const struct iovec *iov, int count);

void copy_submit(struct reader *reader, struct reader_request *request);

#endif
