/* Which batches are read here: cache/order/batches.h. The golden values are hashes of what
 * BatchSamplerShard of accelerate 1.15.0 gave the ranks of a node, over
 * BatchSampler(RandomSampler(generator 9)). */
#include "cache/order/batches.h"
#include "tests/unit/loader.h"
#include "tests/unit/order_hash.h"
#include "tests/unit/test.h"
#include <stdlib.h>

#define MOST 50000

struct node {
	uint32_t n, batch, world; /* places; of a rank */
	uint32_t first, ranks;
};

/* The places that one rank reads. */
static uint32_t places_of(const struct node *node, uint32_t rank, uint32_t *ret)
{
	uint32_t count = 0;

	for (uint32_t place = 0; place < node->n; place++)
		if (place / node->batch % node->world == rank)
			ret[count++] = place;
	return count;
}

/* All ranks of the node read, with workers of their own, some of which are slow. Returns after how
 * many places the part was known; 0: never. */
static uint32_t read_all(const struct node *node, uint32_t workers, uint32_t from, uint32_t random,
			 struct sampler_part *ret)
{
	static uint32_t places[8][MOST];
	struct loader loaders[8];
	struct batches *batches;
	uint32_t known = 0, seen = 0, reader, place;
	bool on = true;

	assert_int_equal(batches_new(node->n, from, &batches), 0);
	for (uint32_t r = 0; r < node->ranks; r++) {
		uint32_t count = places_of(node, node->first + r, places[r]);

		loader_init(&loaders[r], places[r], count, workers, node->batch);
		loaders[r].random = random ? random + r : 0;
	}
	while (on && !known) {
		on = false;
		for (uint32_t r = 0; r < node->ranks; r++) {
			if (!loader_next(&loaders[r], &reader, &place))
				continue;
			on = true;
			seen++;
			batches_saw(batches, place);
		}
		if (batches_part(batches, ret))
			known = seen;
	}
	batches_free(batches);
	return known;
}

struct golden {
	struct node node;
	uint32_t unit, world, first, ranks; /* of the part */
	uint32_t count, hash;
};

static const struct golden goldens[] = {
	{{5000, 16, 4, 2, 2}, 32, 2, 1, 1, 2504, 0xaed2c147},
	{{5000, 32, 2, 1, 1}, 32, 2, 1, 1, 2504, 0xaed2c147},
	{{5000, 40, 3, 0, 1}, 40, 3, 0, 1, 1680, 0xc19ee276},
	{{5000, 8, 8, 4, 4}, 32, 2, 1, 1, 2504, 0xaed2c147}, /* split_batches of 64 */
	{{4990, 24, 5, 1, 2}, 24, 5, 1, 3, 2016, 0x5a7b76f0},
};

TEST(the_batches_of_a_node_are_told)
{
	static const uint32_t workers[] = {1, 2, 4};
	static uint32_t order[MOST];

	for (unsigned i = 0; i < sizeof(goldens) / sizeof(*goldens); i++) {
		const struct golden *golden = &goldens[i];

		for (unsigned w = 0; w < 6; w++) {
			struct sampler sampler = {.seed = 9};
			uint32_t known =
				read_all(&golden->node, workers[w / 2], 0, w % 2, &sampler.part);

			assert_in_range(known, 1, 1536);
			assert_int_equal(sampler.part.unit, golden->unit);
			assert_int_equal(sampler.part.world, golden->world);
			assert_int_equal(sampler.part.first, golden->first);
			assert_int_equal(sampler.part.ranks, golden->ranks);
			assert_int_equal(sampler_order(&sampler, golden->node.n, order),
					 golden->count);
			assert_int_equal(order_hash(order, golden->count), golden->hash);
		}
	}
}

/* In step, or each at a pace of its own. */
TEST(where_all_are_read_nothing_is_left_out)
{
	static const uint32_t batches[] = {1, 16, 256}, workers[] = {1, 4, 16, 64};
	struct sampler_part part;

	for (unsigned b = 0; b < 3; b++)
		for (unsigned w = 0; w < 4; w++)
			for (uint32_t random = 0; random < 4; random++) {
				struct node node = {MOST, batches[b], 1, 0, 1};

				assert_int_equal(read_all(&node, workers[w], 0, random, &part), 0);
				node.world = node.ranks = 8;
				assert_int_equal(read_all(&node, workers[w], 99, random, &part), 0);
			}
}

/* Of two ranks that were apart when it was taken up the first one had asked for its places. */
TEST(what_was_asked_for_before_is_no_rhythm)
{
	struct batches *batches;
	struct sampler_part part;

	assert_int_equal(batches_new(MOST, 100, &batches), 0);
	for (uint32_t place = 101; place < MOST; place++)
		if (place > 200 || place % 2)
			batches_saw(batches, place);
	assert_false(batches_part(batches, &part));
	batches_free(batches);
}

/* Taken up in the midst of an epoch, where a file is missing now and then. */
TEST(what_nobody_asked_for_delays_it)
{
	struct batches *batches;
	struct sampler_part part = {0};

	assert_int_equal(batches_new(MOST, 777, &batches), 0);
	for (uint32_t place = 640; place < MOST; place++)
		if (place / 32 % 4 == 3 && place != 1000 && place != 2017)
			batches_saw(batches, place);
	assert_true(batches_part(batches, &part));
	assert_int_equal(part.world, 4);
	assert_int_equal(part.unit, 32);
	assert_int_equal(part.first, 3);
	batches_free(batches);
}
