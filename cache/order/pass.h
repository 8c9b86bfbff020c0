/* A pass: the order of one epoch, and what the next ones may be.
 *
 * The order of n indices is a permutation that a generator with a 32-bit seed makes after so many
 * outputs, of which the readers of this node may take a part (ranks). What comes next depends on
 * the sampler, which one order alone does not tell: pass_next() says what it may be, and who sees
 * the next epoch knows. Sources are named at each convention in pass*.c.
 *
 * Fields that are 0 stand for what is usual: all places of the permutation. */
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

/* What becomes of places that do not divide by the ranks. */
enum pass_tail {
	PASS_FILLED, /* they are filled up from the beginning */
	PASS_CUT,    /* they are left out: drop_last */
	PASS_BARE,   /* some ranks have one more than others */
};

/* Which places of the permutation are taken here. They are dealt to `world` ranks in pieces of
 * `unit`: 1, or the size of a batch with Accelerate. Bit i of `ranks` is set when rank
 * (first + i) % world is on this node. World 0 or 1: all. */
#define PASS_RANKS 64
struct pass_part {
	uint32_t world, unit, first;
	enum pass_tail tail;
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

/* Ranks that single places are dealt to; 1: none, or batches. */
static inline uint32_t pass_world(const struct pass *pass)
{
	return pass->part.unit == 1 && pass->part.world > 1 ? pass->part.world : 1;
}

/* The indices that are read in this pass, each once, in the order in which they are wanted, ranks
 * of this node side by side. `ret` has room for n. Returns how many: none if memory is short. */
uint32_t pass_order(const struct pass *pass, uint32_t n, uint32_t *ret);

/* The first places of the whole permutation, before parts: at most PASS_HEAD and n of them, in a
 * time that does not depend on n, if skip is small. Returns how many. */
#define PASS_HEAD 1024
unsigned pass_head(const struct pass *pass, uint32_t n, uint32_t *ret, unsigned count);

/* The first of the indices that pass_order() gives, at most `count` and PASS_BEGIN, in the time of
 * pass_head(): as far as its places go. Returns how many. */
#define PASS_BEGIN 160
unsigned pass_begin(const struct pass *pass, uint32_t n, uint32_t *ret, unsigned count);

/* What is worth a try before all seeds are: calls `try` with passes whose seeds and skips are
 * conventions, the likeliest first, until it returns true; some 300,000. All ranks: parts are the
 * caller's, and so are the small seeds from 0 on of an untouched generator. */
typedef bool pass_try_fn(void *arg, const struct pass *pass);
void pass_each_known(pass_try_fn *try, void *arg);

/* Whether rule and step say which pass follows. */
bool pass_next_is_known(const struct pass *pass);

/* The passes that may follow, likeliest first; where rule and step are known, one. `ret` has room
 * for PASS_NEXT. Returns how many. */
#define PASS_NEXT 96
unsigned pass_next(const struct pass *pass, uint32_t n, struct pass *ret);

/* Looks for the seed of a pass among the outputs of generators with well-known seeds: of
 * torch.manual_seed(42), say, behind the initial weights of a model, which may be 10^8 of them.
 * PASS_ROOTS generators are followed, 10^9 outputs a second and more together. Chance alone has
 * one of 10^8 outputs of all of them equal the seed with a probability of 1/2: what is found is
 * known to be right only when the next epoch comes as foreseen, so that the search may go on. */
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

/* Adds the other one's ranks, of the same world. False: they are too far apart for that. */
bool pass_add_ranks(struct pass *pass, const struct pass *other);

/* For people: "DistributedSampler, ranks 0 and 1 of 8". Returns ret. */
#define PASS_NAME 112
const char *pass_name(const struct pass *pass, char ret[PASS_NAME]);

#endif
