/* Where the files of a new pack come from: a folder (import_dir.h), an archive or a dataset.
 *
 * An importer adds every entry to the builder, and hands out the files in the order in which they
 * are stored. The order, and what is added, depend only on the source and the options. */
#pragma once

#include "pack/tool/import/item.h"

struct import;

/* Tells the owner what cannot be packed. Paths are relative to the source; "" is the source itself.
 */
struct import_watch {
	/* An input that cannot be read, and is left out. Returns 0 to go on, else what the importer
	 * is to return. */
	int (*bad)(void *context, const char *path, const char *reason);
	/* "a named pipe", "a socket", "a device": left out. */
	void (*special)(void *context, const char *path, const char *what);
	/* An input that the options leave out, although its own path does not say so. */
	void (*left_out)(void *context, const char *path, const char *reason);
	/* The source cannot be read any further: there will be no pack. Returns what the importer
	 * is to return. */
	int (*broken)(void *context, int error, const struct err *err);
	/* Called from time to time during a scan, with the number of entries so far; as bad(). */
	int (*tick)(void *context, uint64_t entries);
	void *context;
};

struct import_ops {
	/* The next file: fills in id, path, size and fingerprint. 0; 1: there is none; what the
	 * watch returned, -EINTR, -ENOMEM, or what the builder returned (err has its sentence). */
	int (*next)(struct import *import, struct item *item, struct err *err);
	/* Says, in the owner's thread, that a file will be read, before the next one is asked for.
	 * NULL where that is of no use. */
	void (*begin)(struct import *import, const struct item *item);
	/* Reads the bytes of a file, in any thread; sets item->error on failure. `worker` as in
	 * pipeline.h. Not called for large files. NULL: next() has read them. */
	void (*read)(struct import *import, unsigned worker, struct item *item);
	/* Opens a large file for the builder, between the next() that returned it and the following
	 * one. 0 or -errno, also in item->error. */
	int (*open)(struct import *import, struct item *item, struct builder_source *ret);
	/* After the builder has read it. NULL where there is nothing to do. */
	void (*close)(struct import *import, struct item *item);
	/* Once all files and links are stored or dropped: drops the folders in which nothing is
	 * wanted. NULL: there is nothing to do. Returns as next(). */
	int (*finish)(struct import *import);
	void (*free)(struct import *import);
};

struct import {
	const struct import_ops *ops;
	uint64_t entries, files,
		bytes; /* in all; 0: not known in advance. Entries are known at the end */
};

static inline void import_free(struct import *import)
{
	if (import)
		import->ops->free(import);
}

/* A file with the same fingerprint counts as unchanged. */
uint64_t import_fingerprint(const struct buf *path, uint64_t size, struct timespec mtime,
			    mode_t mode);

/* Leaves out the other names of files that were left out, and reports them. 0, -ENOMEM, or what the
 * watch returned. */
int import_drop_links(struct builder *builder, uint64_t entries, const struct import_watch *watch);
