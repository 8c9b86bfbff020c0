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
	void (*freed)(void *context, struct reader *reader);
	void *context;	/* of freed() */
	bool far_waits; /* to be asked for its identity: a file of a server that may be dead */
	struct reader_identity known; /* of the far file, when its copy was opened */
	/* What follows is NULL until the pack is known, and if there is no copy: */
	struct blocks *blocks;
	struct reader *near; /* reads from the copy */
	struct jobs *jobs;   /* that read from the copy */
	struct jobs *waits;  /* that wait for what others fetch */
	struct block_claims *claims, *filler_claims;
	struct block_writer *writer;
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
	CLAIM_TAKEN, /* it is claimed now: fetch it */
};
enum claim copy_claim(struct reader_blocks *copy, const struct part *part, bool ahead);

/* Waits for a while for others that fetch the part. Returns whether the copy has it then. `ahead`
 * may change meanwhile; NULL: somebody waits for the part. */
bool copy_await(struct reader_blocks *copy, const struct part *part, const atomic_bool *ahead,
		uint64_t since);

/* Comes before a part is fetched: gaps in it are kept too. They get memory that will be written;
 * NULL: there is none, or there are no gaps. */
struct block_piece *copy_fill_gaps(struct reader_blocks *copy, const struct part *part,
				   struct iovec *iov, int count);
/* Comes after it: counts the part, has it written to the copy unless there is an error or no memory
 * for it, and has the claim dropped. */
void copy_keep(struct reader_blocks *copy, const struct part *part, struct block_piece *piece,
	       const struct iovec *iov, int count, int error);

/* A copy of the array, since a read changes it; NULL: no memory. */
struct iovec *copy_pieces(const struct iovec *iov, int count);

void copy_submit(struct reader *reader, struct reader_request *request);

#endif
