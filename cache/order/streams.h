/* Seeds that a usual script draws: torch.manual_seed(42), a model, DataLoader(shuffle=True).
 *
 * RandomSampler seeds each epoch with an output of the default generator. Its seed is one that
 * people choose (sampler_popular), and the weights of the model have taken 10^6 to 10^8 outputs
 * before. So these outputs are tried: where the weights of well-known models end
 * (streams_depths.h), and near the beginning, where those of small ones do. The likeliest
 * generators come first.
 *
 * A seed is the second output of a pair. Weights are mostly even in number, so that it is one with
 * an odd number; after a head for an odd number of classes it is not.
 *
 * Pure, and single-threaded. */
#ifndef CACHE_ORDER_STREAMS_H
#define CACHE_ORDER_STREAMS_H

#include "cache/order/sampler.h"
#include "cache/order/seeds.h"

struct streams;

/* Returns 0 or -ENOMEM. */
int streams_new(struct streams **ret);
void streams_free(struct streams *streams); /* NULL is fine */

/* Tries the next outputs, for a few milliseconds. Returns whether one is a seed of `seeds`, which
 * has one way: *ret is then its pass, with the rule SAMPLER_WORDS. */
bool streams_try(struct streams *streams, const struct seeds *seeds, struct sampler *ret);
/* Whether there is nothing left to try. */
bool streams_ended(const struct streams *streams);

/* What follows a known epoch in its generator, when something drew from it meanwhile (dropout, a
 * loader for validation): tries so many outputs after its word. */
#define STREAMS_AFTER 1048576
bool streams_follow(const struct sampler *known, const struct seeds *seeds, struct sampler *ret);

#endif
