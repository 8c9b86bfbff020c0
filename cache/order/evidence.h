/* What was seen of a list, as its indices: does an order begin so?
 *
 * Evidence is a set (see seeds.h): an order fits when the first index of it is one that a reader
 * began with, and the next ones were all seen. With s of n indices seen and f firsts, chance has an
 * order fit to a depth d with probability f / n * (s / n)^(d - 1); the depth that is needed follows
 * from how many are tried. It must not be more than the longest beginning of a reader: what a
 * worker reads of one batch, or of all of them where batches are of one. For evidence_fits(), what
 * is hidden and was not seen all the same is as if it were not in the list. Pure. */
#ifndef CACHE_ORDER_EVIDENCE_H
#define CACHE_ORDER_EVIDENCE_H

#include "cache/order/guess.h"

struct evidence {
	const struct question *question;
	const struct order_list *list;
	struct seeds_seen seen; /* depth is for the caller to set */
	uint8_t *set;		/* seen.set, ours */
	uint32_t count;		/* of indices seen */
	uint8_t *hidden;	/* other indices, that nobody is seen asking for; NULL: none */
	uint32_t hidden_count;
	uint32_t longest;  /* beginning */
	uint32_t shortest; /* that of any reader has so many in the list */
};

/* Of what was seen in the list; both must outlive it. False: no memory, or a list of which there is
 * no permutation to be known. */
bool evidence_init(struct evidence *evidence, const struct question *question,
		   const struct order_list *list);
void evidence_release(struct evidence *evidence);

/* Whoever reads in order has the neighbours of nearly all. */
bool evidence_is_scan(const struct evidence *evidence);

/* The least depth at which chance among `tried` orders is out of the question; 0: not yet. */
unsigned evidence_depth(const struct evidence *evidence, double tried);

/* Whether what this node reads of the pass begins as was seen, to that depth. */
bool evidence_fits(const struct evidence *evidence, const struct pass *pass, unsigned depth);

#endif
