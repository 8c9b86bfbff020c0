/* foldpack create: what its parts share.
 *
 *	cmd_create.c		makes a pack: calls the others in order
 *	create_options.c	the command line
 *	create_shards.c		several packs of one folder
 *	create_source.c		what SOURCE is; import/ looks through it
 *	create_since.c		what an older pack has of it
 *	create_store.c		the way of a file: asked for, read, checked, shaped, stored
 *	create_images.c		checks and shapes its bytes
 *	create_annotations.c	what would no longer fit them
 *	create_inputs.c		bad inputs, and what is said of them
 *	create_leftovers.c		what may not be meant
 *	create_summary.c	failures, labels, the summary
 *	create_finished.c	whether a finished pack is what was asked for
 *
 * What the last four print is asked for by create_messages.h. */
#pragma once

#include "pack/delta.h"
#include "pack/labels.h"
#include "pack/shard.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/image/transform.h"
#include "pack/tool/import/entry_table.h"
#include "pack/tool/import/import_dir.h"
#include <stdio.h>

#define LEFT_REASONS 16 /* there are fewer */

enum on_bad { ON_BAD_FAIL, ON_BAD_SKIP, ON_BAD_KEEP };

struct create_options {
	struct cmd_common common;
	bool force, resume, json, dereference, optimize, dedup, since_checksum;
	bool anyway; /* go on although something speaks against it */
	int on_bad;
	int check; /* enum check_level; -1: what is right for a folder of anything */
	uint64_t jobs, strip, resize, max_side, quality;
	int store;	       /* enum transform_store, less one; -1: none */
	struct opt_list touch; /* images whose paths match one of these are changed; none: all */
	const char *order_text, *bad_list, *program; /* of --filter */
	struct create_cut {
		uint64_t size;	       /* most of one pack; 0: any */
		const char *done;      /* the command that each pack is handed to; NULL: none */
		const char *part;      /* "K/N"; NULL: the whole */
		uint32_t first, many;  /* parsed `part`; many is 0: the whole */
		char text[SHARD_TEXT]; /* pack/shard.h, of one pack; "": the whole */
	} cut;
	struct opt_list since;	      /* the base; none: the pack is no delta */
	char base_lines[DELTA_LINES]; /* the options that name the base */
	struct filter filter;
	struct order order; /* parsed order_text */
};

/* What was done so far. */
struct create_counts {
	uint64_t bytes_before; /* in the pack that an interrupted run left */
	uint64_t bytes_in;     /* of files that were packed, as the source has them */
	uint64_t made;	       /* files that were changed */
	uint64_t masks;	       /* of these, images that were resized by the nearest pixel */
	uint64_t left;	       /* images that were not transformed */
	uint64_t images;       /* that were found by their headers */
	uint64_t skipped;      /* inputs left out */
	uint64_t kept;	       /* bad ones that were packed anyway */
	uint64_t refused;      /* bad ones for which the run fails at its end */
	uint64_t named_only;   /* files with the name of an image but no header, packed */
	uint64_t unsure;       /* images that PIL, which is not there, would have checked */
	uint64_t compared;     /* files that the interrupted run had, compared with the source */
};

/* Which of several packs of one folder a run makes. */
struct create_slice {
	struct slices *slices;	   /* NULL: all of SOURCE goes into one pack */
	bool owned;		   /* this run frees them */
	uint32_t number;	   /* of the slice that is packed */
	uint64_t later;		   /* bytes of files that later packs get */
	struct handover *handover; /* of all packs of the run; NULL: they stay */
	struct buf scanned;	   /* lines of the bad list, from the scan before the first pack */
};

struct create {
	struct create_options options;
	char *source, *pack; /* as the user wrote them; of several sources the first, */
	char **sources;	     /* and all of them */
	size_t source_count;
	int root;		    /* the source, open */
	struct create_flaws *flaws; /* of a source that is no folder */
	struct dataset *dataset;    /* the source is a pack, several, or of another format */
	struct create_since *since; /* NULL: the pack is no delta */
	struct transform how;
	bool transforms;	   /* images are changed */
	struct programs *programs; /* of a run */
	struct photo_names own_images;
	const struct photo_names *images; /* that may be resized; NULL: it does not matter */
	double began;			  /* a progress_now() */
	struct scan_watch watch;
	struct create_slice slice;
	struct import *import;
	struct builder *builder;
	struct labels labels;	    /* of the source */
	struct number_table stored; /* files by their bytes, for --dedup */
	struct progress progress;
	FILE *bad_list;			/* NULL: none */
	struct buf *held;		/* holds its lines back for now; NULL: they are written */
	struct buf refused, named_only; /* what is printed of these at the end */
	struct create_left {
		char *why;
		uint64_t images;
	} left[LEFT_REASONS]; /* images that were not transformed */
	uint64_t need;	      /* bytes that the pack will take, about; 0: not known */
	bool vain; /* going on would fail again: SOURCE has changed, or a call is refused */
	struct create_counts counts;
};

#define CREATE_REPORTED (-ECANCELED) /* a failure that was printed */
#define CREATE_REFUSED	(-ELIBSCN)   /* the same for a request that is refused: exit status 2 */
#define CREATE_DAMAGED	(-ELIBBAD)   /* the same for a source that is damaged: exit status 3 */

/* --- cmd_create.c --- */

void create_release(struct create *create);
/* Makes one pack, of all of SOURCE or of a slice. An exit status. */
int create_pack(struct create *create);
/* Prints a failure, and returns the exit status for it. */
int create_failed(struct create *create, int error);
/* Ends the process by the signal that came. */
int create_interrupted(struct create *create);
/* What to scan of a folder, and how, into create->builder. */
struct import_dir_params create_folder_params(const struct create *create);
/* Makes the importer, which adds all of the source to create->builder. 0, CREATE_REPORTED, or as
 * import_ops.next(). */
int create_import(struct create *create);

/* --- create_options.c --- */

/* The options that apply if none is given. */
struct create_options create_options_default(void);
extern const struct opt_command create_command;

/* Checks the options together, and fills in what follows from them. Returns EXIT_DONE, or
 * EXIT_USAGE after an error was printed. */
int create_options_take(struct create *create);

/* Prints a usage error. Returns EXIT_USAGE. */
int create_usage_error(const char *text);
/* Sets text to the options that decide what the pack holds, for `info` and for a run that resumes:
 * a line "name=value" each, with \n and \\ for newline and backslash. 0 or -ENOMEM. */
int create_options_text(const struct create *create, struct buf *text);

/* --- create_shards.c --- */

/* Of create_options_take(). */
int create_take_cut(struct create *create);
/* Whether SOURCE is to be cut. */
bool create_is_cut(const struct create *create);
/* Cuts SOURCE, and makes its packs. An exit status. */
int create_shards(struct create *create);
/* Waits for the command of the last pack, if there is one. 0; -EINTR: it was not taken, as a signal
 * came; or -ENOMEM. */
int create_await_handover(struct handover *handover);

/* --- create_source.c --- */

/* Opens SOURCE as what it is: a folder, a file that a script reads, or anything that a mount could
 * read, also from a pipe. Returns EXIT_DONE, or the status to end with after an error was printed.
 */
int create_open_source(struct create *create);
/* Whether the source is a tar or zip, or several, as a dataset. */
bool create_is_archive(const struct create *create);
void create_flaws_free(struct create *create);

/* --- create_store.c --- */

/* Stores all files of the importer. 0, CREATE_REPORTED, CREATE_REFUSED, -EINTR (a signal came) or
 * -ENOMEM. */
int create_store(struct create *create);
/* Reads a large file before it is stored, in pieces of FORMAT_EXTENT. 0, what `use` returned to
 * stop, -ENOMEM, or the error of the source, which mostly is in item->error, too. */
int create_read_large(struct create *create, struct item *item,
		      int (*use)(void *context, const void *data, size_t len), void *context);
