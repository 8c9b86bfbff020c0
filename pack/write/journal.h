/* The journal beside an unfinished pack: how much of it is safely on the disk.
 *
 * A pack that is being written (PATH.partial) is an LMDB file whose commits are not synced. The
 * journal (PATH.partial.journal) has a checkpoint for each commit that was synced, and one record
 * for each file in it, in the order of storing. A resumed run brings the file back to the last
 * checkpoint, learns from the records what was stored, and stores the rest.
 *
 * Why that state is still in the file, whatever happened afterwards:
 *
 *	T is the tree of the last checkpoint in the journal. The journal got the checkpoint
 *	after fdatasync of the pack returned, which was after commit T: by then all pages of T,
 *	and the length of the file, were on the disk. Nothing of T has changed since:
 *
 *	- liblmdb writes no page of a tree that the file still needs. A transaction X takes pages
 *	  from the end of the file, or pages that transactions K < X - 1 freed (mdb_page_alloc(),
 *	  with mdb_find_oldest() = X - 1 as there are no readers). What K freed belonged to the
 *	  trees before K. So X writes over pages of tree X - 3 and older trees, and leaves T
 *	  alone if X <= T + 2. That holds for its early writes too (mdb_page_spill()).
 *	- journal_commit(X - 1) returns only once checkpoint X - 2 is in the journal and synced,
 *	  and transaction X begins after that. As T is the last checkpoint, X - 2 <= T.
 *	- X overwrites only the meta pages, which the checkpoint has copies of; the end of the
 *	  file, which is cut off again; and pages that T does not use.
 *
 *	These writes may reach the disk in any order, and a power failure may lose any of them.
 *	The checksum of a checkpoint covers everything before it. A checkpoint that was cut short
 *	does not match, and does not count.
 *
 *	Pages that T does not use may hold what was written after T. A resumed run does the same
 *	again, so it writes the same there. After the last commit, values of the last checkpoint
 *	are overwritten in place. That waits until the checkpoint is in the journal, so a resumed
 *	run writes them again.
 *
 * The disk works while the next batch fills: journal_commit() starts a thread that syncs. The
 * thread then lets the page cache forget what is on the disk, unless it is wanted again. The
 * journal file exists from the first checkpoint on.
 *
 * On disk, in the byte order of the machine like LMDB's own pages: a header (with options), then
 * blocks, one for each checkpoint, each followed by its checksum, which is the seed of the next
 * one. A block is read and written as a whole: 40 bytes a file and 8 an extent, for 64 MiB of
 * pages.
 *
 * One thread uses it. Internal to pack/. */
#pragma once

#include "pack/dataset.h"
#include "pack/write/store.h"

struct journal;

struct journal_params {
	const char *path;
	int pack; /* the descriptor to sync; stays the caller's */
	/* Of a new journal: */
	const uint8_t *run;  /* FORMAT_RUN_BYTES, as in the unfinished superblock */
	const char *options; /* creation options of the pack */
};

enum journal_kind {
	JOURNAL_STORED = 1, /* a file is in the pack; its checksums, without those of its parts */
	JOURNAL_DROPPED,    /* it was left out */
	JOURNAL_PART,	    /* the next part of the file that is being stored, with its checksums */
	JOURNAL_UNDONE,	    /* its parts have been removed again */
	JOURNAL_ALIAS,	    /* a file shares the bytes of another; size: the id of that one */
	JOURNAL_BASE,	    /* its bytes are in the base; size: the entry that has them */
};

struct journal_record {
	enum journal_kind kind;
	struct dataset_image image;
	uint64_t fingerprint;	   /* the caller's */
	uint64_t size;		   /* bytes, of the file or part */
	const uint64_t *checksums; /* of extents */
	const char *note;	   /* the caller's; not NUL-ended */
	uint32_t checksum_count;
	uint16_t note_len;
};

struct journal_checkpoint {
	uint64_t files;		 /* stored or dropped so far */
	uint64_t bytes;		 /* of those stored */
	uint64_t super_offset;	 /* of the unfinished superblock's value in the pack */
	uint64_t puts;		 /* records of the finish that are in */
	uint64_t index_checksum; /* of the index that they belong to */
	struct store_state store;
};

/* --- a new one, and both kinds --------------------------------------------------------------- */

/* A new journal. Its file is created with the first checkpoint, which fails if the file exists. */
int journal_new(const struct journal_params *params, struct journal **ret);
/* Waits for the checkpoint that is under way. The file stays. NULL is fine. */
void journal_free(struct journal *journal);

/* Removes its file, unless the name is that of another by now: the next run may have begun. After
 * journal_settle(). */
void journal_remove(const struct journal *journal);

/* Adds a record to the next checkpoint. The next commit returns -ENOMEM if it failed. */
void journal_add(struct journal *journal, const struct journal_record *record);
/* Sets the image of the record that was added last, if no commit came between. */
void journal_amend(struct journal *journal, const struct dataset_image *image);

/* To be called after each commit of the store, with its state. The records since the last commit
 * become a checkpoint, in the background. Waits for the checkpoint before. Returns 0, or the error
 * of syncing or writing an earlier checkpoint: then no further one is written. */
int journal_commit(struct journal *journal, const struct journal_checkpoint *checkpoint);
/* Waits until the checkpoint is on the disk. Returns the same. */
int journal_settle(struct journal *journal);
/* The same so far, without waiting. */
int journal_status(const struct journal *journal);
/* The call that failed, once an error was returned. */
const char *journal_failed(const struct journal *journal);

/* The last checkpoint that is on the disk, after journal_settle(): 0, or -ENODATA. */
int journal_last(struct journal *journal, struct journal_checkpoint *ret);

/* --- an existing one ---------------------------------------------------------------------- */

/* Opens the journal of an interrupted run, to add to it after its last checkpoint. The first new
 * checkpoint overwrites a torn end; nothing is written before. Returns 0; -ENODATA (no journal, or
 * none with a checkpoint); -EPROTONOSUPPORT (of another version); -ENOMEM; or what reading
 * returned. */
int journal_open(const struct journal_params *params, struct journal **ret, struct err *err);
/* Whether there is something at `path` that no run left: nothing of ours begins like that. What a
 * power failure cut short, or left as zeros, may be ours. */
bool journal_is_other(const char *path);
const uint8_t *journal_run(const struct journal *journal);
const char *journal_options(const struct journal *journal);

/* The next record up to the last checkpoint. To be called before the first commit. The record lives
 * until the next call. Returns 0, 1 at the end, -EBADMSG (not what journal_open() saw), or what
 * reading returned. */
int journal_next(struct journal *journal, struct journal_record *ret);

/* --- the file ------------------------------------------------------------------------------ */

#define JOURNAL_MAGIC "foldjrn\n"
/* Changes with the layout, with the notes of foldpack, and with anything that decides where batches
 * end: under other rules a resumed pack would differ from an uninterrupted one. */
#define JOURNAL_VERSION 4u

struct journal_header { /* then the options, and the checksum */
	char magic[8];
	uint32_t version, options_len;
	uint8_t run[FORMAT_RUN_BYTES];
};

struct journal_block { /* then the records, and the checksum */
	uint64_t records;
	struct journal_checkpoint checkpoint;
};

struct journal_head { /* of a record; then checksums, note, padding to a multiple of 8 */
	uint8_t kind;
	uint16_t note_len;
	uint32_t checksum_count;
	uint64_t fingerprint, size;
	struct dataset_image image;
};

/* The checksum of a piece of the file; `before` is that of the piece before it, and 0 for the
 * header. */
uint64_t journal_checksum(const void *data, size_t len, uint64_t before);
