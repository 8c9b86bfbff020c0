/* What the files of the builder share. Each calls only those above it:
 *
 *	builder_entries.c	entries in memory
 *	builder_partial.c	the partial file and its journal: begun, resumed, committed, left
 *	builder_resume.c	what the journal knows of each file
 *	builder.c		begins and ends a builder; stores bytes
 *	builder_finish.c	makes and writes the index, and gives the pack its name */
#pragma once

#include "pack/index.h"
#include "pack/write/builder.h"
#include "pack/write/journal.h"
#include "pack/write/store.h"

enum node_state { NODE_EMPTY, NODE_DONE, NODE_DROPPED }; /* EMPTY: a file without its bytes */

/* There may be many millions of these. */
struct builder_node {
	uint64_t name;	/* offset in names */
	uint64_t start; /* file: the checksum of its one extent, or its first row in checksums;
			   symlink: offset in targets; hard link, alias: the id of its file;
			   base: its first row in based;
			   directory: where its children begin, once builder_finish() knows */
	uint64_t size;	/* bytes, as the source says until it is stored; directory: children, as
			   `start` */
	int64_t mtime;	/* nanoseconds since 1970 */
	uint32_t parent;
	uint32_t width, height; /* pixels */
	uint16_t mode : 12;
	uint16_t image : 4; /* enum format_image */
	uint8_t name_len;
	uint8_t kind : 3;  /* enum format_kind */
	uint8_t state : 2; /* enum node_state */
};
_Static_assert(sizeof(struct builder_node) == 48 && IMAGE_KINDS <= 16, "");

struct builder {
	char *path, *partial, *journal_path, *options;
	bool replace;
	bool ours;    /* builder_free() removes the partial file, unless a run can go on with it */
	bool spoiled; /* no run can */
	mode_t mode;  /* of the pack */
	int fd;	      /* of the partial file, locked */
	struct store *store;
	struct journal *journal;
	struct journal_checkpoint now; /* of the next commit, but for `store` */
	uint64_t fingerprint;	       /* of the next file, as is the note */
	struct buf note;

	uint32_t last; /* the file that was stored last */

	bool resuming;	/* the journal may hold records that were not read yet */
	uint32_t parts; /* of the next file, stored before the interruption */
	uint64_t puts;	/* records of the finish so far; now.puts: those of an interrupted finish */

	struct err failed; /* which call, where nobody else can say it */

	struct buf nodes;     /* struct builder_node, by id */
	struct buf names;     /* of the nodes, end to end */
	struct buf targets;   /* of symbolic links */
	struct buf checksums; /* uint64_t, in the order of storing; files of one extent have none
				 here */
	struct dataset *base;
	struct buf based; /* uint64_t, of each FORMAT_BASE: its entry there, its checksums */
};

static inline struct builder_node *builder_node(const struct builder *builder, uint32_t id)
{
	return BUF_ITEMS(&builder->nodes, struct builder_node) + id;
}

static inline uint32_t builder_count(const struct builder *builder)
{
	return (uint32_t)BUF_COUNT(&builder->nodes, struct builder_node);
}

static inline const uint64_t *builder_checksums(const struct builder *builder)
{
	return BUF_ITEMS(&builder->checksums, const uint64_t);
}

static inline uint64_t builder_checksum_count(const struct builder *builder)
{
	return BUF_COUNT(&builder->checksums, uint64_t);
}

/* What a file has of the base: its entry there. */
static inline uint64_t builder_based(const struct builder *builder, const struct builder_node *node)
{
	return BUF_ITEMS(&builder->based, const uint64_t)[node->start];
}

/* The checksums of the extents of a file with bytes of its own, or in the base. */
static inline const uint64_t *builder_file_checksums(const struct builder *builder,
						     const struct builder_node *node)
{
	if (node->kind == FORMAT_BASE)
		return BUF_ITEMS(&builder->based, const uint64_t) + node->start + 1;
	return format_extents(node->size) == 1 ? &node->start
					       : builder_checksums(builder) + node->start;
}

/* --- builder_entries.c --- */

/* A file was stored: `size` bytes, whose checksums begin at row `first`. */
void builder_set_stored(struct builder *builder, struct builder_node *node, uint64_t first,
			uint64_t size);
/* Gives a file the bytes of another one; in memory only. */
void builder_make_alias(struct builder *builder, uint32_t id, uint32_t to);
/* Gives a file the bytes of an entry of the base; in memory only. 0, -ENOMEM, -EINVAL (no file), or
 * as dataset_load(). */
int builder_make_based(struct builder *builder, uint32_t id, uint32_t entry);
/* Whether a file is stored with bytes of its own. */
bool builder_is_stored(const struct builder *builder, uint32_t id);

static inline void builder_set_dropped(struct builder_node *node)
{
	node->state = NODE_DROPPED;
	node->size = 0;
}

/* The record of a hard link or alias: its key, and its value, which names the file that has the
 * bytes. 0 or -ENOMEM. */
int builder_make_reference(const struct builder *builder, uint32_t id, struct format_key *ret_key,
			   struct buf *value);

/* Returns `code` with a sentence around the path of an entry; or -ENOMEM. */
int builder_fault(const struct builder *builder, uint32_t id, int code, const char *before,
		  const char *after, struct err *err);

/* --- builder_partial.c --- */

/* Opens, locks and begins or resumes the partial file. As builder_new(). */
int builder_partial_open(struct builder *builder, const struct builder_params *params,
			 struct err *err);
/* As builder_check(). */
int builder_partial_check(struct builder *builder, const struct builder_params *params,
			  struct err *err);
/* A walker of the partial file as it is now; *ret_reader must outlive it. */
int builder_walk(int fd, struct reader **ret_reader, struct walker **ret, struct err *err);
/* Notes which call has given a negative result. Returns the result. */
int builder_failed(struct builder *builder, int result, const char *call);
/* Says that, where there is no sentence yet. Returns the result. */
int builder_explain(const struct builder *builder, int result, struct err *err);
/* Commits what was put, and hands it to the journal. */
int builder_commit(struct builder *builder);
/* Puts a record, and commits before it if the batch is full. As store_put(). */
int builder_put(struct builder *builder, const struct format_key *key, uint64_t size,
		void **ret_space);
/* The same in the finish. Returns 1 if the record is there from before an interruption. */
int builder_put_last(struct builder *builder, const struct format_key *key, uint64_t size,
		     void **ret_space);

/* --- builder_resume.c --- */

/* Adds a journal record of a file or part: `size` bytes, and checksums from row `first` on. */
void builder_record(struct builder *builder, enum journal_kind kind, uint64_t size, uint64_t first);
/* builder_record() for a file that is done, with image and counts. */
void builder_record_file(struct builder *builder, uint32_t id);
/* 0; -ESTALE where the journal has files that builder_resumed() was never asked for. */
int builder_resumed_all(struct builder *builder, struct err *err);

/* --- builder.c --- */

/* Puts the record of a hard link or alias; `last`: in the finish. As builder_put() or
 * builder_put_last(). */
int builder_put_reference(struct builder *builder, uint32_t id, bool last);
