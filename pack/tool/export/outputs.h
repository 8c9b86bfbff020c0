/* The files that an export makes. At its end all of them appear, or none. Whoever finds the first
 * one, even after a kill or a power failure, finds all, and those of one export.
 *
 *	outputs_add ... -> outputs_check -> outputs_create, outputs_write ... -> outputs_finish
 *
 * Each file is written as NAME.foldpack-partial, which nobody else writes, and gets its name once
 * all files are complete and on the disk. outputs_release() removes files that were begun and did
 * not get that far. Files that exist are replaced only if that was asked for: they are removed, the
 * first one first, before any file gets its name. The first one gets its name last. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>

#define OUTPUT_PARTIAL ".foldpack-partial"

struct output {
	char *path, *partial;
	bool made;
};

struct outputs {
	bool replace; /* what exists */
	bool kept;
	struct output *list;
	size_t count;
};

void outputs_release(struct outputs *outputs);

/* The first output has the number 0. Returns 0 or -ENOMEM. */
int outputs_add(struct outputs *outputs, const char *path);

/* Whether all of them may be made: 0, or -EEXIST with a sentence that begins with a path. */
int outputs_check(const struct outputs *outputs, struct err *err);

/* Makes an empty file and opens it for writing. Returns 0 or -errno. */
int outputs_create(struct outputs *outputs, size_t number, int *ret_fd);

/* Makes a file with these bytes and closes it. Returns the same. */
int outputs_write(struct outputs *outputs, size_t number, const struct buf *bytes);

/* Closes a written file once it is on the disk. Returns 0 or -errno. */
int outputs_close(int fd);

/* Gives all files their names, after all were made and closed. Returns 0, or -errno with a
 * sentence; what was to be replaced may be gone then. Where the filesystem refuses to rename, all
 * of them stay under their other names, and `kept` is set. */
int outputs_finish(struct outputs *outputs, struct err *err);
