/* Which lists could be the one that readers go through.
 *
 * One that has more of what was seen is likelier, and of two that have as much the one that was
 * followed before, or the shorter one: classes are read as parts of train/ where files of all
 * classes were seen, and train/ by itself where nothing of val/ was.
 *
 * Lists are made for a file, and cost a walk of the tree: so not for each that was seen, but for
 * one of each kind that counts. Pure. */
#ifndef CACHE_ORDER_CHOOSE_H
#define CACHE_ORDER_CHOOSE_H

#include "cache/order/guess.h"

/* Leaves the lists that count: a share of what was seen is in there, and there is no shorter one
 * that has all of that, and would not have by chance (GUESS_ODDS). The likeliest come first, where
 * that makes a difference, those that do not count behind the last. Unlikely is one of which
 * another one has all that was seen, and more: a class where train/ is read, files with one suffix
 * where there are several. */
void choose_lists(struct question *question);

/* The first one that has a share of what was seen, or NULL. */
const struct order_list *choose_likeliest(const struct question *question);

/* How much of what was seen is in the list. */
unsigned choose_seen(const struct question *question, const struct order_list *list);

/* Kinds of files for which lists were made. */
#define CHOOSE_KINDS 8
struct choose_kinds {
	uint64_t kinds[CHOOSE_KINDS];
	unsigned count;
};
void choose_note(struct choose_kinds *asked, uint64_t kind);

/* Which one of `count` files, of these kinds in the order of time, is to be asked about next: one
 * of the kind that most are of, where that is not in `asked`, and is a share, or the first at all.
 * `count`: none. */
unsigned choose_file(const uint64_t *kinds, unsigned count, const struct choose_kinds *asked);

/* A part that counts: mosaics have three other files with each. */
static inline bool choose_is_share(unsigned part, unsigned of)
{
	return part * 4 >= of;
}

#endif
