/* Where the files of a new pack come from: a folder (import_dir.h), or a dataset (import_packs.h).
 *
 * An importer adds every entry to the builder, and hands out the files in the order in which they
 * are stored. The order, and what is added, depend only on the source and the options. */
#pragma once

#include "base/buf.h"
#include "base/date.h"
#include "pack/scan.h"
#include "pack/write/builder.h"
#include <xxhash.h>

/* Larger files are never in memory as a whole. They are read while they are stored, one at a time,
 * and are neither checked nor changed. */
#define ITEM_LARGE (64 * MIB)

/* A file of the source. Belongs to one thread at a time; see pipeline.h. */
struct item {
	uint32_t id;	      /* in the builder */
	uint32_t source;      /* the importer's own */
	struct buf path;      /* below the source, NUL-ended */
	uint64_t size;	      /* bytes, as the source has it */
	uint64_t fingerprint; /* of the source file: path, size, time, mode */
	struct buf bytes;     /* of all but a large one, once it is read */
	int error;	      /* it could not be read: -errno */
};

static inline bool item_is_large(const struct item *item)
{
	return item->size > ITEM_LARGE;
}

struct import;

struct import_ops {
	/* The next file: fills in id, path, size and fingerprint. 0; 1: there is none; or -errno.
	 */
	int (*next)(struct import *import, struct item *item);
	/* Says, in the owner's thread, that a file will be read, before the next one is asked for.
	 * NULL where that is of no use. */
	void (*begin)(struct import *import, const struct item *item);
	/* Reads the bytes of a file, in any thread; sets item->error on failure. `worker` as in
	 * pipeline.h. Not called for large files. */
	void (*read)(struct import *import, unsigned worker, struct item *item);
	/* Opens a large file for the builder, between the next() that returned it and the following
	 * one. 0 or -errno, also in item->error. */
	int (*open)(struct import *import, struct item *item, struct builder_source *ret);
	/* After the builder has read it. NULL where there is nothing to do. */
	void (*close)(struct import *import, struct item *item);
	void (*free)(struct import *import);
};

struct import {
	const struct import_ops *ops;
	uint64_t files, bytes; /* in all */
};

/* Reads a large file, between the next() that returned it and the following one, in pieces of
 * FORMAT_EXTENT. 0, what `use` returned to stop, -EINTR (a signal came; also in item->error),
 * -ENOMEM, or the error of the source, which mostly is in item->error, too. */
int import_read_large(struct import *import, struct item *item,
		      int (*use)(void *context, const void *data, size_t len), void *context);

static inline void import_free(struct import *import)
{
	if (import)
		import->ops->free(import);
}

/* A file with the same fingerprint counts as unchanged. */
static inline uint64_t import_fingerprint(const struct buf *path, uint64_t size,
					  struct timespec mtime, mode_t mode)
{
	uint64_t facts[] = {size, (uint64_t)date_of(mtime), mode};

	return XXH3_64bits_withSeed(path->data, path->len, XXH3_64bits(facts, sizeof(facts)));
}
