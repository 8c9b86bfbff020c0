/* What a sampler reads in one epoch, and what it may read in the next.
 *
 *	generator(seed) -> skip outputs -> permutation of n indices -> the part of this node's ranks
 *
 * One epoch does not say what the next one is: sampler_next() gives what it may be, and the next
 * epoch shows which it is. Each convention names its source in sampler*.c. Pure: any thread, data
 * of its own.
 *
 * A field that is 0 has its usual meaning: all places of the permutation, no outputs skipped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How an epoch follows from the one before. */
enum sampler_rule {
	SAMPLER_UNKNOWN, /* one epoch was seen */
	SAMPLER_SAME,	 /* the same order again: set_epoch() was forgotten */
	SAMPLER_RESEED,	 /* seed + 1: DistributedSampler, Accelerate, HF Trainer, timm, Lightning */
	SAMPLER_STREAM,	 /* one generator makes all: torchdata, detectron2, Ultralytics, Accelerate
			  */
	SAMPLER_WORDS,	 /* the seeds are outputs of another generator, whose seed is known */
};

/* Which places of the permutation are read here. They are dealt to `world` ranks in turn, `unit` at
 * a time: 1, or the size of a batch with Accelerate. Bit i of `ranks` is set when rank
 * (first + i) % world is on this node. World 0 or 1: all places. */
#define SAMPLER_RANKS 64
struct sampler_part {
	uint32_t world, unit, first;
	bool bare; /* some ranks have one more; else all are filled up from the beginning */
	uint64_t ranks;
};

struct sampler {
	enum sampler_rule rule;
	uint32_t seed;
	uint64_t skip; /* outputs before the permutation */
	struct sampler_part part;
	uint32_t root; /* SAMPLER_WORDS: the seed of that generator, */
	uint64_t word; /* and which of its outputs is our seed, from 0 */
	uint64_t step; /* SAMPLER_STREAM: outputs from the beginning of one permutation to that of
			* the next; SAMPLER_WORDS: from one seed to the next; 0 while unknown */
};

/* The ranks that single places are dealt to; 1: none, or batches are. */
static inline uint32_t sampler_world(const struct sampler *sampler)
{
	return sampler->part.unit == 1 && sampler->part.world > 1 ? sampler->part.world : 1;
}

/* The indices that are read here, each once, in the order of reading: the ranks of this node side
 * by side. `ret` has room for n. Returns how many: 0 if memory is short. */
uint32_t sampler_order(const struct sampler *sampler, uint32_t n, uint32_t *ret);

/* The first places of the whole permutation, before parts: at most SAMPLER_HEAD and n of them, in a
 * time that does not depend on n, if skip is small. Returns how many. */
#define SAMPLER_HEAD 1024
unsigned sampler_head(const struct sampler *sampler, uint32_t n, uint32_t *ret, unsigned count);

/* The first indices that sampler_order() gives, at most `count` and SAMPLER_BEGIN, as far as they
 * are among those of sampler_head(), and in its time. Returns how many. */
#define SAMPLER_BEGIN 160
unsigned sampler_begin(const struct sampler *sampler, uint32_t n, uint32_t *ret, unsigned count);

/* Calls `try` with some 300,000 conventional seeds and skips, the likeliest first, until it returns
 * true. Parts are the caller's to try, and so are the seeds 0, 1, 2, ... without a skip. */
typedef bool sampler_try_fn(void *arg, const struct sampler *sampler);
void sampler_each_convention(sampler_try_fn *try, void *arg);

/* Whether rule and step say which epoch follows. */
bool sampler_next_is_known(const struct sampler *sampler);

/* The epochs that may follow, likeliest first; where rule and step are known, one. `ret` has room
 * for SAMPLER_NEXT. Returns how many. */
#define SAMPLER_NEXT 96
unsigned sampler_next(const struct sampler *sampler, uint32_t n, struct sampler *ret);

#define SAMPLER_ROOTS 32
extern const uint32_t sampler_popular[SAMPLER_ROOTS]; /* seeds that people choose, by popularity */

/* Adds the ranks of another part of the same world. False: they are SAMPLER_RANKS or more apart. */
bool sampler_add_ranks(struct sampler *sampler, const struct sampler *other);

/* For people: "DistributedSampler, ranks 0 and 1 of 8". Returns ret. */
#define SAMPLER_NAME 112
const char *sampler_name(const struct sampler *sampler, char ret[SAMPLER_NAME]);
