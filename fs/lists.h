/* The lists of files that a loader may index: what ImageFolder and its like make of a directory,
 * and what texts in the pack say. They are guesses, for the oracle: it
 * compares the order in which files are read with each. */
#ifndef FS_LISTS_H
#define FS_LISTS_H

#include "pack/dataset.h"

#define LISTS_MAX	 24	    /* that are found for a file */
#define LISTS_NOT_STORED UINT32_MAX /* in place of a file without bytes in the pack */

/* A list, in index order. `name` is for people: "train as ImageFolder", "." being the root. A file
 * is the number of its first extent; one that is empty, or a link to outside of the pack, is
 * LISTS_NOT_STORED, as it takes an index too. Both live as long as the call. `classes` are the
 * folders that a loader makes classes of; 0: not known. Returns 0, or -errno to stop. */
typedef int lists_found_fn(void *context, const char *name, const uint32_t *files, uint32_t count,
			   uint32_t classes);

/* Calls `found` with each list of at least two files that has the file of `extent`, the likeliest
 * first, each order once, until they have `most` files together; a longer one is left out. The
 * file is looked for by the path that stands for its inode; links to it count within lists. Reads
 * texts of up to 64 MiB, 256 MiB in all; what is damaged or about something else is passed over.
 * Takes time linear in the tree. A pack of 2^32 extents has no lists.
 * Returns 0, -ENOMEM, or what `found` gave. */
int lists_find(struct dataset *dataset, uint64_t extent, uint64_t most, lists_found_fn *found,
	       void *context);

#endif
