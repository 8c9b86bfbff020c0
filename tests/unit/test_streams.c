/* The seeds that usual scripts draw. The words are torch's: torch.manual_seed(root), a model, and
 * the second epoch's seed or the first one's. */
#include "base/bits.h"
#include "cache/order/mt19937.h"
#include "cache/order/streams.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#define N     20020
#define DEPTH 12

static uint32_t output(uint32_t root, uint64_t word)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	mt19937_skip(&mt, word);
	return mt19937_next(&mt);
}

static bool is_over(void *context)
{
	return context != NULL;
}

static int busy;
static const struct search_hooks patient = {.over = is_over};
static const struct search_hooks hurried = {.over = is_over, .context = &busy};

/* Two workers have read a batch each of the order of a seed. */
static struct seeds *look(uint32_t seed)
{
	static const struct seeds_way plain = {0, 0, 1};
	static uint8_t set[N / 8 + 1];
	struct seeds_seen seen = {.n = N, .depth = DEPTH, .first_count = 2, .set = set};
	uint32_t head[64];
	struct mt19937 mt;
	struct seeds *seeds;

	memset(set, 0, sizeof(set));
	mt19937_init(&mt, seed);
	permutation_head(&mt, N, head, 64);
	for (unsigned i = 0; i < 64; i++)
		bit_set(set, head[i]);
	seen.firsts[0] = head[32];
	seen.firsts[1] = head[0];
	assert_int_equal(seeds_new(&seen, &plain, 1, &seeds), 0);
	return seeds;
}

TEST(seeds_after_models_are_found)
{
	static const struct {
		uint32_t classes, root;
		uint64_t word;
	} all[] = {
		{0, 42, 5056624 + 3},		     /* mobilenet_v3_small, for ImageNet */
		{2, 0, 22846824 + 3},		     /* resnet18 */
		{10, 1337, 48958824 + 7},	     /* resnet50, the second epoch */
		{10, 3, 276701672 + 3},		     /* vgg16 */
		{37, 3407, 22333824 + 513 * 37 + 3}, /* resnet18 for the classes; even */
		{10, 1234, 22846824 + 513 * 10 + 3}, /* a new last layer for the classes */
		{120, 7, 22846824 + 513 * 120 + 3},
		{0, 2024, 431080 + 3},	    /* a small model */
		{0, 123, 431080 + 101 + 3}, /* its number is even */
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		uint32_t seed = output(all[i].root, all[i].word);
		struct seeds *seeds = look(seed);
		struct sampler sampler = {0};

		assert_true(streams_search(all[i].classes, true, seeds, &patient, &sampler));
		assert_int_equal(sampler.rule, SAMPLER_WORDS);
		assert_int_equal(sampler.seed, seed);
		assert_int_equal(sampler.root, all[i].root);
		assert_int_equal(sampler.word, all[i].word);
		assert_int_equal(sampler.step, 0);
		seeds_free(seeds);
	}
}

/* resnet50 under 42, but neither vgg16 nor a seed that few people choose. */
TEST(what_is_usual_is_a_part_of_it)
{
	static const struct {
		uint32_t root;
		uint64_t word;
		bool usual;
	} all[] = {{42, 48958824 + 3, true}, {3, 276701672 + 3, false}, {7, 5056624 + 3, false}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct seeds *seeds = look(output(all[i].root, all[i].word));
		struct sampler sampler;

		assert_int_equal(streams_search(10, false, seeds, &patient, &sampler),
				 all[i].usual);
		seeds_free(seeds);
	}
}

static bool is_in_a_span(uint32_t classes, uint64_t output_number)
{
	unsigned count;
	struct models_span *spans = models_spans(classes, &count);
	bool found = false;

	assert_non_null(spans);
	for (unsigned i = 0; i < count; i++)
		found |= output_number >= spans[i].begin && output_number < spans[i].end;
	free(spans);
	return found;
}

/* That they are found in spans says each test above. */
TEST(outputs_after_models_for_other_classes_are_in_no_span)
{
	assert_true(is_in_a_span(10, 172973800 + 3)); /* vit of transformers, for ImageNet, */
	assert_true(is_in_a_span(2, 171439874 + 3));  /* and for two classes */
	assert_false(is_in_a_span(200, 22333824 + 513 * 2 + 3));
	assert_false(is_in_a_span(0, 22333824 + 513 * 2 + 3));
	assert_false(is_in_a_span(0, 22846824 + 513 * 120 + 3));
	assert_false(is_in_a_span(0, MODELS_BEGIN));
}

TEST(spans_rise_and_lie_apart)
{
	static const uint32_t classes[] = {0, 1, 2, 10, 100, 1000, 21841, UINT32_MAX};

	for (unsigned i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		unsigned count;
		struct models_span *spans = models_spans(classes[i], &count);

		assert_non_null(spans);
		assert_int_equal(spans[0].begin, 0);
		assert_true(spans[0].end >= MODELS_BEGIN);
		for (unsigned j = 0; j < count; j++)
			assert_true(spans[j].end > spans[j].begin);
		for (unsigned j = 1; j < count; j++)
			assert_true(spans[j].begin > spans[j - 1].end);
		free(spans);
	}
}

TEST(what_follows_in_the_generator_is_found)
{
	static const uint64_t steps[] = {4, 5, 2504, 100001, STREAMS_AFTER};
	const struct sampler known = {.rule = SAMPLER_WORDS, .root = 42, .word = 5003};

	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct seeds *seeds = look(output(42, known.word + steps[i]));
		struct sampler sampler;

		assert_true(streams_follow(&known, seeds, &sampler));
		assert_int_equal(sampler.word, known.word + steps[i]);
		assert_int_equal(sampler.step, steps[i]);
		assert_int_equal(sampler.seed, output(42, sampler.word));
		seeds_free(seeds);
	}
}

TEST(what_comes_too_late_does_not_follow)
{
	const struct sampler known = {.rule = SAMPLER_WORDS, .root = 42, .word = 3};
	struct seeds *seeds = look(output(42, known.word + STREAMS_AFTER + 1));
	struct sampler sampler;

	assert_false(streams_follow(&known, seeds, &sampler));
	seeds_free(seeds);
}

TEST(a_search_ends_when_nobody_waits_for_it)
{
	struct seeds *seeds = look(output(42, 22846824 + 3));
	struct sampler sampler = {.seed = output(42, 1003)}, origin;

	assert_false(streams_search(0, true, seeds, &hurried, &sampler));
	assert_int_equal(streams_origins(&sampler, 1 << 20, &hurried, &origin, 1), 0);
	seeds_free(seeds);
}

/* --- origins ---------------------------------------------------------------------------------- */

/* Whether the epoch whose seed is that output is found among so many. */
static bool has_origin(uint32_t root, uint64_t word, uint64_t outputs)
{
	const struct sampler sampler = {.seed = output(root, word),
					.part = {.world = 2, .unit = 1, .ranks = 1}};
	struct sampler found[8];
	unsigned count = streams_origins(&sampler, outputs, &patient, found, 8);
	bool is_found = false;

	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(found[i].rule, SAMPLER_WORDS);
		assert_int_equal(found[i].seed, sampler.seed);
		assert_int_equal(found[i].part.world, 2);
		is_found |= found[i].root == root && found[i].word == word;
	}
	return is_found;
}

TEST(a_seed_is_found_after_the_weights_of_a_model)
{
	static const uint64_t words[] = {1, 226, 227, 396, 397, 622, 623, 624, 1234567};
	static const uint32_t roots[] = {42, 0, 4053586177u};

	for (unsigned r = 0; r < sizeof(roots) / sizeof(*roots); r++)
		for (unsigned w = 0; w < sizeof(words) / sizeof(*words); w++)
			assert_true(has_origin(roots[r], words[w], words[w] + 1));
	assert_false(has_origin(1337, 100000, 50000));
}

TEST(the_first_output_is_no_seed)
{
	assert_false(has_origin(42, 0, 1000));
}

TEST(no_more_origins_are_written_than_there_is_room_for)
{
	const struct sampler sampler = {.seed = output(42, 1003)};

	assert_int_equal(streams_origins(&sampler, 2000, &patient, NULL, 0), 0);
}
