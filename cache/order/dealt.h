/* A rank of more than DEALT_WORLDS, which a search of small seeds does not tell: of seeds that
 * epochs count from, DEALT_SEEDS, all ways of dealing are tried. Pure; takes a second at most. */
#ifndef CACHE_ORDER_DEALT_H
#define CACHE_ORDER_DEALT_H

#include "cache/order/evidence.h"

#define DEALT_SEEDS  512 /* seed + epoch of a few conventions */
#define DEALT_WORLDS 16
#define DEALT_MANY   256 /* the most ranks */

/* To more ranks than DEALT_WORLDS. */
bool dealt_to_many(const struct evidence *evidence, const struct guess_hooks *hooks,
		   struct pass *ret);

#endif
