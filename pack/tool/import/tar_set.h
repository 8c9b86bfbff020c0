/* The entries of one tar (tar.h), or of several one after the other, as --layout says: those of a
 * folder, or the images of samples (sample_stream.h). Also the images of zarr and N5, as if these
 * were a tar. Each tar must have its end: one that is cut
 * off is damaged, whatever follows it. One thread. */
#ifndef PACK_TOOL_IMPORT_TAR_SET_H
#define PACK_TOOL_IMPORT_TAR_SET_H

#include "pack/tool/import/tar.h"

struct foreign_settings;
struct zarr_stream;

/* All of it stays the caller's, and outlives the set. */
struct tar_set_params {
	int fd; /* the first, or only one; read from its position on */
	/* Names of several tars, the first included, ended by NULL. NULL: there is one. */
	const char *const *names;
	const char *shown; /* names the source in messages */
	/* Has the layout and the classes; NULL: each tar is a folder. */
	const struct foreign_settings *foreign;
	bool zip;		  /* it is a zip, of files that are compressed */
	struct zarr_stream *zarr; /* the images to read in place of all these; NULL: none */
};

struct tar_set;

/* Opens the first. 0, or as tar_new(), or as sample_stream_new(). */
int tar_set_new(const struct tar_set_params *params, struct tar_set **ret, struct err *err);
void tar_set_free(struct tar_set *set); /* NULL is fine */

/* As tar_next() and tar_read(), or as sample_stream_next(). Where a tar ends, or fails, -ESTALE:
 * it has changed since it was opened. If there are several tars, err says which one failed. */
int tar_set_next(struct tar_set *set, struct tar_entry *ret, struct err *err);
int tar_set_read(struct tar_set *set, void *buf, size_t len, struct err *err);

/* Bytes read from all of them so far. */
uint64_t tar_set_position(const struct tar_set *set);

#endif
