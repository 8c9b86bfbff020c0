/* What create is told of inputs that it cannot take as they are, and what is printed and listed of
 * them: bad ones, those that no transform changed, files that only have the name of an image. */
#pragma once

#include "pack/tool/create/create.h"

/* Prints something about an input: "SOURCE/path: text", or about SOURCE for the root itself. `log`
 * is a function of base/log.h. */
void create_say_of(struct create *create, void (*log)(const char *format, ...), const char *path,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A watch that prints what the importer reports. */
struct import_watch create_watch(struct create *create);

/* Reports an input that cannot be read: 0 to go on without it (also where the run is to fail at its
 * end), CREATE_REPORTED or -ENOMEM. */
int create_unreadable(void *create, const char *path, const char *reason);
/* Reports a file whose container has changed since it was opened: what is stored is of the old one,
 * so nothing of it is kept, whatever '--on-bad' says. CREATE_REPORTED. */
int create_changed(struct create *create, const char *path);

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

/* Adds a line to the list of bad inputs, if there is one. 0 or -ENOMEM. */
int create_list_bad(struct create *create, const char *path, const char *damage,
		    const char *reason);
/* Writes lines that were held back, and empties them. */
void create_list_held(struct create *create, struct buf *held);

/* --- what is said of them in the summary --- */

/* How many images no transform changed. */
uint64_t create_left_images(const struct create *create);
void create_say_left(const struct create *create);
void create_say_named(struct create *create);
