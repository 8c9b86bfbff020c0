/* Which policy suits what is being read, lru or pin: both are tried out in miniature.
 *
 * A fixed small share of the extents is followed through two caches that hold no bytes, one
 * with each policy, and as much smaller than the pool as the share is smaller than the whole.
 * The one with more hits wins. The verdict changes where the difference is beyond chance and
 * worth it; and back to pin only after as many uses as there are extents, as in an epoch.
 *
 * Pure: no locks, no clock, no I/O; the caller locks. A use of an extent that is not
 * followed takes the time of a hash, others constant time (but for the start of a new trial,
 * 2,000 steps, once in an epoch). The memory is 150 KB at most. */
#ifndef CACHE_DUEL_H
#define CACHE_DUEL_H

#include "cache/policy.h"

struct duel;

/* Extents there are, numbered from 0, and extents that can be kept. No more than one of `apart`, a
 * power of two, is followed. Returns 0 or -ENOMEM. */
int duel_new(uint64_t extents, uint64_t capacity, uint32_t apart, struct duel **ret);
void duel_free(struct duel *duel);

/* An extent (below `extents`) was used. Once for each time that it is used as a whole: the
 * pieces that one reader asks for one after the other are one use, and would be taken for
 * hits. */
void duel_use(struct duel *duel, uint64_t extent);

/* Whether uses of the extent decide: all of them must then be told of. */
bool duel_follows(const struct duel *duel, uint64_t extent);

/* The policy to offer extents by from now on: &policy_lru or &policy_pin, which it is first. */
const struct policy_ops *duel_winner(const struct duel *duel);

#endif
