/* foldpack create: what its parts share.
 *
 *	cmd_create.c	calls the others in their order
 *	create_options.c	the command line
 *	create_store.c	brings files from an importer through the pipeline into a builder
 *	create_sample.c	what would come of it, by a part of the files
 *	create_say.c	failures, bad inputs, the summary */
#ifndef PACK_TOOL_CREATE_CREATE_H
#define PACK_TOOL_CREATE_CREATE_H

#include "pack/tool/cli/progress.h"
#include "pack/tool/image/transform.h"
#include "pack/tool/import/entry_table.h"
#include "pack/tool/import/filter.h"
#include "pack/tool/import/import_dir.h"
#include "pack/write/builder.h"
#include <errno.h>
#include <stdio.h>

enum on_bad { ON_BAD_FAIL, ON_BAD_SKIP, ON_BAD_KEEP };

struct create_sample {
	bool silent;			/* of bad files nothing is said */
	uint64_t files, bytes, entries; /* of the whole source */
	uint64_t taken;			/* files that were looked at */
	uint64_t bytes_read;		/* of them; large ones are not read */
	uint64_t bytes_in, bytes_out;	/* theirs, in the source and as they would be stored */
	uint64_t bad;			/* of them */
	double seconds;			/* that it took */
};

/* What was asked for: by the command line as it is, but for what follows from it. */
struct create_ask {
	int on_bad, check;     /* enum on_bad, enum check_level */
	bool anyway;	       /* in spite of what speaks against it */
	bool dedup;	       /* store the bytes of equal files once */
	struct opt_list touch; /* images whose paths match one of these are changed; none: all */
	uint64_t jobs;
	/* These follow. */
	bool transforms; /* images are changed */
	struct transform how;
	bool annotations_refused; /* not where SOURCE has annotations of places in them */
	enum progress_want progress;
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
	const char *source, *pack; /* as the user wrote them */
	struct create_ask ask;
	struct import *import;
	struct builder *builder;
	struct entry_table stored;    /* files by their bytes, where dedup is asked for */
	struct create_sample *sample; /* while one is taken */
	struct progress progress;
	FILE *bad_list;	  /* NULL: none */
	struct buf *held; /* where its lines go for now; NULL: they are written */
	uint64_t need;	  /* bytes that the pack will take, about; 0: not known */
	bool stale;	  /* the source is not that of the interrupted run */
	struct create_counts counts;
};

/* A failure that has been said. */
#define CREATE_TOLD (-ECANCELED)
/* The same, of what was asked for in vain: exit status 2. */
#define CREATE_REFUSED (-EOPNOTSUPP)
/* The same, of a source that is damaged: exit status 3. */
#define CREATE_DAMAGED (-ELIBBAD)

static inline bool create_is_told(int error)
{
	return error == CREATE_TOLD || error == CREATE_DAMAGED;
}

/* Says what failed, after the path of the pack, and what can be done, if it has not been said.
 * Returns CREATE_TOLD, or what it was if it has been. */
int create_fail(struct create *create, int error, const struct err *err);

/* Says so where there seems to be too little room: better before an hour of packing than after it.
 * CREATE_TOLD where even the files' own bytes do not fit, unless create->ask.anyway, as on a
 * filesystem that compresses; else 0. */
int create_check_space(struct create *create);

/* What an importer says (import_watch), of inputs by their paths in the source; `create` is a
 * struct create.
 *
 * One that cannot be read: 0 to go on without it, CREATE_TOLD or -ENOMEM. */
int create_unreadable(void *create, const char *path, const char *reason);
/* One of a kind that no pack can hold: left out. */
void create_special(void *create, const char *path, const char *what);
/* One that the options leave out: not counted. */
void create_left_out(void *create, const char *path, const char *reason);
/* Why the source cannot be read as a whole. CREATE_DAMAGED for -EBADMSG, else CREATE_TOLD. */
int create_broken(void *create, int error, const struct err *err);

/* What a check found. Returns 0 where the file shall be packed all the same, 1 where it shall be
 * left out, CREATE_TOLD or -ENOMEM. */
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

/* Looks for such a file in the folder that `root` is open on and whose entries have been added: 0,
 * CREATE_REFUSED or -ENOMEM. */
int create_find_annotations(struct create *create, int root);

/* Says where the pack's place could serve it better, once its partial file is there. */
void create_advise(const struct create *create);

/* Names the directories that hold no file in the pack: loaders take them for classes, and refuse
 * them. 0 or -ENOMEM. */
int create_name_empty(struct create *create);

/* Says how many links lead out of the pack, and what can be done where they can be followed. 0 or
 * -ENOMEM. */
int create_name_links(struct create *create, bool can_follow);
/* Says so where all that a tar holds is in one folder, which loaders take for the one class. 0 or
 * -ENOMEM. */
int create_name_one_folder(struct create *create);
/* Names the links to what was left out. 0 or -ENOMEM. */
int create_name_dangling(struct create *create);

/* Reads and shapes some of a folder's files, chosen by their paths; names those that are bad, and
 * once what cannot be packed, unless ret->silent. There is no importer, and is none afterwards. 0,
 * CREATE_REFUSED where a file annotates places in images, or as create_run(). */
int create_take_sample(struct create *create, const struct import_dir_params *params,
		       struct create_sample *ret);
/* The size that a pack of the whole would have, about. */
uint64_t create_sample_bytes(const struct create_sample *sample);
/* Writes what it says of the whole to standard output. 0 or -ENOMEM. */
int create_say_sample(const struct create *create, const struct create_sample *sample, bool json);

/* Gives the pack its name, and says what is in it: in words, and to standard output as JSON where
 * that is asked for. `began` is a progress_now(). 0, CREATE_TOLD or -ENOMEM. */
int create_finish(struct create *create, bool json, double began);
/* Says that PACK is there already, and nothing is to be done; or that it was made with other
 * options, or of another folder: some of its files are looked for below `root` (-1: none are), with
 * the same size and time. Returns an exit status. */
int create_say_finished(struct create *create, const char *options, int root, bool json);
/* Says what there is to go on with: false where there is nothing. */
bool create_say_kept(struct create *create, const char *words);

/* Takes the folder as the importer. 0, CREATE_TOLD, or as import_dir_new(). */
int create_open_folder(struct create *create, const struct import_dir_params *params);

/* Brings all files of the importer through the pipeline, and hands them to `use`, in order, which
 * returns 0 to go on. 0, what that returned, CREATE_TOLD, -EINTR where a signal came, -ENOMEM. */
int create_run(struct create *create, int (*use)(struct create *create, struct item *item));

/* Stores all files of the importer. 0, CREATE_TOLD, CREATE_DAMAGED, -EINTR where a signal came,
 * -ENOMEM. */
int create_store(struct create *create);

#endif
