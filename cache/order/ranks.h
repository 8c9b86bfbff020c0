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

/* Where at the head of the whole permutation each access of the question is; PASS_HEAD: behind it;
 * ORDER_NONE: of another list. `ret` has room for WATCH_LOG. */
void ranks_places(const struct evidence *evidence, const struct pass *pass, uint32_t *ret);

/* How many of these places lie between a file of a reader and its next one, as most have it; 0:
 * that is not known. */
uint32_t ranks_step(const struct question *question, const uint32_t *places);

/* By what was seen alone: bit i is set when rank part.first + i has begun as well as part.first, by
 * which the pass was found. */
uint64_t ranks_begun(const struct evidence *evidence, const struct pass *pass);

#endif
