/* torch's order, number for number: cache/order/mt19937.h, permutation.h.
 *
 * The hashes are XXH3-64 of the permutation as 32-bit little-endian integers, of the first and the
 * second one of a generator. Those of `golden` are torch 1.13.1's:
 *
 *	g = torch.Generator(); g.manual_seed(seed)
 *	for i in 1, 2: hash(torch.randperm(n, generator=g).numpy().astype("<u4").tobytes())
 */
#include "cache/order/permutation.h"
#include "tests/unit/test.h"
#include <string.h>
#include <xxhash.h>

#define MOST 2000003

struct golden {
	uint32_t seed;
	size_t n;
	uint64_t first, second;
};

static const struct golden golden[] = {
	{0x0, 1, 0x48b2c92616fc193d, 0x48b2c92616fc193d},
	{0x0, 2, 0xeeab51d59cf4ca5b, 0x2fbc593564db792e},
	{0x0, 10, 0x72ee7c69aa8bad87, 0x275d766a9f598cb6},
	{0x0, 1000, 0x4dcccba5c49dbfb1, 0x813887a359e5a1b2},
	{0x0, 50000, 0xa1e12a8cf556afbe, 0xb419824732eff6c7},
	{0x0, 1281167, 0xe3d227f71f5fc2f6, 0x9c10f1ee0c98b633},
	{0x0, 2000003, 0x7010b655c9980cf6, 0xa052b3405156d698},
	{0x2a, 1, 0x48b2c92616fc193d, 0x48b2c92616fc193d},
	{0x2a, 2, 0xeeab51d59cf4ca5b, 0x2fbc593564db792e},
	{0x2a, 10, 0x29ccce56d8d9ea0e, 0xccb3f920b8b03cbb},
	{0x2a, 1000, 0x1c3d235bbd8944c5, 0x246bf49c5889a2b4},
	{0x2a, 50000, 0x9cf81483b138864b, 0xd421ae0ae26134ed},
	{0x2a, 1281167, 0x88a14c14273e2d5d, 0x211c17ed2cfec15c},
	{0x2a, 2000003, 0xfeca65eabf18fb50, 0xa33bc0072ff02f0b},
	{0x55555554, 1, 0x48b2c92616fc193d, 0x48b2c92616fc193d},
	{0x55555554, 2, 0xeeab51d59cf4ca5b, 0xeeab51d59cf4ca5b},
	{0x55555554, 10, 0x35e01a817d04d7ca, 0x55b12358b111a975},
	{0x55555554, 1000, 0x3d1350bf7e08ddd1, 0xc14b1ad4819190be},
	{0x55555554, 50000, 0x368ca6512ac093d9, 0x44d529c501aab08e},
	{0x55555554, 1281167, 0xbfbc08ba4269a24b, 0x857eb4da0b84d8e2},
	{0x55555554, 2000003, 0x622c026554275e83, 0x0fc768a224e219ac},
	{0xffffffff, 1, 0x48b2c92616fc193d, 0x48b2c92616fc193d},
	{0xffffffff, 2, 0x2fbc593564db792e, 0xeeab51d59cf4ca5b},
	{0xffffffff, 10, 0xa79628e762dbd469, 0x28d13048615c5371},
	{0xffffffff, 1000, 0x3a8f106e1fc143e3, 0x77a27f664f3b1a0f},
	{0xffffffff, 50000, 0xb9148b7a547e350f, 0x8f80a5d424cfe1d6},
	{0xffffffff, 1281167, 0xf097ec4108a645c5, 0x4b63fdc6b654caa3},
	{0xffffffff, 2000003, 0xb5d855484a137dcd, 0x4d88fb01f3253105},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t order[MOST], other[MOST];

static uint64_t hash_of(const uint32_t *numbers, size_t n)
{
	return XXH3_64bits(numbers, n * sizeof(*numbers));
}

/* ISO C++, [rand.predef]: the 10,000th output of mt19937 with its default seed. */
TEST(the_generator_is_the_standard_one)
{
	struct mt19937 mt;

	mt19937_init(&mt, 5489);
	assert_int_equal(mt19937_next(&mt), 3499211612u);
	mt19937_skip(&mt, 9998);
	assert_int_equal(mt19937_next(&mt), 4123659995u);
}

TEST(skipping_is_like_drawing)
{
	const uint64_t skips[] = {0, 1, 622, 623, 624, 625, 1000000};

	for (unsigned i = 0; i < COUNT(skips); i++) {
		struct mt19937 a, b;

		mt19937_init(&a, i);
		mt19937_init(&b, i);
		for (uint64_t drawn = 0; drawn < skips[i]; drawn++)
			mt19937_next(&a);
		mt19937_skip(&b, skips[i]);
		assert_int_equal(mt19937_next(&a), mt19937_next(&b));
	}
}

TEST(permutations_are_torchs)
{
	for (const struct golden *g = golden; g < golden + COUNT(golden); g++) {
		struct mt19937 mt;

		mt19937_init(&mt, g->seed);
		permutation_next(&mt, order, g->n);
		assert_true(hash_of(order, g->n) == g->first);
		permutation_next(&mt, order, g->n);
		assert_true(hash_of(order, g->n) == g->second);
	}
}

static void assert_permutation(const uint32_t *numbers, size_t n)
{
	memset(other, 0, n * sizeof(*other));
	for (size_t i = 0; i < n; i++) {
		assert_true(numbers[i] < n);
		assert_int_equal(other[numbers[i]]++, 0);
	}
}

static void assert_takes(size_t n, uint64_t outputs)
{
	struct mt19937 mt, same;

	mt19937_init(&mt, 3);
	mt19937_init(&same, 3);
	permutation_next(&mt, order, n);
	assert_permutation(order, n);
	mt19937_skip(&same, outputs);
	assert_int_equal(mt19937_next(&mt), mt19937_next(&same));
}

TEST(a_permutation_takes_one_output_less_than_it_has_elements)
{
	assert_takes(1000, 999);
	assert_takes(1, 0);
	assert_takes(0, 0);
}

TEST(each_index_comes_once)
{
	for (size_t n = 0; n < 100; n++)
		for (uint32_t seed = 0; seed < 50; seed++) {
			permutation_of(seed, order, n);
			assert_permutation(order, n);
		}
}

TEST(a_head_is_how_the_permutation_begins)
{
	const uint32_t sizes[] = {1, 2, 3, 64, 255, 256, 257, 1000, 50000};
	uint32_t head[PERMUTATION_HEAD];

	for (unsigned i = 0; i < COUNT(sizes); i++)
		for (uint32_t seed = 0; seed < 20; seed++) {
			unsigned count = sizes[i] < PERMUTATION_HEAD ? sizes[i] : PERMUTATION_HEAD;
			struct mt19937 mt;

			permutation_of(seed, order, sizes[i]);
			mt19937_init(&mt, seed);
			permutation_head(&mt, sizes[i], head, count);
			assert_memory_equal(head, order, count * sizeof(*head));
		}
}

TEST(words_can_be_followed_back)
{
	for (uint32_t word = 1; word != 0; word *= 2)
		for (uint32_t i = 1; i < MT19937_WORDS; i++) {
			assert_int_equal(mt19937_shrink(mt19937_grow(word, i), i), word);
			assert_int_equal(mt19937_shrink(mt19937_grow(~word, i), i), ~word);
		}
}
