/* Which ranks of a DistributedSampler the readers here are.
 *
 * What was seen as a whole does not tell: where eight ranks of sixteen are here, they begin as the
 * whole permutation does, or as ranks of fifteen do. Each reader by itself tells: of W ranks, one
 * reads every W-th place within a batch, and each place where all are its own; of batches of one
 * file, each of a rank's w workers reads every (W w)-th. Readers without a number of their own tell
 * nothing. Pure: any thread. */
#ifndef CACHE_ORDER_RANKS_H
#define CACHE_ORDER_RANKS_H

#include "cache/order/evidence.h"

#define RANKS_SEEN  3	/* files, by which a rank is known to have begun */
#define RANKS_WORLD 16	/* world sizes up to here are tried with every small seed, */
#define RANKS_MOST  256 /* and up to here with seeds below RANKS_SEEDS: seed + epoch */
#define RANKS_SEEDS 512

/* Gives the pass, whose seed was found, the world that readers show, and those of its ranks that
 * are here; leaves it as it is where they show none, or its own. False: it is too early to tell, as
 * other ranks may begin yet; or the pass has fewer files than they read. */
bool ranks_find(const struct evidence *evidence, struct pass *pass);

/* Which ranks have begun, as far as the set of files tells: bit i stands for rank part.first + i.
 * Bit 0, by which the pass was found, is set. */
uint64_t ranks_begun(const struct evidence *evidence, const struct pass *pass);

/* Looks for a rank of more than RANKS_WORLD. Takes a second at most. */
bool ranks_of_many(const struct evidence *evidence, const struct guess_hooks *hooks,
		   struct pass *ret);

#endif
