/* foldpack create: what its parts share.
 *
 *	cmd_create.c		calls the others in their order
 *	create_options.c	the command line
 *	create_slices.c		several packs of one folder
 *	create_store.c		brings files from an importer through the pipeline into a builder
 *	create_sample.c		what would come of it, by a part of the files
 *	create_say.c		failures, bad inputs, the summary */
#ifndef PACK_TOOL_CREATE_CREATE_H
#define PACK_TOOL_CREATE_CREATE_H

#include "pack/tool/cli/cmd.h"
#include "pack/tool/create/create_slices.h"
#include "pack/tool/image/transform.h"
#include "pack/tool/import/entry_table.h"
#include "pack/tool/import/import_dir.h"
#include <stdio.h>

enum on_bad { ON_BAD_FAIL, ON_BAD_SKIP, ON_BAD_KEEP };

struct create_options {
	struct cmd_common common;
	bool force, resume, dry_run, json, progress;
	bool anyway;	   /* in spite of what speaks against it */
	int on_bad, check; /* enum on_bad, enum check_level */
	bool dedup;	   /* store the bytes of equal files once */
	bool dereference, optimize;
	uint64_t jobs, strip;
	int store; /* enum transform_store, less one; -1: none */
	uint64_t resize, max_side, quality;
	struct opt_list touch; /* images whose paths match one of these are changed; none: all */
	const char *order_text, *bad_list;
	struct slice_options cut;
	struct filter filter;
	struct order order; /* what order_text says */
};

/* What came of it so far. */
struct create_counts {
	uint64_t bytes_before; /* in the pack that an interrupted run left */
	uint64_t bytes_in;     /* of files that were packed, as the source has them */
	uint64_t made;	       /* files that were changed */
	uint64_t skipped;      /* inputs left out */
	uint64_t kept;	       /* bad ones that were packed all the same */
	uint64_t empty;	       /* directories without a file */
	uint64_t dangling;     /* links to what was left out */
};

struct create {
	struct create_options options;
	char *source, *pack;	  /* as the user wrote them */
	int root;		  /* the source, open */
	bool tar, zip;		  /* `zip`: read as a tar is, as its files are compressed */
	struct names tars;	  /* where the source is several; the first is `root` */
	const char **several;	  /* their names, ended by NULL; NULL: it is one */
	struct import_hdf5 *hdf5; /* it is an HDF5 file, of which the tar comes */
	struct dataset *dataset;  /* it is a pack, several, or a file of another format */
	struct transform how;
	bool transforms;	  /* images are changed */
	bool annotations_refused; /* SOURCE may have none of places in them */
	double began;		  /* a progress_now() */
	struct import_watch watch;
	struct slice_run slice;
	struct import *import;
	struct builder *builder;
	struct entry_table stored;    /* files by their bytes, where dedup is asked for */
	struct create_sample *sample; /* create_sample.c's own, while one is taken */
	bool silent;		      /* inputs that cannot be packed are not reported */
	struct progress progress;
	FILE *bad_list;	  /* NULL: none */
	struct buf *held; /* where its lines go for now; NULL: they are written */
	uint64_t need;	  /* bytes that the pack will take, about; 0: not known */
	bool stale;	  /* the source is not that of the interrupted run */
	struct create_counts counts;
};

/* --- create_options.c --- */

/* Those that apply where nothing is given. */
struct create_options create_options_default(void);

extern const struct opt_command create_command;

/* Looks at what was given as a whole, and fills what of `create` follows from it. EXIT_DONE, or
 * EXIT_USAGE once it is said what makes no sense. */
int create_options_take(struct create *create);

/* Says it. Returns EXIT_USAGE. */
int create_usage_error(const char *text);

/* Sets text to the options that decide what the pack holds, for `info` and for a run that resumes:
 * a line each, "name=value", with \n and \\ for newline and backslash. 0 or -ENOMEM. */
int create_options_text(const struct create_options *options, struct buf *text);

/* --- failures --- */

/* A failure that has been said. */
#define CREATE_REPORTED (-ECANCELED)
/* The same, of a request that is refused: exit status 2. */
#define CREATE_REFUSED (-EOPNOTSUPP)
/* The same, of a source that is damaged: exit status 3. */
#define CREATE_DAMAGED (-ELIBBAD)

/* Says what failed, after the path of the pack, and what can be done, unless that was said. Returns
 * CREATE_REPORTED, or `error` if it was. */
int create_fail(struct create *create, int error, const struct err *err);

/* Warns where there seems to be too little room. CREATE_REPORTED where even the files' own bytes do
 * not fit, unless options.anyway, as on a filesystem that compresses; else 0. */
int create_check_space(struct create *create);

/* --- inputs --- */

/* Says what the importer reports. */
struct import_watch create_watch(struct create *create);

/* An input that cannot be read: 0 to go on without it, CREATE_REPORTED or -ENOMEM. */
int create_unreadable(void *create, const char *path, const char *reason);

/* What a check found. Returns 0 where the file shall be packed all the same, 1 where it shall be
 * left out, CREATE_REPORTED or -ENOMEM. */
int create_found(struct create *create, const char *path, const struct check_finding *finding);
/* The damage of what cannot be read, beside those of check.h. */
#define DAMAGE_UNREADABLE "unreadable"

/* Adds a line to the list of bad inputs, where there is one. 0 or -ENOMEM. */
int create_list_bad(struct create *create, const char *path, const char *damage,
		    const char *reason);
/* Writes lines that were held back, and empties them. */
void create_list_held(struct create *create, struct buf *held);

/* Says that a file annotates places in images. Returns CREATE_REFUSED. */
int create_refuse_annotations(struct create *create, const char *path, enum annotations_kind kind);
/* Looks for such a file among a folder's entries: 0, CREATE_REFUSED or -ENOMEM. */
int create_find_annotations(struct create *create, const struct builder *builder, uint64_t entries);

/* --- what comes of it: each returns 0 or -ENOMEM unless it says otherwise --- */

/* Advises on the place of the pack, once its partial file is there. */
void create_advise(const struct create *create);

/* Says how many links lead out of the pack, and what can be done where they can be followed. */
int create_name_links(struct create *create);
/* Once all files are stored: names the links to what was left out, and the directories without a
 * file, which loaders take for classes, and refuse; of a tar also the links that lead out, and a
 * folder that all of it is in, which loaders take for the one class. */
int create_name_rest(struct create *create);

/* Gives the pack its name, and says what is in it: in words, and to standard output as JSON where
 * that is asked for. 0, CREATE_REPORTED or -ENOMEM. */
int create_finish(struct create *create);
/* Says that PACK is there already, and nothing is to be done; or that it was made with other
 * options, or of another folder: some of its files are looked for there, with the same size and
 * time. Returns an exit status. */
int create_say_finished(struct create *create);
/* Says what there is to go on with: false where there is nothing. */
bool create_say_kept(struct create *create, const char *words);

/* --- runs --- */

/* Says what would come of packing the folder: some of its files, chosen by their paths, are read,
 * checked and transformed, and not stored. Names those that are bad. 0, CREATE_REFUSED where a file
 * annotates places in images, or as create_run(). */
int create_dry_run(struct create *create);
/* Where images are stored decoded: says how large the pack will be, about, and which readers cannot
 * read it. */
int create_warn_of_bitmaps(struct create *create);

/* What to scan, and how; into create->builder. */
struct import_dir_params create_folder_params(const struct create *create);
/* Takes the folder as the importer. 0, CREATE_REPORTED, or as import_dir_new(). */
int create_open_folder(struct create *create, const struct import_dir_params *params);

/* Brings all files of the importer through the pipeline, and hands them to `use`, in order, which
 * returns 0 to go on. 0, what that returned, CREATE_REPORTED, -EINTR (a signal came), -ENOMEM. */
int create_run(struct create *create, int (*use)(struct create *create, struct item *item));
/* Stores all files of the importer. As create_run(), or CREATE_DAMAGED. */
int create_store(struct create *create);

#endif
