#include "cache/order/mt19937.h"
#include "cache/order/sampler.h"

/* How far the next seed may be from the last one. */
#define WORDS 64

struct list {
	struct sampler *ret;
	unsigned count;
};

static struct sampler *add_next(struct list *list, const struct sampler *sampler,
				enum sampler_rule rule)
{
	struct sampler *next = &list->ret[list->count++];

	*next = *sampler;
	next->rule = rule;
	return next;
}

static struct sampler *add_stream(struct list *list, const struct sampler *sampler, uint32_t n,
				  uint64_t step)
{
	struct sampler *next = add_next(list, sampler, SAMPLER_STREAM);
	struct sampler_part *part = &next->part;

	next->skip += step;
	next->step = step;
	/* Where permutations are neither filled up nor cut, ranks take every world-th place of all
	 * of them in a row: the next one begins with another rank if world does not divide n. */
	if (part->world > 1 && part->unit == 1 && part->bare)
		part->first = (part->first + part->world - n % part->world) % part->world;
	return next;
}

/* A permutation takes n - 1 outputs.
 *
 * torch's RandomSampler (torch/utils/data/sampler.py) makes another one at the end of each epoch
 * and takes nothing of it. So do Accelerate, which gives it a generator (prepare_data_loader()),
 * and Ultralytics (ultralytics/data/build.py). DataLoader draws 2 outputs more when the generator
 * is its own (torch/utils/data/dataloader.py, base_seed), once an epoch if the workers do not
 * persist, and a loader for validation with the same generator another 2. Before torch 1.5 there
 * was one permutation an epoch, of the default generator.
 *
 * `bare`: one permutation after the other. So does torchdata's RandomSampler
 * (stateful_dataloader/sampler.py), and over the stream detectron2's TrainingSampler
 * (detectron2/data/samplers/distributed_sampler.py) and MMEngine's InfiniteSampler
 * (mmengine/dataset/sampler.py). */
static void add_streams(struct list *list, const struct sampler *sampler, uint32_t n)
{
	struct sampler bare = *sampler;
	uint64_t one = n - 1;

	bare.part.bare = sampler->part.world > 1 && sampler->part.unit == 1;
	add_stream(list, sampler, n, 2 * one + 2);
	add_stream(list, sampler, n, 2 * one);
	add_stream(list, &bare, n, one);
	add_stream(list, sampler, n, 2 * one + 4);
	add_stream(list, sampler, n, one + 2);
	add_stream(list, sampler, n, one + 4);
	/* Ultralytics makes a new loader for the last epochs (close_mosaic), when the workers of
	 * the old one have begun one more epoch. */
	add_stream(list, sampler, n, 3 * one + 2)->step = 2 * one;
}

static void add_word(struct list *list, const struct sampler *sampler, const uint32_t *words,
		     unsigned step)
{
	struct sampler *next = add_next(list, sampler, SAMPLER_WORDS);

	next->seed = words[step - 1];
	next->word += step;
	next->step = step;
}

/* A seed is 2 outputs, of which the second counts (random_() of an int64). The default generator
 * gives DataLoader's base_seed and RandomSampler's seed, 4 an epoch; with a loader for validation
 * 6; with workers that persist 2. */
static void add_words(struct list *list, const struct sampler *sampler, uint32_t n)
{
	static const unsigned first[] = {4, 6, 2};
	uint32_t words[WORDS];
	struct mt19937 mt;

	mt19937_init(&mt, sampler->root);
	mt19937_skip(&mt, sampler->word + 1);
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = mt19937_next(&mt);
	for (unsigned i = 0; i < sizeof(first) / sizeof(*first); i++)
		add_word(list, sampler, words, first[i]);
	add_streams(list, sampler, n);
	for (unsigned step = 8; step <= WORDS; step += 2)
		add_word(list, sampler, words, step);
	for (unsigned step = 1; step <= WORDS; step += 2)
		add_word(list, sampler, words, step);
}

bool sampler_next_is_known(const struct sampler *sampler)
{
	bool by_step = sampler->rule == SAMPLER_STREAM || sampler->rule == SAMPLER_WORDS;

	return by_step ? sampler->step > 0 : sampler->rule != SAMPLER_UNKNOWN;
}

unsigned sampler_next(const struct sampler *sampler, uint32_t n, struct sampler *ret)
{
	struct list list = {.ret = ret};
	struct sampler *next;
	struct mt19937 mt;

	if (sampler->rule == SAMPLER_UNKNOWN || sampler->rule == SAMPLER_RESEED)
		add_next(&list, sampler, SAMPLER_RESEED)->seed++;
	if (sampler->rule == SAMPLER_UNKNOWN || sampler->rule == SAMPLER_SAME)
		add_next(&list, sampler, SAMPLER_SAME);
	if (sampler->rule == SAMPLER_WORDS && sampler->step) {
		next = add_next(&list, sampler, SAMPLER_WORDS);
		next->word += sampler->step;
		mt19937_init(&mt, sampler->root);
		mt19937_skip(&mt, next->word);
		next->seed = mt19937_next(&mt);
	} else if (sampler->rule == SAMPLER_WORDS)
		add_words(&list, sampler, n);
	else if (sampler->rule == SAMPLER_STREAM && sampler->step)
		add_stream(&list, sampler, n, sampler->step);
	else if (!sampler_next_is_known(sampler))
		add_streams(&list, sampler, n);
	return list.count;
}
