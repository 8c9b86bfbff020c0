/* The orders of samplers, and what comes after them: cache/order/sampler.h.
 *
 * The golden values are hashes of what the real samplers gave, with torch 1.13: DataLoader,
 * RandomSampler and DistributedSampler are torch's. The others were run from their sources:
 * accelerate 16cb6eb8, torchdata 0.11.0, ultralytics 8.3.200, mmengine 2543429, detectron2
 * 02b5c4e2. Several ranks of a node are merged as they get on: the first of each, then the second
 * of each; what was there before is left out. */
#include "cache/order/mt19937.h"
#include "cache/order/permutation.h"
#include "cache/order/sampler.h"
#include "tests/unit/order_hash.h"
#include "tests/unit/test.h"
#include <string.h>

#define N	     1003
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#define ULTRALYTICS 0x55555554u

static uint32_t hash_of(const struct sampler *sampler)
{
	uint32_t order[N];

	return order_hash(order, sampler_order(sampler, N, order));
}

static uint32_t output(uint32_t root, unsigned word)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	mt19937_skip(&mt, word);
	return mt19937_next(&mt);
}

struct part_golden {
	uint32_t n, world;
	uint64_t ranks;
	bool bare;
	uint32_t count, hash;
};

static void check_parts(const struct part_golden *golden, size_t count, struct sampler sampler,
			uint32_t unit)
{
	uint32_t order[1024];

	for (size_t i = 0; i < count; i++) {
		const struct part_golden *g = &golden[i];

		sampler.part = (struct sampler_part){
			.world = g->world, .unit = unit, .ranks = g->ranks, .bare = g->bare};
		assert_int_equal(sampler_order(&sampler, g->n, order), g->count);
		assert_int_equal(order_hash(order, g->count), g->hash);
	}
}

/* Whether one of the epochs that may follow has the rule and gives the order `wanted`: it becomes
 * *sampler. */
static bool follow(struct sampler *sampler, enum sampler_rule rule, uint32_t wanted)
{
	struct sampler next[SAMPLER_NEXT];
	unsigned count = sampler_next(sampler, N, next);

	assert_in_range(count, 1, SAMPLER_NEXT);
	for (unsigned i = 0; i < count; i++) {
		if (next[i].rule == rule && hash_of(&next[i]) == wanted) {
			*sampler = next[i];
			return true;
		}
	}
	return false;
}

/* From one order to the next, and from then on there is one continuation. */
static void check_epochs(struct sampler sampler, enum sampler_rule rule, const uint32_t *golden,
			 unsigned count)
{
	struct sampler next[SAMPLER_NEXT];

	assert_int_equal(hash_of(&sampler), golden[0]);
	assert_true(follow(&sampler, rule, golden[1]));
	for (unsigned i = 2; i < count; i++) {
		assert_int_equal(sampler_next(&sampler, N, next), 1);
		sampler = next[0];
		assert_int_equal(sampler.rule, rule);
		assert_int_equal(hash_of(&sampler), golden[i]);
	}
}

/* --- parts ------------------------------------------------------------------------------------ */

/* DistributedSampler(seed=7), set_epoch(5) */
static const struct part_golden distributed[] = {
	{1003, 1, 0x1, false, 1003, 0xad401017}, {1003, 2, 0x1, false, 502, 0xec86430c},
	{1003, 2, 0x2, false, 502, 0xe431b92d},	 {1003, 2, 0x3, false, 1003, 0xad401017},

	{1003, 3, 0x1, false, 335, 0xbbbaa9b2},	 {1003, 3, 0x4, false, 335, 0x77df83b9},
	{1003, 3, 0x3, false, 669, 0x93066308},

	{1003, 8, 0x1, false, 126, 0x20ac4a77},	 {1003, 8, 0x80, false, 126, 0x0a713731},
	{1003, 8, 0x3, false, 252, 0x60575a0c},

	{5, 1, 0x1, false, 5, 0x57e761a1},	 {5, 2, 0x1, false, 3, 0x157054c4},
	{5, 2, 0x2, false, 3, 0x272e0003},	 {5, 2, 0x3, false, 5, 0x57e761a1},

	{5, 3, 0x1, false, 2, 0x496f0f97},	 {5, 3, 0x4, false, 2, 0xec0db076},
	{5, 3, 0x3, false, 4, 0x0c9bbb81},

	{5, 8, 0x1, false, 1, 0x9bc23426},	 {5, 8, 0x80, false, 1, 0x4b95f515},
	{5, 8, 0x3, false, 2, 0xb891d442},

};

TEST(a_distributed_sampler_deals_places_one_by_one)
{
	check_parts(distributed, COUNT(distributed), (struct sampler){.seed = 12}, 1);
}

/* BatchSamplerShard over BatchSampler(RandomSampler(generator 9), 16), and with split_batches over
 * batches of 16 * world: the same values. */
static const struct part_golden batches[] = {
	{1003, 3, 0x1, false, 336, 0xd8d37bb4}, {1003, 3, 0x4, false, 336, 0x5459ca9d},
	{1003, 4, 0x3, false, 512, 0x01af38eb}, {1003, 4, 0xa, false, 507, 0xf938b656},

	{1003, 3, 0x1, true, 336, 0xd8d37bb4},	{1003, 3, 0x4, true, 331, 0x67d19100},
	{1003, 4, 0x3, true, 512, 0x01af38eb},	{1003, 4, 0xa, true, 496, 0xcf62a036},
	{70, 3, 0x1, false, 32, 0x01617a34},	{70, 3, 0x4, false, 32, 0xecf33fcf},
	{70, 4, 0x3, false, 38, 0xa0918cc2},	{70, 4, 0xa, false, 44, 0xd8b09676},

	{70, 3, 0x1, true, 32, 0x01617a34},	{70, 3, 0x4, true, 16, 0x87bfab13},
	{70, 4, 0x3, true, 38, 0xa0918cc2},	{70, 4, 0xa, true, 32, 0xbf377825},
	{1024, 3, 0x1, false, 352, 0x3612fc60}, {1024, 3, 0x4, false, 352, 0x81ad0836},
	{1024, 4, 0x3, false, 512, 0xd1f7567f}, {1024, 4, 0xa, false, 512, 0x399b25a4},

	{1024, 3, 0x1, true, 352, 0x3612fc60},	{1024, 3, 0x4, true, 336, 0x266bdac2},
	{1024, 4, 0x3, true, 512, 0xd1f7567f},	{1024, 4, 0xa, true, 512, 0x399b25a4},
};

TEST(accelerate_deals_batches)
{
	check_parts(batches, COUNT(batches), (struct sampler){.seed = 9}, 16);
}

TEST(a_node_far_along_the_world_has_its_ranks)
{
	struct sampler low = {.seed = 3,
			      .part = {.world = 100, .unit = 1, .first = 60, .ranks = 0xf}};
	struct sampler high = {.seed = 3,
			       .part = {.world = 100, .unit = 1, .first = 90, .ranks = 0x1e}};
	struct sampler wrapped = low;
	uint32_t order[N], perm[N];

	permutation_of(3, perm, N);
	assert_int_equal(sampler_order(&high, N, order), 43); /* the 44th is place 91 again */
	assert_int_equal(order[0], perm[91]);
	assert_int_equal(order[4], perm[191]);
	wrapped.part.first = 98; /* ranks 98, 99, 0 and 1: the places say who is first */
	sampler_order(&wrapped, N, order);
	assert_int_equal(order[0], perm[0]);
	assert_int_equal(order[1], perm[1]);
	assert_int_equal(order[2], perm[98]);
}

TEST(the_head_is_the_beginning_of_the_order)
{
	const struct sampler sampler = {.seed = 99, .skip = 2};
	uint32_t order[N], head[64];

	sampler_order(&sampler, N, order);
	assert_int_equal(sampler_head(&sampler, N, head, 64), 64);
	assert_memory_equal(order, head, sizeof(head));
	sampler_order(&sampler, 3, order);
	assert_int_equal(sampler_head(&sampler, 3, head, 64), 3);
	assert_memory_equal(order, head, 3 * sizeof(*head));
}

static void check_begin(struct sampler sampler, unsigned most, unsigned count)
{
	uint32_t order[N], begin[64];

	sampler_order(&sampler, N, order);
	assert_int_equal(sampler_begin(&sampler, N, begin, most), count);
	assert_memory_equal(order, begin, count * sizeof(*begin));
}

TEST(the_beginning_of_a_part_is_told_alone)
{
	struct sampler sampler = {.seed = 17, .skip = 2};

	check_begin(sampler, 64, 64);
	sampler.part = (struct sampler_part){.world = 8, .unit = 1, .first = 7, .ranks = 3};
	check_begin(sampler, 20, 20); /* ranks 7 and 0 */
	sampler.part = (struct sampler_part){.world = 2, .unit = 16, .ranks = 3};
	check_begin(sampler, 40, 40);
	sampler.part = (struct sampler_part){.world = 3, .unit = 16, .ranks = 6};
	check_begin(sampler, 40, 40);
	sampler.part = (struct sampler_part){.world = 600, .unit = 1, .ranks = 1};
	check_begin(sampler, 40, 2); /* 0 and 600: what is beyond takes all of the permutation */
}

/* --- epochs ----------------------------------------------------------------------------------- */

/* torch.manual_seed(42), DataLoader(batch_size=32, shuffle=True), workers 0 and 2 alike. */
static const uint32_t under_42[] = {0x72eeca2b, 0xcafcdeff, 0x4f654ec7};
static const uint32_t under_42_persistent[] = {0x72eeca2b, 0x9b4cc9bb, 0xcafcdeff};
static const uint32_t under_42_validated[] = {0x72eeca2b, 0x354ee1ff, 0x739ca277};

static bool first_is(void *arg, const struct sampler *sampler)
{
	struct sampler *wanted = arg;
	uint32_t head[3];

	sampler_head(sampler, N, head, 3);
	if (memcmp(head, (uint32_t[]){610, 908, 252}, sizeof(head)) != 0)
		return false;
	*wanted = *sampler;
	return true;
}

TEST(no_popular_seed_is_tried_twice)
{
	for (unsigned i = 0; i < SAMPLER_ROOTS; i++)
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(sampler_popular[i], sampler_popular[j]);
}

TEST(seeds_of_a_seeded_default_generator_are_known)
{
	struct sampler sampler = {0};

	sampler_each_convention(first_is, &sampler);
	assert_int_equal(sampler.rule, SAMPLER_WORDS);
	assert_int_equal(sampler.root, 42);
	assert_int_equal(sampler.word, 3);
	check_epochs(sampler, SAMPLER_WORDS, under_42, 3);
	check_epochs(sampler, SAMPLER_WORDS, under_42_persistent, 3);
	check_epochs(sampler, SAMPLER_WORDS, under_42_validated, 3);
}

TEST(a_generator_of_the_loader_makes_all_epochs)
{
	/* DataLoader(shuffle=True, generator=g), g seeded with 1234, workers 0 and 2, drop_last
	 * and not; and with persistent workers */
	static const uint32_t each[] = {0x46a2a317, 0x3861639f, 0xa623a81b};
	static const uint32_t persistent[] = {0x46a2a317, 0x3019c043, 0xfd0e4623};
	struct sampler sampler = {.rule = SAMPLER_STREAM, .seed = 1234, .skip = 2};

	check_epochs(sampler, SAMPLER_STREAM, each, 3);
	check_epochs(sampler, SAMPLER_STREAM, persistent, 3);
	sampler.rule = SAMPLER_UNKNOWN;
	check_epochs(sampler, SAMPLER_STREAM, each, 3);
}

TEST(accelerate_takes_every_other_permutation)
{
	/* RandomSampler(generator=g), g seeded with 9 */
	static const uint32_t golden[] = {0x8c8d0973, 0xddf74a37, 0x0f2314db};

	check_epochs((struct sampler){.seed = 9}, SAMPLER_STREAM, golden, 3);
}

TEST(seeds_rise_by_one_with_set_epoch)
{
	/* SeedableRandomSampler under torch.manual_seed(42) */
	static const uint32_t golden[] = {0x0bc64f37, 0x6e9e4b67, 0x5a412f87};
	struct sampler sampler = {.seed = 2000000002};

	check_epochs((struct sampler){.seed = 42}, SAMPLER_RESEED, golden, 3);
	assert_int_equal(hash_of(&sampler), 0xd6fbd31b); /* DefaultSampler(seed=2e9), epoch 2 */
	sampler.part = (struct sampler_part){.world = 3, .unit = 1, .ranks = 4};
	assert_int_equal(hash_of(&sampler), 0xfa8c66b2);
	sampler.part.bare = true;
	assert_int_equal(hash_of(&sampler), 0x6b977f6a);
}

TEST(a_forgotten_set_epoch_repeats_the_order)
{
	static const uint32_t golden[] = {0x0bc64f37, 0x0bc64f37, 0x0bc64f37};

	check_epochs((struct sampler){.seed = 42}, SAMPLER_SAME, golden, 3);
}

/* StatefulDataLoader's RandomSampler under torch.manual_seed(42): its seed is output 1. Without
 * workers, and with 2, which live on or do not. */
TEST(torchdata_makes_one_permutation_after_the_other)
{
	static const uint32_t lone[] = {0xf59c1457, 0xfbb030cb, 0x8de119b3, 0x06563a67};
	static const uint32_t persistent[] = {0xfbb030cb, 0x8de119b3, 0x06563a67, 0xfa2e5427};
	static const uint32_t other[] = {0xfbb030cb, 0x06563a67, 0x07f90a2b, 0xfe28b38f};
	struct sampler sampler = {
		.rule = SAMPLER_WORDS, .root = 42, .word = 1, .seed = output(42, 1)};

	check_epochs(sampler, SAMPLER_STREAM, lone, 4);
	sampler = (struct sampler){.rule = SAMPLER_STREAM, .seed = output(42, 1), .skip = N - 1};
	check_epochs(sampler, SAMPLER_STREAM, persistent, 4);
	check_epochs(sampler, SAMPLER_STREAM, other, 4);
}

/* StatefulDataLoader(generator=g), g seeded with 42 */
TEST(torchdata_and_its_loader_share_a_generator)
{
	static const uint32_t lone[] = {0x0bc64f37, 0x4ce41fff, 0x987c2977, 0xee506c73};
	static const uint32_t persistent[] = {0x4ce41fff, 0x63345adb, 0x74cb4a67, 0xc1c4d1f7};
	static const uint32_t other[] = {0x4ce41fff, 0x5922fb93, 0x8df42d2f, 0x59b6db23};
	struct sampler sampler = {.rule = SAMPLER_STREAM, .seed = 42, .skip = N - 1 + 2};

	check_epochs((struct sampler){.seed = 42}, SAMPLER_STREAM, lone, 4);
	check_epochs(sampler, SAMPLER_STREAM, persistent, 4);
	check_epochs(sampler, SAMPLER_STREAM, other, 4);
}

TEST(detectron2_deals_the_stream)
{
	/* TrainingSampler(1003, seed=11), ranks 0 and 1 of 4, 6 and 7 of 8, and one of one;
	 * MMEngine's InfiniteSampler, rank 2 of 3 */
	static const uint32_t four[] = {0x861409c8, 0x15c30564, 0x34f864e5};
	static const uint32_t eight[] = {0xf5adfa60, 0x383bcf3a, 0xc9c4c401};
	static const uint32_t one[] = {0x0f4f99a3, 0xa28c921f, 0xa5cd8373};
	static const uint32_t mmengine[] = {0xcb6301b9, 0xa6f80af2};
	struct sampler sampler = {.seed = 11, .part = {.world = 4, .unit = 1, .ranks = 3}};

	check_epochs(sampler, SAMPLER_STREAM, four, 3); /* the tail is not known before */
	sampler.part.bare = true;
	sampler.part.world = 8;
	sampler.part.ranks = 0xc0;
	check_epochs(sampler, SAMPLER_STREAM, eight, 3);
	sampler.part = (struct sampler_part){.world = 3, .unit = 1, .bare = true, .ranks = 4};
	check_epochs(sampler, SAMPLER_STREAM, mmengine, 2);
	sampler.part = (struct sampler_part){0};
	check_epochs(sampler, SAMPLER_STREAM, one, 3);
}

static bool is_ultralytics(void *arg, const struct sampler *sampler)
{
	struct sampler *found = arg;

	if (sampler->seed != ULTRALYTICS)
		return false;
	*found = *sampler;
	return true;
}

TEST(ultralytics_is_known)
{
	/* InfiniteDataLoader, workers 0 and 2; with 2, reset() after the third epoch */
	static const uint32_t golden[] = {0xe043b0df, 0x2df01e57, 0xf1ddf3f7};
	struct sampler sampler = {0}, last;

	sampler_each_convention(is_ultralytics, &sampler);
	check_epochs(sampler, SAMPLER_STREAM, golden, 3);
	last = (struct sampler){.seed = ULTRALYTICS, .skip = 2 + 4 * (N - 1)};
	assert_int_equal(hash_of(&last), golden[2]);
	assert_true(follow(&last, SAMPLER_STREAM, 0x934445cf));
	assert_int_equal(last.step, 2 * (N - 1));
	last = (struct sampler){.seed = ULTRALYTICS, .skip = 2 + 4 * (N - 1)};
	assert_true(follow(&last, SAMPLER_STREAM, 0x69f32e07)); /* with 0 workers */
}

/* --- what is known ---------------------------------------------------------------------------- */

struct wanted {
	struct sampler sampler;
	unsigned tries, found;
};

static bool count_wanted(void *arg, const struct sampler *sampler)
{
	struct wanted *wanted = arg;

	wanted->tries++;
	if (sampler->seed == wanted->sampler.seed && sampler->skip == wanted->sampler.skip)
		wanted->found++;
	return false;
}

static bool is_known(uint32_t seed, uint64_t skip)
{
	struct wanted wanted = {.sampler = {.seed = seed, .skip = skip}};

	sampler_each_convention(count_wanted, &wanted);
	assert_in_range(wanted.tries, 250000, 500000); /* 2 s at 4 us each */
	return wanted.found > 0;
}

TEST(conventions_are_known)
{
	assert_true(is_known(ULTRALYTICS, 2));
	assert_true(is_known(7, 2));	       /* a generator of the loader */
	assert_true(is_known(3735928559u, 0)); /* of the sampler alone */
	assert_true(is_known(4053586177u, 2)); /* torch.Generator(), not seeded */
	/* beyond 2^31, so that they are not taken for numpy\'s */
	assert_true(is_known(output(308, 1), 0));
	assert_true(is_known(output(308, 2), 0));
	assert_true(is_known(output(308, 5), 0));
	assert_true(is_known(output(1000, 255), 0));
	assert_true(is_known(output(2024, 128), 0)); /* after an odd draw */
	assert_false(is_known(output(2024, 256), 0));
	/* np.random.seed(1); np.random.randint(2**31, size=3): 1791095845, 2135392491, 946286476 */
	assert_true(is_known(946286476, 0));
}

static bool stop_at_ten(void *arg, const struct sampler *sampler)
{
	unsigned *tries = arg;

	(void)sampler;
	return ++*tries == 10;
}

TEST(trying_ends_when_told)
{
	unsigned tries = 0;

	sampler_each_convention(stop_at_ten, &tries);
	assert_int_equal(tries, 10);
}

TEST(the_next_seed_is_some_outputs_later)
{
	const struct sampler known = {
		.rule = SAMPLER_WORDS, .root = 42, .word = 1234567, .seed = output(42, 1234567)};
	struct sampler next[SAMPLER_NEXT];

	assert_true(sampler_next(&known, N, next) > 60); /* 4 outputs on, or 6, or 2, ... */
	assert_int_equal(next[0].word, 1234567 + 4);
	assert_int_equal(next[0].seed, output(42, 1234567 + 4));
	assert_int_equal(next[1].step, 6);
	assert_int_equal(next[2].step, 2);
	assert_int_equal(sampler_next(&next[1], N, next), 1);
	assert_int_equal(next[0].word, 1234567 + 12);
	assert_int_equal(next[0].seed, output(42, 1234567 + 12));
}

/* --- for people ------------------------------------------------------------------------------- */

TEST(names_say_which_sampler_and_which_ranks)
{
	struct sampler sampler = {.rule = SAMPLER_WORDS, .root = 42};
	char name[SAMPLER_NAME];

	assert_string_equal(sampler_name(&sampler, name), "RandomSampler under seed 42");
	sampler = (struct sampler){.rule = SAMPLER_RESEED,
				   .part = {.world = 8, .unit = 1, .ranks = 3}};
	assert_string_equal(sampler_name(&sampler, name), "DistributedSampler, ranks 0 and 1 of 8");
	sampler.part.ranks = 0xff00000000;
	sampler.part.world = 64;
	assert_string_equal(sampler_name(&sampler, name),
			    "DistributedSampler, ranks 32 to 39 of 64");
	sampler.part.ranks = 5;
	assert_string_equal(sampler_name(&sampler, name), "DistributedSampler, 2 of 64 ranks");
	sampler.part.ranks = UINT64_MAX;
	assert_string_equal(sampler_name(&sampler, name),
			    "DistributedSampler, ranks 0 to 63 of 64");
	sampler = (struct sampler){
		.part = {.world = UINT32_MAX, .unit = 1, .first = UINT32_MAX - 1, .ranks = 1}};
	assert_string_equal(sampler_name(&sampler, name),
			    "DistributedSampler, rank 4294967294 of 4294967295");
}
