/* What a sampler reads in one epoch, and what it may read in the next.
 *
 *	generator(seed) -> skip outputs -> permutation of n indices -> the part of this node's ranks
 *
 * What the next epoch is depends on the sampler, which one epoch does not tell: pass_next() gives
 * what it may be, and the next epoch shows which it is. Each convention names its source in
 * pass*.c. Pure: any thread, data of its own.
 *
 * A field that is 0 has its usual meaning: all places of the permutation, no outputs skipped. */
#ifndef CACHE_ORDER_PASS_H
#define CACHE_ORDER_PASS_H

#include <stdbool.h>
#include <stdint.h>

/* How an epoch follows from the one before. */
enum pass_rule {
	PASS_UNKNOWN, /* one epoch was seen */
	PASS_SAME,    /* the same order again: set_epoch() was forgotten */
	PASS_RESEED,  /* seed + 1: DistributedSampler, Accelerate, HF Trainer, timm, Lightning */
	PASS_STREAM,  /* one generator makes all: torchdata, detectron2, Ultralytics, Accelerate */
	PASS_WORDS,   /* the seeds are outputs of another generator, whose seed is known */
};

/* Which places of the permutation are read here. They are dealt to `world` ranks in turn, `unit` at
 * a time: 1, or the size of a batch with Accelerate. Bit i of `ranks` is set when rank
 * (first + i) % world is on this node. World 0 or 1: all places. */
#define PASS_RANKS 64
struct pass_part {
	uint32_t world, unit, first;
	bool bare; /* some ranks have one more; else all are filled up from the beginning */
	uint64_t ranks;
};

struct pass {
	enum pass_rule rule;
	uint32_t seed;
	uint64_t skip; /* outputs before the permutation */
	struct pass_part part;
	uint32_t root; /* PASS_WORDS: the seed of that generator, */
	uint64_t word; /* and which of its outputs is our seed, from 0 */
	uint64_t step; /* PASS_STREAM: outputs from the beginning of one permutation to that of the
			* next; PASS_WORDS: from one seed to the next; 0 while unknown */
};

/* The ranks that single places are dealt to; 1: none, or batches are. */
static inline uint32_t pass_world(const struct pass *pass)
{
	return pass->part.unit == 1 && pass->part.world > 1 ? pass->part.world : 1;
}

/* The indices that are read here, each once, in the order in which they are wanted: the ranks of
 * this node side by side. `ret` has room for n. Returns how many: 0 if memory is short. */
uint32_t pass_order(const struct pass *pass, uint32_t n, uint32_t *ret);

/* The first places of the whole permutation, before parts: at most PASS_HEAD and n of them, in a
 * time that does not depend on n, if skip is small. Returns how many. */
#define PASS_HEAD 1024
unsigned pass_head(const struct pass *pass, uint32_t n, uint32_t *ret, unsigned count);

/* The first indices that pass_order() gives, at most `count` and PASS_BEGIN, as far as they are
 * among those of pass_head(), and in its time. Returns how many. */
#define PASS_BEGIN 160
unsigned pass_begin(const struct pass *pass, uint32_t n, uint32_t *ret, unsigned count);

/* Calls `try` with some 300,000 conventional seeds and skips, the likeliest first, until it returns
 * true. Parts are the caller's to try, and so are the seeds 0, 1, 2, ... without a skip. */
typedef bool pass_try_fn(void *arg, const struct pass *pass);
void pass_each_known(pass_try_fn *try, void *arg);

/* Whether rule and step say which pass follows. */
bool pass_next_is_known(const struct pass *pass);

/* The passes that may follow, likeliest first; where rule and step are known, one. `ret` has room
 * for PASS_NEXT. Returns how many. */
#define PASS_NEXT 96
unsigned pass_next(const struct pass *pass, uint32_t n, struct pass *ret);

/* Looks for a pass's seed among the outputs of generators with popular seeds: of
 * torch.manual_seed(42), after the initial weights of a model, which may be 10^8. The outputs of
 * all PASS_ROOTS generators together are made at 10^9 a second and more. Among 10^8 of each, chance
 * alone has one equal to the seed with a probability of 1/2: only the next epoch shows whether a
 * root is right, so that the search may go on after one is found. */
#define PASS_ROOTS 32
extern const uint32_t pass_popular[PASS_ROOTS]; /* seeds that people choose, by popularity */
struct pass_roots;

/* Returns 0 or -ENOMEM. */
int pass_roots_new(const struct pass *pass, struct pass_roots **ret);
void pass_roots_free(struct pass_roots *roots); /* NULL is fine */

/* Goes on by so many outputs of each of the generators, or a few more. What is found is the pass
 * with its root and word, and the rule PASS_WORDS; the first `most` are written. Returns how
 * many. */
unsigned pass_roots_search(struct pass_roots *roots, uint64_t outputs, struct pass *ret,
			   unsigned most);

/* How many outputs of each were looked at. */
uint64_t pass_roots_searched(const struct pass_roots *roots);

/* Adds the ranks of another part of the same world. False: they are PASS_RANKS or more apart. */
bool pass_add_ranks(struct pass *pass, const struct pass *other);

/* For people: "DistributedSampler, ranks 0 and 1 of 8". Returns ret. */
#define PASS_NAME 112
const char *pass_name(const struct pass *pass, char ret[PASS_NAME]);

#endif
