/* A file on its way from the source into the pack:
 *
 *	import  what it is                     (owner's thread)
 *	work    its bytes: read, shaped        (any thread)
 *	store   its record                     (owner's thread, in order)
 *
 * Belongs to one thread at a time; see pipeline.h. */
#pragma once

#include "pack/dataset.h"
#include "pack/tool/image/annotations.h"
#include "pack/tool/image/check.h"
#include "pack/tool/import/import.h"

struct create_item {
	struct item file; /* its bytes become those that are stored */

	/* shape.h */
	struct dataset_image image;
	bool is_made; /* the bytes are not those of the source */
	bool is_mask; /* and were made by the nearest pixel */
	bool unsure;  /* only PIL, which is not there, could have checked it */
	bool is_bad;  /* a check found something */
	struct check_finding finding;
	char *left; /* why an image was not transformed; or, where file.error is -ECHILD, how a
		     * program failed; or NULL */

	struct annotations annotations; /* places.h */
	uint32_t hash;			/* of the bytes, if dedup is on and pays */
	struct buf sums;		/* since.h: uint64_t, of the extents */
};
