/* From what was seen to an order: which list do the readers go through, in which permutation?
 *
 *	lists that have the files -> observations: which indices were seen, which came first
 *	in order of cost: what follows known epochs; conventions; the smallest seeds, in any
 *	                  world size; what usual scripts draw (streams.h); small seeds, in any
 *	                  world size; all seeds
 *
 * An order is believed when chance would give one like it, among all that were tried, less than
 * once in a million times (GUESS_ODDS); else more has to be seen. Pure, but takes as long as a
 * search takes: the caller gives the functions that search, on as many threads as it likes. */
#pragma once

#include "cache/order/list.h"
#include "cache/order/sampler.h"
#include "cache/order/seeds.h"
#include "cache/order/watch.h"

#define GUESS_ODDS  1e-6
#define GUESS_KNOWN 32
#define GUESS_LISTS 24

/* Seeds that are tried in any world size, first, and later. */
#define GUESS_FEW   SEEDS_STEP
#define GUESS_SMALL (1u << 20)

/* A sampler over a list. */
struct hypothesis {
	const struct order_list *list;
	struct sampler sampler;
	uint64_t epoch;	 /* its number among those that were seen, from 0 */
	uint64_t missed; /* known epochs: files of the list that were read later, in epochs whose
			  * order is not known */
};

struct observations {
	struct watch_access seen[WATCH_LOG];
	unsigned count;
	uint32_t shortest; /* beginning */
	uint8_t *hidden;   /* owned; a bit for each file that the kernel has; NULL: none */
	struct hypothesis known[GUESS_KNOWN]; /* the latest first */
	unsigned known_count;
	const struct order_list *lists[GUESS_LISTS]; /* likeliest first */
	unsigned list_count;
	unsigned unlikely; /* of these, at the end: searched last */
	double least;	   /* files of a list that is worth a search of all seeds: shorter ones are
			    * read before it ends */
	double soon;	/* the same of what is usual, but for lists that may have been read once */
	uint64_t turns; /* files that were read so far */
};

/* What may be tried: guess() takes a set of these. */
enum guess_effort {
	GUESS_LIKELY = 1, /* what follows known epochs, and conventions: some milliseconds */
	GUESS_RANKS = 2,  /* seeds below GUESS_FEW in any world size, but of unlikely lists: some
			   * ten milliseconds */
	GUESS_USUAL = 4,  /* what scripts draw under the most popular seeds that make a common model
			   * first, or none: 0.3 s at most */
	GUESS_MODELS = 8, /* the same of all popular seeds and well-known models: 2 s at most */
	GUESS_MORE = 16,  /* small seeds in any world size, but of unlikely
			   * lists: a second or two */
	GUESS_ALL = 32,	  /* all seeds: a minute of a processor for each likely list. Then of
			   * unlikely lists: small seeds, and all */
};

/* Whether an order was found, which is then in *ret. */
bool guess(const struct observations *observations, unsigned efforts,
	   const struct search_hooks *hooks, struct hypothesis *ret);

/* Whether readers go through a likely list as it lies: nothing is tried over such lists. */
bool guess_is_scan(const struct observations *observations);

/* Whether readers go through another list in the same order: masks beside images. Returns how many
 * of its first WATCH_BEGINNING files were seen; 0: it may be chance. */
unsigned guess_goes_along(const struct observations *observations,
			  const struct hypothesis *hypothesis, const struct order_list *list);

/* The files of a hypothesis in order, each once, from malloc; NULL: no memory. */
uint32_t *hypothesis_files(const struct hypothesis *hypothesis, uint32_t *ret_count);
