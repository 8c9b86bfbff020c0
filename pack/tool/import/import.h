/* Where the files of a new pack come from: a folder (import_dir.h) or an archive.
 *
 * An importer adds every entry to the builder, and hands out the files in the order in which they
 * are to be stored. The order, and what is added, depend on the source and the options only. */
#ifndef PACK_TOOL_IMPORT_IMPORT_H
#define PACK_TOOL_IMPORT_IMPORT_H

#include "pack/tool/import/item.h"

struct import;

/* Reports what cannot be packed to the owner. Paths are relative to the source; "" is the source
 * itself. */
struct import_watch {
	/* An input that cannot be read: it is left out. Returns 0 to go on, else what the
	 * importer shall return. */
	int (*bad)(void *context, const char *path, const char *reason);
	/* "a named pipe", "a socket", "a device": left out. */
	void (*special)(void *context, const char *path, const char *what);
	/* An input that the options leave out, though its own path does not say so. */
	void (*left_out)(void *context, const char *path, const char *reason);
	/* The source cannot be read any further: there will be no pack. Returns what the importer
	 * shall return. */
	int (*broken)(void *context, int error, const struct err *err);
	/* From time to time during a scan, with the number of entries found so far; as bad(). */
	int (*tick)(void *context, uint64_t entries);
	void *context;
};

struct import_ops {
	/* The next file: fills id, path, size and fingerprint. 0; 1 where there is none; what
	 * the watch returned, -EINTR, -ENOMEM, or what the builder gave (err has its sentence). */
	int (*next)(struct import *import, struct item *item, struct err *err);
	/* Reads a file's bytes, in any thread: sets item->error where it cannot. `worker` as in
	 * pipeline.h. Not for large ones. NULL: next() has read them. */
	void (*read)(struct import *import, unsigned worker, struct item *item);
	/* Makes a large file ready to be read by the builder, between the next() that gave it
	 * and the following one. 0 or -errno, also in item->error. */
	int (*open)(struct import *import, struct item *item, struct builder_source *ret);
	/* After the builder has read it. NULL where there is nothing to do. */
	void (*close)(struct import *import, struct item *item);
	/* Once all files are stored or dropped, and the links to those: drops what they leave. NULL
	 * where there is nothing to do. Results as next(). */
	int (*finish)(struct import *import);
	void (*free)(struct import *import);
};

struct import {
	const struct import_ops *ops;
	uint64_t entries, files,
		bytes; /* in all; 0: not known beforehand; entries are, at the end */
	/* Where they are not: bytes of the source that have been read, and that there are; 0: not
	 * known. */
	uint64_t position, length;
};

static inline void import_free(struct import *import)
{
	if (import)
		import->ops->free(import);
}

/* A file that has kept its fingerprint is taken for unchanged. */
uint64_t import_fingerprint(const struct buf *path, uint64_t size, struct timespec mtime,
			    mode_t mode);

/* Leaves out the further names of files that were left out, and reports them. 0, -ENOMEM, or what
 * the watch returned. */
int import_drop_links(struct builder *builder, uint64_t entries, const struct import_watch *watch);

#endif
