/* Which lists could be the one that readers go through.
 *
 * One that has more of what was seen is likelier, and of two that have as much the one that was
 * followed before, or the shorter one: classes are read as parts of train/ where files of all
 * classes were seen, and train/ by itself where nothing of val/ was. Pure. */
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

/* A part that counts: mosaics have three other files with each. */
static inline bool choose_is_share(unsigned part, unsigned of)
{
	return part * 4 >= of;
}

#endif
