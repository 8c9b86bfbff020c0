/* Ranks that a search of small seeds does not tell: those of RASampler, and one of more than
 * DEALT_WORLDS. Of seeds that epochs count from, DEALT_SEEDS, all ways of dealing are tried. Pure;
 * takes a second at most. */
#ifndef CACHE_ORDER_DEALT_H
#define CACHE_ORDER_DEALT_H

#include "cache/order/evidence.h"

#define DEALT_SEEDS  512 /* seed + epoch of a few conventions */
#define DEALT_WORLDS 16
#define DEALT_MANY   256 /* the most ranks */

/* Each index is dealt three times, to ranks that follow one another, as RASampler and timm's
 * RepeatAugSampler do. Of up to three ranks, and of a multiple of that, each reads what it would
 * read without repeats: these are not tried. */
bool dealt_repeated(const struct evidence *evidence, const struct guess_hooks *hooks,
		    struct pass *ret);

/* To more ranks than DEALT_WORLDS. */
bool dealt_to_many(const struct evidence *evidence, const struct guess_hooks *hooks,
		   struct pass *ret);

#endif
