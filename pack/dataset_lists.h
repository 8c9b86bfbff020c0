/* The lists that a loader may index, of which a given file is one: what ImageFolder and its like
 * would make of the directories around it, and what lists in the pack say.
 *
 * They are guesses: who knows which files are read in which order knows which list it is. */
#ifndef PACK_DATASET_LISTS_H
#define PACK_DATASET_LISTS_H

#include "pack/dataset.h"

#define DATASET_LISTS	  24	     /* at most */
#define DATASET_LIST_NONE UINT32_MAX /* in place of a file without bytes in the pack */

/* A list, in index order. `name` is for people: "train as ImageFolder", "." being the root. A file
 * is the number of its first extent; one that is empty, or a link to outside of the pack, is
 * DATASET_LIST_NONE, as it takes an index all the same. Both live as long as the call.
 * Returns 0, or -errno to stop. */
typedef int dataset_list_fn(void *context, const char *name, const uint32_t *files, uint32_t count);

/* Calls `found` with each list of at least two indices that has the file of an extent
 * (< dataset_extents), the likeliest first, each order once. The file is looked for by the path
 * that stands for its inode; links to it count within lists. Reads texts of up to 64 MiB, 256 MiB
 * in all, from the pack; what is damaged or about something else is passed over. Takes time linear
 * in the tree, and memory linear in the longest list or text. A pack of 2^32 extents has no lists.
 * Returns 0, -ENOMEM, or what `found` gave. */
int dataset_lists(struct dataset *dataset, uint64_t extent, dataset_list_fn *found, void *context);

#endif
