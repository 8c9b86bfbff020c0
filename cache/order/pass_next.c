#include "cache/order/mt19937.h"
#include "cache/order/pass.h"

/* How far the next seed may be from the last one. */
#define WORDS 64

struct list {
	struct pass *ret;
	unsigned count;
};

static struct pass *add(struct list *list, const struct pass *pass, enum pass_rule rule)
{
	struct pass *next = &list->ret[list->count++];

	*next = *pass;
	next->rule = rule;
	return next;
}

static void add_reseed(struct list *list, const struct pass *pass)
{
	add(list, pass, PASS_RESEED)->seed++;
}

/* Where permutations are neither filled up nor cut, ranks take every world-th place of all of them
 * in a row: the next one begins with another rank if world does not divide n. */
static void go_on(struct pass_part *part, uint32_t n)
{
	if (part->world > 1 && part->unit == 1 && part->bare)
		part->first = (part->first + part->world - n % part->world) % part->world;
}

static struct pass *add_stream(struct list *list, const struct pass *pass, uint64_t step)
{
	struct pass *next = add(list, pass, PASS_STREAM);

	next->skip += step;
	next->step = step;
	return next;
}

/* One permutation after the other, each of n - 1 outputs: RandomSampler of torchdata
 * (stateful_dataloader/sampler.py), and over the stream detectron2's TrainingSampler
 * (detectron2/data/samplers/distributed_sampler.py) and MMEngine's InfiniteSampler
 * (mmengine/dataset/sampler.py). */
static void add_plain_stream(struct list *list, const struct pass *pass, uint32_t n)
{
	struct pass *next = add_stream(list, pass, n - 1);

	if (pass->part.world > 1 && pass->part.unit == 1) {
		next->part.bare = true;
		go_on(&next->part, n);
	}
}

/* Ultralytics makes a new loader for the last epochs (close_mosaic), when the workers of the old
 * one have begun one more epoch. */
static void add_reset(struct list *list, const struct pass *pass, uint32_t n)
{
	uint64_t one = n - 1;

	add_stream(list, pass, 3 * one + 2)->step = 2 * one;
}

/* torch's RandomSampler (torch/utils/data/sampler.py) makes another permutation at the end of each
 * epoch and takes nothing of it: 2 (n - 1). So do Accelerate, which gives it a generator
 * (prepare_data_loader()), and Ultralytics (ultralytics/data/build.py). DataLoader draws 2 outputs
 * more when the generator is its own (torch/utils/data/dataloader.py, base_seed), once an epoch if
 * the workers do not persist, and a loader for validation with the same generator another 2. Before
 * torch 1.5 there was one permutation an epoch, of the default generator. */
static void add_streams(struct list *list, const struct pass *pass, uint32_t n)
{
	uint64_t one = n - 1;

	add_stream(list, pass, 2 * one + 2);
	add_stream(list, pass, 2 * one);
	add_plain_stream(list, pass, n);
	add_stream(list, pass, 2 * one + 4);
	add_stream(list, pass, one + 2);
	add_stream(list, pass, one + 4);
	add_reset(list, pass, n);
}

static void go_on_stream(struct list *list, const struct pass *pass, uint32_t n)
{
	struct pass *next = add_stream(list, pass, pass->step);

	go_on(&next->part, n);
}

static void add_word(struct list *list, const struct pass *pass, const uint32_t *words,
		     unsigned step)
{
	struct pass *next = add(list, pass, PASS_WORDS);

	next->seed = words[step - 1];
	next->word += step;
	next->step = step;
}

/* A seed is 2 outputs, of which the second counts (random_() of an int64). The default generator
 * gives DataLoader's base_seed and RandomSampler's seed, 4 an epoch; with a loader for validation
 * 6; with workers that persist 2. */
static void add_words(struct list *list, const struct pass *pass, uint32_t n)
{
	static const unsigned first[] = {4, 6, 2};
	uint32_t words[WORDS];
	struct mt19937 mt;

	mt19937_init(&mt, pass->root);
	mt19937_skip(&mt, pass->word + 1);
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = mt19937_next(&mt);
	for (unsigned i = 0; i < sizeof(first) / sizeof(*first); i++)
		add_word(list, pass, words, first[i]);
	add_streams(list, pass, n);
	for (unsigned step = 8; step <= WORDS; step += 2)
		add_word(list, pass, words, step);
	for (unsigned step = 1; step <= WORDS; step += 2)
		add_word(list, pass, words, step);
}

static void add_known_word(struct list *list, const struct pass *pass)
{
	struct pass *next = add(list, pass, PASS_WORDS);
	struct mt19937 mt;

	next->word += pass->step;
	mt19937_init(&mt, pass->root);
	mt19937_skip(&mt, next->word);
	next->seed = mt19937_next(&mt);
}

static void add_unknown(struct list *list, const struct pass *pass, uint32_t n)
{
	add_reseed(list, pass);
	add(list, pass, PASS_SAME);
	add_streams(list, pass, n);
}

bool pass_next_is_known(const struct pass *pass)
{
	bool by_step = pass->rule == PASS_STREAM || pass->rule == PASS_WORDS;

	return by_step ? pass->step > 0 : pass->rule != PASS_UNKNOWN;
}

unsigned pass_next(const struct pass *pass, uint32_t n, struct pass *ret)
{
	struct list list = {.ret = ret};

	switch (pass->rule) {
	case PASS_UNKNOWN:
		add_unknown(&list, pass, n);
		break;
	case PASS_SAME:
		add(&list, pass, PASS_SAME);
		break;
	case PASS_RESEED:
		add_reseed(&list, pass);
		break;
	case PASS_STREAM:
		if (pass->step)
			go_on_stream(&list, pass, n);
		else
			add_streams(&list, pass, n);
		break;
	case PASS_WORDS:
		if (pass->step)
			add_known_word(&list, pass);
		else
			add_words(&list, pass, n);
		break;
	}
	return list.count;
}
