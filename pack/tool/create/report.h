/* What a run of create tells: what it left out, what it could not take as it is, and the list of
 * that. In the owner's thread. */
#pragma once

#include "pack/scan.h"
#include "pack/tool/create/options.h"
#include "pack/tool/image/check.h"
#include "pack/tool/work/progress.h"
#include <stdio.h>

#define LEFT_REASONS 16 /* there are fewer */

#define CREATE_REPORTED (-ECANCELED) /* a failure that was printed */
#define CREATE_REFUSED	(-ELIBSCN)   /* the same for a request that is refused: exit status 2 */
#define CREATE_DAMAGED	(-ELIBBAD)   /* the same for a source that is damaged: exit status 3 */

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

struct report {
	const struct create_options *options;
	const char *source, *pack; /* as the user wrote them; of several sources the first */
	struct progress progress;
	struct create_counts counts;
	FILE *bad_list;			/* NULL: none, or not open yet */
	struct buf lines;		/* of it, until it is */
	struct buf refused, named_only; /* what is printed of these at the end */
	struct report_left {
		char *why;
		uint64_t images;
	} left[LEFT_REASONS]; /* images that were not transformed */
};

void report_release(struct report *report);

/* Prints something about an input: "SOURCE/path: text", or about SOURCE for the root itself. `log`
 * is a function of base/log.h. */
void report_log(struct report *report, void (*log)(const char *format, ...), const char *path,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A watch that prints what the importer reports. */
struct scan_watch report_watch(struct report *report);

/* Reports an input that cannot be read: 0 to go on without it (also where the run is to fail at its
 * end), CREATE_REPORTED or -ENOMEM. `report` is a struct report. */
int report_unreadable(void *report, const char *path, const char *reason);
/* Reports one that a pack cannot hold, and that is left out. */
void report_special(void *report, const char *path, const char *what);

/* Reports what a check found. Returns 0 to pack the file anyway, 1 to leave it out, or -ENOMEM. If
 * bad inputs make a run fail, that is counted in counts.refused: then nothing more is to be stored,
 * and the rest is only looked at. */
int report_found(struct report *report, const char *path, const struct check_finding *finding);
/* Prints the inputs that were refused. Returns CREATE_REPORTED. */
int report_refused(struct report *report);

/* Counts an image that was not transformed: 0 or -ENOMEM. */
int report_left(struct report *report, const char *why, size_t len);
/* Notes a file with the name of an image but no header: 0 or -ENOMEM. */
int report_named(struct report *report, const char *path, const char *reason);
/* Prints the first of these. */
void report_log_named(struct report *report);

/* The list of bad inputs, if there is to be one: what an earlier run left of it stays until
 * report_empty_list(), when it is clear that this one runs. It must be closed before a pack is
 * there that does not say what was left out. `root` is open on the source. Each returns 0,
 * CREATE_REPORTED or -ENOMEM. */
int report_open_list(struct report *report, int root);
int report_empty_list(struct report *report);
int report_close_list(struct report *report);
/* Adds a line, which is kept until the list is open. */
int report_list_bad(struct report *report, const char *path, const char *damage,
		    const char *reason);
