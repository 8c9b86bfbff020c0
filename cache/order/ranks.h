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

/* Has the pass, whose seed was found, have the part that readers say they read; leaves it as it is
 * where they do not say it, or are not dealt single places. */
void ranks_find(const struct evidence *evidence, struct pass *pass);

#endif
