/* Which ranks of a DistributedSampler the readers here are, once the seed is known.
 *
 * That files were seen does not tell: where eight ranks of sixteen are here, what they read begins
 * as the whole permutation does, or as ranks of fifteen do. Each reader by itself does: a rank of W
 * reads every W-th place within a batch, and every place where all are its own; where batches are
 * of one file, a rank's w workers read every (W w)-th. Readers whose ids are not known say nothing.
 * Pure. */
#ifndef CACHE_ORDER_RANKS_H
#define CACHE_ORDER_RANKS_H

#include "cache/order/evidence.h"

#define RANKS_SEEN 3 /* files, by which a rank is known to have begun */

/* Gives the pass, whose seed was found, the world that readers show, and those of its ranks that
 * are here; leaves it as it is where they show none, or its own. False: more of them may begin yet;
 * or they read more than the pass has, a rank of fewer, and have not begun with it. */
bool ranks_find(const struct evidence *evidence, struct pass *pass);

/* By what was seen alone: bit i is set when rank part.first + i has begun as well as part.first, by
 * which the pass was found. */
uint64_t ranks_begun(const struct evidence *evidence, const struct pass *pass);

#endif
