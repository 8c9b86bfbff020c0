/* foldpack create: what the files named create_*.c and cmd_create.c share. The others are given
 * what they need of it.
 *
 *	cmd_create.c		the command
 *	create_shards.c		several packs of one folder
 *	create_pack.c		makes a pack: calls the others in order
 *	create_finished.c	whether a finished pack is what was asked for
 *	create_summary.c	labels, the end of a pack, the summary
 *	create_store.c		the way of a file: asked for, read, checked, shaped, stored
 *	create_look.c		an entry for each name; import/ looks through the source
 *	create_failure.c	what failed, and what can be done
 *
 *	source			what SOURCE is
 *	since			what an older pack has of it
 *	shape			checks and changes the bytes of a file
 *	places			what would no longer fit them
 *	leftovers		what may not be meant
 *	report			bad inputs, their list, and what is said of them
 *	options			the command line
 *
 * Each may use those below it. */
#pragma once

#include "pack/labels.h"
#include "pack/tool/create/places.h"
#include "pack/tool/create/report.h"
#include "pack/tool/create/since.h"
#include "pack/tool/create/source.h"
#include "pack/tool/import/entry_table.h"
#include "pack/tool/import/import_dir.h"

/* Which of several packs of one folder a run makes. */
struct create_slice {
	struct slices *slices;	   /* NULL: all of SOURCE goes into one pack */
	uint32_t number;	   /* of the slice that is packed */
	uint64_t later;		   /* bytes of files that later packs get */
	struct handover *handover; /* of all packs of the run; NULL: they stay */
};

/* A run. */
struct create {
	struct create_options options;
	struct create_source source;
	struct since *since;	   /* NULL: the pack is no delta */
	struct photo_names photos; /* places.h */
	struct create_slice slice;
	/* Of one pack: */
	struct report report;
	struct scan_watch watch;
	struct import *import;
	struct builder *builder;
	struct labels labels;	    /* of the source */
	struct number_table stored; /* files by their bytes, for --dedup */
	double began;		    /* a progress_now() */
	uint64_t need;		    /* bytes that the pack will take, about; 0: not known */
	bool vain; /* going on would fail again: SOURCE has changed, or a call is refused */
};

/* --- create_failure.c --- */

/* Prints what failed and what can be done, after the path of the pack, unless that was printed.
 * Returns CREATE_REPORTED, or `error` if it was one of these. */
int create_fail(struct create *create, int error, const struct err *err);

/* --- create_look.c --- */

/* What to scan of a folder, and how, into create->builder. */
struct import_dir_params create_folder_params(struct create *create);
/* Makes the importer, which adds all of the source to create->builder. 0, CREATE_REPORTED, or as
 * import_ops.next(). */
int create_import(struct create *create);
/* What is known of the whole source before anything is packed: names the patterns of the options
 * that match nothing, and learns the names of images; of a folder, looks into some other files. 0,
 * CREATE_REPORTED (no file is left) or as places_look_ahead(). */
int create_look_ahead(struct create *create, const struct builder *entries);

/* --- create_store.c --- */

/* Stores all files of the importer. 0, CREATE_REPORTED, CREATE_REFUSED, -EINTR (a signal came) or
 * -ENOMEM. */
int create_store(struct create *create);

/* --- create_summary.c --- */

/* If images are stored decoded: prints who cannot read them. */
void create_warn_of_bitmaps(const struct create *create);
/* Gives the pack its labels and its name, and prints what is in it: in words, and as JSON on
 * standard output if that was asked for. 0, CREATE_REPORTED or -ENOMEM. */
int create_finish(struct create *create);
/* The JSON, of any pack. */
int create_print_json(const struct create *create, const struct builder_summary *summary,
		      double seconds);
/* Prints how many inputs were left out, if any were. */
void create_log_skipped(const struct create *create);

/* --- create_finished.c --- */

/* Prints that PACK is finished; or that it was made with other options or of another source: files
 * differ by size and time, and those of anything but a folder by their checksums, or some of those
 * without one by their bytes. Sets counts.skipped. An exit status. */
int create_log_finished(struct create *create);

/* --- create_pack.c --- */

/* Points its parts at each other, once it is at its place. `pack` is the name of the future one. */
void create_begin(struct create *create, const char *pack);
/* Releases what belongs to one pack. Another one may begin. */
void create_end(struct create *create);
/* And all the rest. */
void create_release(struct create *create);
/* Before anything but a folder is read, which may take hours and, of a pipe, cannot be done again:
 * refuses what will be no place for the pack. Prints why. An exit status. */
int create_check_target(struct create *create);
/* Makes one pack, of all of SOURCE or of a slice. An exit status. */
int create_pack(struct create *create);
/* Prints a failure, and returns the exit status for it. */
int create_failed(struct create *create, int error);
/* Ends the process by the signal that came; `handover` is awaited first. */
int create_interrupted(struct create *create);

/* --- create_shards.c --- */

/* Cuts SOURCE, and makes its packs. An exit status. */
int create_shards(struct create *create);
