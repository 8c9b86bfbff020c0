/* foldpack create: what its parts share.
 *
 *	cmd_create.c		calls the others in order
 *	create_options.c	the command line
 *	create_slices.c		several packs of one folder
 *	handover.c		gives them to a command
 *	create_since.c		what an older pack has of it
 *	create_store.c		brings files from an importer through the pipeline into a builder
 *	create_sample.c		estimates the result from some of the files
 *	create_images.c		checks and transforms their bytes
 *	create_programs.c	asks other programs about these
 *	create_annotations.c	what would no longer fit them
 *	create_inputs.c		bad inputs, and what is said of them
 *	create_rest.c		what may not be meant
 *	create_finished.c	whether a finished pack is what was asked for
 *	create_say.c		failures, the summary */
#pragma once

#include "pack/delta.h"
#include "pack/labels.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/create/create_slices.h"
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
	struct slice_options cut;
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
	uint64_t images;       /* that were found by their headers */
	uint64_t skipped;      /* inputs left out */
	uint64_t kept;	       /* bad ones that were packed anyway */
	uint64_t refused;      /* bad ones for which the run fails at its end */
	uint64_t named_only;   /* files with the name of an image but no header, packed */
	uint64_t unsure;       /* images that PIL, which is not there, would have checked */
	uint64_t empty;	       /* directories without a file */
	uint64_t dangling;     /* links to what was left out */
};

struct create {
	struct create_options options;
	char *source, *pack; /* as the user wrote them; of several sources the first, */
	char **sources;	     /* and all of them */
	size_t source_count;
	int root;		    /* the source, open */
	struct create_flaws *flaws; /* of an archive */
	struct dataset *dataset;    /* the source is a pack, several, or of another format */
	struct create_since *since; /* NULL: the pack is no delta */
	struct transform how;
	bool transforms;	   /* images are changed */
	struct programs *programs; /* of a run */
	struct photo_names own_images;
	const struct photo_names *images; /* that may be resized; NULL: it does not matter */
	double began;			  /* a progress_now() */
	struct import_watch watch;
	struct slice_run slice;
	struct import *import;
	struct builder *builder;
	struct labels labels;	   /* of the source */
	struct entry_table stored; /* files by their bytes, for --dedup */
	struct progress progress;
	FILE *bad_list;			/* NULL: none */
	struct buf *held;		/* holds its lines back for now; NULL: they are written */
	struct buf refused, named_only; /* what is printed of these at the end */
	struct create_left {
		char *why;
		uint64_t images;
	} left[LEFT_REASONS]; /* images that were not transformed, by why */
	uint64_t need;	      /* bytes that the pack will take, about; 0: not known */
	uint64_t compared;    /* files that the interrupted run had, compared with the source */
	bool vain; /* going on would fail again: SOURCE has changed, or a call is refused */
	struct create_counts counts;
};

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

/* --- failures --- */

#define CREATE_REPORTED (-ECANCELED) /* a failure that was printed */
#define CREATE_REFUSED	(-ELIBSCN)   /* the same for a request that is refused: exit status 2 */
#define CREATE_DAMAGED	(-ELIBBAD)   /* the same for a source that is damaged: exit status 3 */

/* Prints what failed and what can be done, after the path of the pack, unless that was printed.
 * Returns CREATE_REPORTED, or `error` if it was one of these. */
int create_fail(struct create *create, int error, const struct err *err);

/* Warns if there seems to be too little room. CREATE_REPORTED if not even the bytes of the files
 * fit, unless options.anyway is set, as for a filesystem that compresses; else 0. */
int create_check_space(struct create *create);

/* --- what is printed: each returns 0 or -ENOMEM unless it says otherwise --- */

/* If images are stored decoded: prints who cannot read them. */
void create_warn_of_bitmaps(const struct create *create);

/* Prints how many links lead out of the pack, and what can be done where they can be followed. */
int create_name_links(struct create *create);
/* Once all files are stored: names the links to what was left out, and the directories without a
 * file, which loaders take for classes and then refuse. For a tar also names the links that lead
 * out, and a single folder around everything, which loaders take for the only class. */
int create_name_rest(struct create *create);

/* Gives the pack its name, and prints what is in it: in words, and as JSON on standard output if
 * that was asked for. 0, CREATE_REPORTED or -ENOMEM. */
int create_finish(struct create *create);
/* The same, of any pack. */
int create_print_json(const struct create *create, const struct builder_summary *summary,
		      double seconds);
/* Prints how many inputs were left out, if any were. */
void create_say_skipped(const struct create *create);
/* Prints that PACK is finished; or that it was made with other options or of another source. Of a
 * folder some files and folders are looked for, by size and time; of anything else all files, by
 * size, time and checksum, and some of those without a checksum by their bytes. Sets
 * counts.skipped. An exit status. */
int create_say_finished(struct create *create);
/* Prints what an interrupted run left to go on with; false: nothing. */
bool create_say_kept(struct create *create, const char *words);

/* --- runs --- */

/* What to scan and how, into create->builder. */
struct import_dir_params create_folder_params(const struct create *create);
/* Takes the folder as the importer. 0, CREATE_REPORTED, or as import_dir_new(). */
int create_open_folder(struct create *create, const struct import_dir_params *params);

/* Brings all files of the importer through the pipeline, and gives them in order to `use`, which
 * returns 0 to go on. Returns 0, what `use` returned, CREATE_REPORTED, -EINTR (a signal came) or
 * -ENOMEM. */
int create_run(struct create *create, int (*use)(struct create *create, struct item *item));
/* Stores all files of the importer. As create_run(), or CREATE_DAMAGED. */
int create_store(struct create *create);
