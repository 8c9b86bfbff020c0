/* One file on its way from the source into the pack:
 *
 *	import  its identity                    (owner's thread)
 *	work    its bytes: read, looked at     (any thread)
 *	store   its record                     (owner's thread, in order)
 *
 * Belongs to one thread at a time; see pipeline.h. */
#pragma once

#include "base/buf.h"
#include "pack/tool/image/annotations.h"
#include "pack/tool/image/check.h"
#include "pack/write/builder.h"

/* Larger files are never in memory as a whole. They are read while they are stored, one at a time,
 * and are neither checked nor changed. */
#define ITEM_LARGE (64 * MIB)

struct item {
	uint32_t id;	      /* in the builder */
	uint32_t source;      /* the importer's own */
	struct buf path;      /* below the source, NUL-ended */
	uint64_t size;	      /* bytes, as the source has it */
	uint64_t fingerprint; /* of the source file: path, size, time, mode */
	struct buf bytes;     /* as they will be stored; empty for a large one */
	uint32_t hash;	      /* of the bytes, if dedup is on and pays */
	struct buf sums;      /* uint64_t, of its extents, if they are compared with a base */
	int error;	      /* the source could not be read: -errno; -ECHILD: see `left` */
	struct dataset_image image;
	bool is_made;			/* the bytes are not those of the source */
	bool is_mask;			/* and were made by the nearest pixel */
	bool unsure;			/* only PIL, which is not there, could have checked it */
	char *left;			/* why an image was not transformed; NULL: it was */
	struct annotations annotations; /* of places in images, if these are looked for */
	bool is_bad;			/* a check found something */
	struct check_finding finding;
	struct buf
		listed; /* lines of the list of bad inputs for what came right before this file */
};

static inline bool item_is_large(const struct item *item)
{
	return item->size > ITEM_LARGE;
}
