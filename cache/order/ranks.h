/* Which ranks of a DistributedSampler the readers here are.
 *
 * What was seen as a whole does not tell: where eight ranks of sixteen are here, they begin as the
 * whole permutation does, or as ranks of fifteen do. Each reader by itself tells: of W ranks, one
 * reads every W-th place within a batch, and each place where all are its own; of batches of one
 * file, each of a rank's w workers reads every (W w)-th. Readers without a number of their own tell
 * nothing. Pure: any thread. */
#pragma once

#include "cache/order/candidate.h"

#define RANKS_SEEN  3	/* files, by which a rank is known to have begun */
#define RANKS_WORLD 16	/* world sizes up to here are tried with every small seed, */
#define RANKS_MOST  256 /* and up to here with seeds below RANKS_SEEDS: seed + epoch */
#define RANKS_SEEDS 512

/* The seed of the sampler is right; its world and ranks become those that the readers show, if they
 * show any. False: the sampler must not be used yet. Other ranks may still begin, or it has fewer
 * files than the readers read. */
bool ranks_find(const struct candidate *candidate, struct sampler *sampler);

/* Which ranks have begun, as far as the set of files tells: bit i stands for rank part.first + i.
 * Bit 0, by which the sampler was found, is set. */
uint64_t ranks_begun(const struct candidate *candidate, const struct sampler *sampler);

/* Looks for a rank of more than RANKS_WORLD. Takes a second at most. */
bool ranks_of_many(const struct candidate *candidate, struct sampler *ret);
