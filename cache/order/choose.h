/* Which lists are worth trying?
 *
 * The list that has more of what was seen is likelier; of two that have as much, the one that was
 * followed before, or the shorter one: where files of all classes were seen, classes are parts of
 * train/, and where nothing of val/ was seen, train/ is not part of a list of everything.
 *
 * A list is made for a file, by a walk of the tree: so not for each file that was seen, but for one
 * of each kind that counts. Pure: any thread. */
#pragma once

#include "cache/order/guess.h"

/* Keeps the lists that have a share of what was seen, unless a shorter one has all of that and
 * would not by chance (GUESS_ODDS). Sorts them, the likeliest first where the difference is clear.
 * Last come `unlikely` ones, of which another list has all that was seen and more: a class where
 * train/ is read, or the files of one suffix where there are several. */
void choose_lists(struct observations *observations);

/* Kinds of files for which lists were made. */
#define CHOOSE_KINDS 8
struct choose_kinds {
	uint64_t kinds[CHOOSE_KINDS];
	unsigned count;
};
void choose_note(struct choose_kinds *asked, uint64_t kind);

/* For which one of `count` files, of these kinds in the order of time, lists are to be made next:
 * one of the commonest kind that is not in `asked`; after the first kind, only if it is a share.
 * Returns `count` if for none. */
unsigned choose_file(const uint64_t *kinds, unsigned count, const struct choose_kinds *asked);

/* Whether a part is large enough to count: mosaics read three other files with each. */
static inline bool choose_is_share(unsigned part, unsigned of)
{
	return part * 4 >= of;
}
