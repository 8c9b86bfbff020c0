/* Seeds that a usual script draws: torch.manual_seed(42), a model, DataLoader(shuffle=True).
 *
 * RandomSampler seeds each epoch with an output of the default generator. The seed of that
 * generator is one that people choose (sampler_popular), and the weights of the model have taken
 * 10^6 to 10^8 outputs before. Its outputs are made eight generators at a time:
 *
 *	streams_search   which of them fits: tried are those near the beginning, and those where the
 *	                 weights of well-known models end, likeliest generators first
 *	streams_follow   which later one fits, of the generator of a known epoch
 *	streams_origins  which of them is the seed of an epoch that was found in another way
 *
 * Pure, and single-threaded. */
#pragma once

#include "cache/order/sampler.h"
#include "cache/order/seeds.h"

#define MODELS_BEGIN  524288 /* the first outputs: after a small model, or none */
#define MODELS_WINDOW 512    /* outputs after a model that may be the seed */
#define MODELS_END    300000000

struct models_span {
	uint64_t begin, end; /* outputs, by number */
};

/* The outputs that may be the first seed of a script for a dataset of `classes` classes (0: not
 * known), as spans that rise and lie apart, the first from 0 to MODELS_BEGIN, none that begins
 * after MODELS_END. From malloc; NULL: no memory. */
struct models_span *models_spans(uint32_t classes, unsigned *ret_count);

/* For a dataset of `classes` classes, 0 if that is not known. Returns whether an output is a seed
 * of `seeds`, which has one way: *ret is then that epoch, with the rule SAMPLER_WORDS. Takes
 * 0.1 to 0.3 s for the 8 most popular seeds and models like ResNet-50 and ViT-S, 1.5 to 2.1 s for
 * `all`. */
bool streams_search(uint32_t classes, bool all, const struct seeds *seeds,
		    const struct search_hooks *hooks, struct sampler *ret);

/* The same for the STREAMS_AFTER outputs after the word of a known epoch: something drew from its
 * generator meanwhile (dropout, a loader for validation). */
#define STREAMS_AFTER 1048576
bool streams_follow(const struct sampler *known, const struct seeds *seeds, struct sampler *ret);

/* Looks for the sampler's seed among the first `outputs` of each generator: 10^9 a second of all
 * of them together, and more. What is found is the same epoch with root, word and the rule
 * SAMPLER_WORDS; returns how many, `most` at most. Among 10^8 outputs of each, chance alone has one
 * equal to the seed with a probability of 1/2: only the next epoch shows which one is right. */
unsigned streams_origins(const struct sampler *sampler, uint64_t outputs,
			 const struct search_hooks *hooks, struct sampler *ret, unsigned most);
