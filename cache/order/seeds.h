/* Which seeds give an order that was seen: ranges of seeds, up to all 2^32, are tried.
 *
 * What was seen is a set, as several workers read at once: the second file of the permutation may
 * be any of those read so far, but its first one is one that a reader began with. By chance, a seed
 * has its first `depth` elements in the set with a probability of
 *
 *	firsts / n * (seen / n)^(depth - 1)
 *
 * Pure. `struct seeds` is not changed by searching it: any number of threads may. */
#pragma once

#include "base/bits.h"
#include "cache/order/permutation.h"
#include <stdbool.h>

#define SEEDS_ALL    ((uint64_t)1 << 32)
#define SEEDS_STEP   65536 /* a range begins at a multiple of it, and is as long */
#define SEEDS_FIRSTS 16
#define SEEDS_LAST   160 /* the last output that a way may need */

/* Which elements are compared: places start, start + stride, ... of the permutation that the
 * generator makes after `skip` outputs. skip + start + stride * depth is at most SEEDS_LAST. Rank r
 * of W in torch's DistributedSampler is {0, r, W}. */
struct seeds_way {
	uint32_t skip, start, stride;
};

struct seeds_seen {
	uint32_t n;		       /* 2..PERMUTATION_LARGE - 1 */
	unsigned depth;		       /* elements that must be in the set, 1..PERMUTATION_HEAD */
	unsigned first_count;	       /* 1..SEEDS_FIRSTS */
	uint32_t firsts[SEEDS_FIRSTS]; /* indices that a reader began with */
	const uint8_t *set;	       /* a bit for each index; the firsts' are set */
};

static inline bool seeds_seen_has(const struct seeds_seen *seen, uint32_t index)
{
	return bit_get(seen->set, index);
}

static inline bool seeds_seen_begins(const struct seeds_seen *seen, uint32_t index)
{
	for (unsigned i = 0; i < seen->first_count; i++)
		if (seen->firsts[i] == index)
			return true;
	return false;
}

struct seeds_found {
	uint32_t seed;
	unsigned way; /* which of the ways */
};

struct seeds;

/* Copies the ways, and what was seen but for the set, which must outlive it. Returns 0 or
 * -ENOMEM. */
int seeds_new(const struct seeds_seen *seen, const struct seeds_way *ways, unsigned count,
	      struct seeds **ret);
void seeds_free(struct seeds *seeds); /* NULL is fine */

/* Takes vectors of at most `bytes` (16, 32, 64) instead of the widest that the processor has: for
 * tests and measurements. Returns how wide they are. */
unsigned seeds_narrow(struct seeds *seeds, unsigned bytes);

/* Tries SEEDS_STEP seeds from `from` on. Returns how many match, counted for each way; writes the
 * first `most` of them. Takes 160 KiB of stack. A way that starts at a place s > 0 misses its seed
 * with a probability of s / n, 1/64 at most. */
unsigned seeds_search(const struct seeds *seeds, uint32_t from, struct seeds_found *ret,
		      unsigned most);
/* The same for seeds that are given: whether one matches, and the first that does. */
bool seeds_search_these(const struct seeds *seeds, const uint32_t *these, unsigned count,
			struct seeds_found *ret);

/* How the caller of a long search does it. */
struct search_hooks {
	void *context;
	/* Finds the matches among the seeds from `from` to `to`, multiples of SEEDS_STEP, on as
	 * many threads as it likes; may stop early. Returns how many; writes the first `most`. */
	unsigned (*search)(void *context, const struct seeds *seeds, uint64_t from, uint64_t to,
			   struct seeds_found *ret, unsigned most);
	bool (*over)(void *context); /* as oracle_is_over() (oracle.h) */
};
