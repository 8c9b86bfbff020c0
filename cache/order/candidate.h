/* What was seen of a list, as its indices. Does an order of the list begin so?
 *
 * What was seen is a set (seeds.h): an order fits when its first index is one that a reader began
 * with, and the next ones were all seen. With s of n indices seen and f firsts, an order fits to a
 * depth d by chance with a probability of f / n * (s / n)^(d - 1); the depth that is needed follows
 * from how many orders are tried. It is at most the longest beginning of a reader: what a worker
 * has of one batch, or of all batches where these are of one file.
 *
 * What is hidden and was not seen counts as if it were not in the list. Pure: any thread. */
#pragma once

#include "cache/order/guess.h"

struct candidate {
	const struct observations *observations;
	const struct order_list *list;
	const struct search_hooks *hooks; /* of what tries orders; set after candidate_init() */
	struct seeds_seen seen;		  /* its depth is the caller's to set */
	uint8_t *set;			  /* seen.set, owned */
	uint32_t count;			  /* of indices seen */
	uint8_t *hidden; /* a bit for each hidden index that was not seen; NULL: none */
	uint32_t hidden_count;
	uint32_t longest;  /* beginning */
	uint32_t shortest; /* the same of the shortest: files in the list */
};

/* The list and the observations must outlive it. False: no memory, or a list that is too short or
 * too long for a permutation. */
bool candidate_init(struct candidate *candidate, const struct observations *observations,
		    const struct order_list *list);
void candidate_release(struct candidate *candidate);

static inline bool candidate_is_over(const struct candidate *candidate)
{
	return candidate->hooks->over(candidate->hooks->context);
}

/* Whether readers go through the list in order: each for itself, or so that nearly all that was
 * seen has its neighbour seen. */
bool candidate_is_scan(const struct candidate *candidate);

/* The least depth at which chance would fit one of `tried` orders less often than GUESS_ODDS; 0:
 * not yet. */
unsigned candidate_depth(const struct candidate *candidate, double tried);

/* Whether what this node reads of the sampler's epoch begins as was seen, to that depth. */
bool candidate_fits(const struct candidate *candidate, const struct sampler *sampler,
		    unsigned depth);
