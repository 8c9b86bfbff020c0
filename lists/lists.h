/* The lists of files that a loader may index: what ImageFolder and similar programs make of a
 * directory. They are guesses for the oracle, which compares the order in which files are read with
 * each. */
#pragma once

#include "pack/dataset.h"

#define LISTS_MAX	 24	    /* found for a file, at most */
#define LISTS_NOT_STORED UINT32_MAX /* stands for a file without bytes in the pack */

/* Gets a list, in index order. `name` is for people: "train as ImageFolder"; the root is ".". A
 * file is the number of its first extent. An empty file, and a link out of the pack, is
 * LISTS_NOT_STORED, because it takes an index too. Both live until the call returns. `classes`: how
 * many folders a loader makes classes of; 0: not known. Returns 0, or -errno to stop. */
typedef int lists_found_fn(void *context, const char *name, const uint32_t *files, uint32_t count,
			   uint32_t classes);

/* Calls `found` with each list of at least two files that contains the file of `extent`: the
 * likeliest first, each order once, until they have `most` files together. A list that would exceed
 * `most` is left out. The file is looked for by the path that stands for its inode; in lists, links
 * to it count too. Takes time linear in the tree. A pack of 2^32 extents has no lists. Returns 0,
 * -ENOMEM, or what `found` returned. */
int lists_find(struct dataset *dataset, uint64_t extent, uint64_t most, lists_found_fn *found,
	       void *context);
