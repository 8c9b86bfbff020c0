/* What create prints: failures; inputs that it cannot take as they are, which are listed as well;
 * what may not be meant; the summary. */
#pragma once

#include "pack/tool/create/create.h"

/* --- create_inputs.c --- */

/* Prints something about an input: "SOURCE/path: text", or about SOURCE for the root itself. `log`
 * is a function of base/log.h. */
void create_log(struct create *create, void (*log)(const char *format, ...), const char *path,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A watch that prints what the importer reports. */
struct scan_watch create_watch(struct create *create);

/* Reports an input that cannot be read: 0 to go on without it (also where the run is to fail at its
 * end), CREATE_REPORTED or -ENOMEM. */
int create_unreadable(void *create, const char *path, const char *reason);
/* Reports one that a pack cannot hold, and that is left out. */
void create_special(void *create, const char *path, const char *what);

/* Reports what a check found. Returns 0 to pack the file anyway, 1 to leave it out, or -ENOMEM. If
 * bad inputs make a run fail, that is counted in counts.refused: then nothing more is to be stored,
 * and the rest is only looked at. */
int create_found(struct create *create, const char *path, const struct check_finding *finding);
/* Prints the inputs that were refused. Returns CREATE_REPORTED. */
int create_refuse(struct create *create);

/* Whether only some damage counts, as nothing was asked for. */
static inline bool create_is_lenient(const struct create *create)
{
	return create->options.check < 0;
}

/* Counts an image that was not transformed: 0 or -ENOMEM. */
int create_count_left(struct create *create, const char *why, size_t len);
/* Notes a file with the name of an image but no header: 0 or -ENOMEM. */
int create_note_named(struct create *create, const char *path, const char *reason);
/* Prints the first of these. */
void create_log_named(struct create *create);

/* The list of bad inputs, if there is to be one: what an earlier run left of it stays until
 * create_empty_list(), when it is clear that this one runs. It must be closed before a pack is
 * there that does not say what was left out. Each returns 0, CREATE_REPORTED or -ENOMEM. */
int create_open_list(struct create *create);
int create_empty_list(const struct create *create);
int create_close_list(struct create *create);
/* Adds a line. */
int create_list_bad(struct create *create, const char *path, const char *damage,
		    const char *reason);
/* Writes lines that were held back, and empties them. */
void create_list_held(struct create *create, struct buf *held);

/* --- create_source.c --- */

/* Once the pack is begun: reports what the source has and a pack cannot hold. 0, or as
 * create_unreadable(). */
int create_tell_flaws(struct create *create);
/* Once all is stored: reports that the source had broken off. 0, CREATE_REPORTED or _DAMAGED. */
int create_tell_broken(struct create *create);

/* --- create_leftovers.c: each returns 0 or -ENOMEM --- */

/* Prints how many links lead out of the pack, and what can be done where they can be followed. */
int create_name_links(struct create *create);
/* Once all files are stored: names the links to what was left out, and the directories without a
 * file, which loaders take for classes and then refuse. For a tar also names the links that lead
 * out, and a single folder around everything, which loaders take for the only class. */
int create_name_rest(struct create *create);

/* --- create_summary.c --- */

/* Prints what failed and what can be done, after the path of the pack, unless that was printed.
 * Returns CREATE_REPORTED, or `error` if it was one of these. */
int create_fail(struct create *create, int error, const struct err *err);

/* Warns if there seems to be too little room. CREATE_REPORTED if not even the bytes of the files
 * fit, unless options.anyway is set, as for a filesystem that compresses; else 0. */
int create_check_space(struct create *create);

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
/* Prints what an interrupted run left to go on with; false: nothing. */
bool create_log_kept(struct create *create, const char *words);

/* --- create_finished.c --- */

/* Prints that PACK is finished; or that it was made with other options or of another source: files
 * differ by size and time, and those of anything but a folder by their checksums, or some of those
 * without one by their bytes. Sets counts.skipped. An exit status. */
int create_log_finished(struct create *create);
