/* The files that an export makes: all of them appear at its end, or none.
 *
 *	outputs_add ... -> outputs_check -> outputs_create, outputs_write ... -> outputs_finish
 *
 * Each is written as NAME.partial, and takes its name once all are whole and on the disk. What was
 * begun and did not get that far is removed by outputs_release(). A file that exists is replaced
 * only where that is asked for. */
#ifndef PACK_TOOL_EXPORT_OUTPUTS_H
#define PACK_TOOL_EXPORT_OUTPUTS_H

#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>

struct output {
	char *path, *partial;
	bool made;
};

struct outputs {
	bool replace; /* what exists */
	struct output *list;
	size_t count;
};

void outputs_release(struct outputs *outputs);

/* The first output has the number 0. Returns 0 or -ENOMEM. */
int outputs_add(struct outputs *outputs, const char *path);

/* Whether all of them may be made: 0, or -EEXIST with a sentence that begins with a path. */
int outputs_check(const struct outputs *outputs, struct err *err);

/* Makes an empty file, open to be written. Returns 0 or -errno. */
int outputs_create(struct outputs *outputs, size_t number, int *ret_fd);

/* The same, with these bytes. */
int outputs_write(struct outputs *outputs, size_t number, const struct buf *bytes);

/* Closes a file that was written, once it is on the disk. Returns 0 or -errno. */
int outputs_close(int fd);

/* All have been made and closed: they get their names. Returns 0, or -errno with a sentence. */
int outputs_finish(struct outputs *outputs, struct err *err);

#endif
