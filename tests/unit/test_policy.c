/* What leaves the pool first, on epochs, hot sets and sets that are used no longer: traces through
 * a pool of extents of one slot each, with each policy and with the rule that chooses. */
#include "cache/pool.h"
#include "tests/unit/test.h"
#include <math.h>
#include <stdlib.h>

#define EXTENTS 4000u
#define EPOCHS	4
#define WINDOWS 40 /* of the rule */

static struct pool *pool_of(enum policy_choice policy, uint32_t room)
{
	const struct pool_params params = {.budget = (uint64_t)room * SLOT_BYTES,
					   .extent_max = 1,
					   .extents = EXTENTS,
					   .policy = policy};
	struct pool *pool;

	assert_int_equal(pool_new(&params, &pool), 0);
	return pool;
}

/* The extent is served in full. Returns whether it was there. */
static bool use(struct pool *pool, uint32_t number)
{
	const struct extent place = {.number = number, .size = 1};
	struct pool_extent *extent = pool_find(pool, number);
	bool hit = extent;

	if (hit) {
		pool_pin(pool, extent);
	} else {
		assert_int_equal(pool_add(pool, &place, POOL_USED, &extent), 0);
		pool_filled(extent);
	}
	pool_ask(pool, extent);
	pool_spend(pool, extent, false);
	pool_unpin(pool, extent);
	return hit;
}

static uint32_t use_all(struct pool *pool, const uint32_t *order)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < EXTENTS; i++)
		hits += use(pool, order[i]);
	return hits;
}

/* --- epochs ----------------------------------------------------------------------------------- */

static void shuffle(uint32_t *order, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)random() % i, swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
}

static int order(void **state)
{
	static uint32_t order[EXTENTS];

	srandom(3);
	for (uint32_t i = 0; i < EXTENTS; i++)
		order[i] = i;
	*state = order;
	return 0;
}

/* The share of hits in all epochs but the first. */
static double hit_rate(enum policy_choice policy, uint32_t room, uint32_t *order)
{
	struct pool *pool = pool_of(policy, room);
	uint32_t hits = 0;

	use_all(pool, order);
	for (int epoch = 1; epoch < EPOCHS; epoch++) {
		shuffle(order, EXTENTS);
		hits += use_all(pool, order);
	}
	if (policy == POLICY_AUTO)
		assert_false(pool_is_lru(pool));
	pool_free(pool);
	return (double)hits / ((EPOCHS - 1.0) * EXTENTS);
}

/* With room for f N extents, one at place x of an epoch (x = 0 .. 1) and y of the next is hit
 * by lru when fewer than f N others came between: (1 - x) N of the old epoch, and of the y N
 * new ones those not among them, which is the share x, as the two orders are independent.
 * That is 1 - x + x y < f, or x > (1 - f) / (1 - y): for y < f a share 1 - (1 - f) / (1 - y)
 * of the x, and the integral over y = 0 .. f is f + (1 - f) ln(1 - f). */
static double lru_theory(double f)
{
	return f + (1 - f) * log(1 - f);
}

FIXTURE_BY(order, uint32_t, order, NULL);

TEST_OF(order, shuffled_epochs_hit_what_theory_says)
{
	for (uint32_t percent = 10; percent <= 90; percent += 10) {
		uint32_t room = EXTENTS / 100 * percent;
		double f = percent / 100.0;
		double of_lru = hit_rate(POLICY_LRU, room, order);
		double of_pin = hit_rate(POLICY_PIN, room, order);
		double of_auto = hit_rate(POLICY_AUTO, room, order);

		print_message("room for %u %%: lru hits %.2f %%, theory %.2f %%; pin %.2f %%\n",
			      percent, 100 * of_lru, 100 * lru_theory(f), 100 * of_pin);
		assert_true(fabs(of_lru - lru_theory(f)) < 0.01);
		assert_true(fabs(of_pin - f) < 0.001);
		assert_true(fabs(of_auto - f) < 0.001);
	}
}

/* The C that it holds when an epoch begins, but for one if the epoch begins with a miss. */
TEST_OF(order, pin_loses_one_hit_in_an_epoch_at_most)
{
	static const uint32_t rooms[] = {2, 10, EXTENTS / 2, EXTENTS - 1, EXTENTS};

	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		struct pool *pool = pool_of(POLICY_PIN, rooms[i]);

		assert_int_equal(use_all(pool, order), 0);
		for (int epoch = 1; epoch < EPOCHS; epoch++) {
			shuffle(order, EXTENTS);
			assert_in_range(use_all(pool, order), rooms[i] - 1, rooms[i]);
		}
		pool_free(pool);
	}
}

/* Wherever in an epoch the windows of the rule begin, and however long the epochs are. */
TEST_OF(order, shuffled_epochs_of_any_length_keep_pin)
{
	for (uint32_t count = EXTENTS / 10; count <= EXTENTS; count += EXTENTS / 10)
		for (uint32_t offset = 0; offset < EXTENTS; offset += EXTENTS / 4) {
			struct pool *pool = pool_of(POLICY_AUTO, count / 2);

			for (uint32_t i = 0; i < offset; i++)
				use(pool, i % count);
			for (uint32_t epoch = 0; epoch < 6 * EXTENTS / count; epoch++) {
				shuffle(order, count);
				for (uint32_t i = 0; i < count; i++)
					use(pool, order[i]);
				assert_false(pool_is_lru(pool));
			}
			pool_free(pool);
		}
}

/* --- other ways to read ----------------------------------------------------------------------- */

/* Drawn with replacement, and rank k with a probability of about 1 / (k ln N): N^u for a u of
 * 0 .. 1. */
static uint32_t zipf(void)
{
	double u = (double)random() / ((double)RAND_MAX + 1);

	return (uint32_t)pow(EXTENTS, u) - 1;
}

/* Four of five uses are of one tenth of the extents. */
static uint32_t hot(void)
{
	return (uint32_t)random() % (random() % 5 ? EXTENTS / 10 : EXTENTS);
}

static double drawn_hit_rate(enum policy_choice policy, uint32_t room, uint32_t (*draw)(void))
{
	struct pool *pool = pool_of(policy, room);
	uint32_t hits = 0;

	srandom(4);
	for (uint32_t i = 0; i < WINDOWS * EXTENTS; i++)
		hits += use(pool, draw());
	pool_free(pool);
	return (double)hits / (WINDOWS * EXTENTS);
}

static void assert_lru_is_chosen(uint32_t (*draw)(void), const char *name)
{
	for (uint32_t percent = 10; percent <= 90; percent += 20) {
		uint32_t room = EXTENTS / 100 * percent;
		double of_lru = drawn_hit_rate(POLICY_LRU, room, draw);
		double of_pin = drawn_hit_rate(POLICY_PIN, room, draw);
		double of_auto = drawn_hit_rate(POLICY_AUTO, room, draw);

		print_message("%s, room for %u %%: lru hits %.2f %%, pin %.2f %%, auto %.2f %%\n",
			      name, percent, 100 * of_lru, 100 * of_pin, 100 * of_auto);
		assert_true(of_lru >= of_pin);
		assert_true(percent > 30 || of_lru > of_pin + 0.05);
		assert_true(of_auto - of_pin > 0.8 * (of_lru - of_pin));
	}
}

TEST(lru_is_chosen_where_some_are_popular)
{
	assert_lru_is_chosen(zipf, "zipf");
	assert_lru_is_chosen(hot, "hot tenth");
}

/* The files of one job, then those of another one. */
static uint32_t hits_of_the_second_job(enum policy_choice policy)
{
	struct pool *pool = pool_of(policy, EXTENTS / 4);
	uint32_t hits = 0;

	for (int epoch = 0; epoch < 2; epoch++)
		for (uint32_t i = 0; i < EXTENTS / 2; i++)
			use(pool, i);
	for (int epoch = 0; epoch < WINDOWS; epoch++)
		for (uint32_t i = EXTENTS / 2; i < EXTENTS; i++)
			hits += use(pool, i);
	pool_free(pool);
	return hits;
}

/* It takes two windows to see it; then lru brings in what is used now. */
TEST(what_is_no_longer_used_goes)
{
	uint32_t hits;

	assert_int_equal(hits_of_the_second_job(POLICY_PIN), 0);
	hits = hits_of_the_second_job(POLICY_AUTO);
	assert_true(hits > WINDOWS * EXTENTS / 2 * 3 / 10); /* five without the first job */
}
