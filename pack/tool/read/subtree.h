/* Part of the tree of a pack: what the paths on a command line name, with everything below. */
#pragma once

#include "pack/dataset.h"

struct subtree {
	uint8_t *marks; /* enum subtree_mark of each entry; NULL: everything is inside */
};

enum subtree_mark {
	SUBTREE_OUTSIDE,
	SUBTREE_ABOVE, /* a directory on the way to what is inside */
	SUBTREE_INSIDE,
};

/* The entries that `paths` name; the list ends with NULL, and an empty one means the whole tree.
 * Prints what is not in the pack. Returns EXIT_DONE, or the status to end with. */
int subtree_new(const char *pack, const struct dataset *dataset, char **paths, struct subtree *ret);
void subtree_release(struct subtree *subtree);

static inline enum subtree_mark subtree_mark(const struct subtree *subtree, uint32_t entry)
{
	return subtree->marks ? (enum subtree_mark)subtree->marks[entry] : SUBTREE_INSIDE;
}
