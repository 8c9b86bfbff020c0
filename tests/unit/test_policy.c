/* Who leaves first: traces for the policies, and what each is worth on epochs and on hot sets. */
#include "cache/policy.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* --- traces --------------------------------------------------------------------------------- */

#define NODES 8

struct trace {
	const struct policy_ops *ops;
	struct policy policy;
	struct policy_node nodes[NODES];
};

static void offer(struct trace *trace, unsigned node, enum policy_use use)
{
	trace->nodes[node].use = use;
	trace->ops->offer(&trace->policy, &trace->nodes[node]);
}

static void withdraw(struct trace *trace, unsigned node)
{
	trace->ops->withdraw(&trace->policy, &trace->nodes[node]);
}

static void assert_next(struct trace *trace, unsigned node)
{
	assert_ptr_equal(trace->ops->victim(&trace->policy), &trace->nodes[node]);
	withdraw(trace, node);
}

static void assert_nothing_left(struct trace *trace)
{
	assert_null(trace->ops->victim(&trace->policy));
}

static int start(void **state, const struct policy_ops *ops)
{
	static struct trace trace;

	trace = (struct trace){.ops = ops};
	trace.ops->init(&trace.policy);
	*state = &trace;
	return 0;
}

static int lru(void **state)
{
	return start(state, &policy_lru);
}

static int pin(void **state)
{
	return start(state, &policy_pin);
}

static void nothing_on_offer_means_no_victim(void **state)
{
	assert_nothing_left(*state);
	offer(*state, 0, POLICY_USED);
	withdraw(*state, 0);
	assert_nothing_left(*state);
}

static void looking_for_a_victim_changes_nothing(void **state)
{
	struct trace *trace = *state;

	offer(trace, 0, POLICY_USED);
	offer(trace, 1, POLICY_USED);
	assert_ptr_equal(trace->ops->victim(&trace->policy), &trace->nodes[0]);
	assert_ptr_equal(trace->ops->victim(&trace->policy), &trace->nodes[0]);
}

static void whom_was_withdrawn_is_forgotten(void **state)
{
	for (unsigned i = 0; i < NODES; i++)
		offer(*state, i, POLICY_USED);
	for (unsigned i = 0; i < NODES; i += 2)
		withdraw(*state, i);
	for (unsigned i = 1; i < NODES; i += 2)
		assert_next(*state, i);
	assert_nothing_left(*state);
}

static void the_oldest_of_those_not_spent_leaves_first(void **state)
{
	for (unsigned i = 0; i < 4; i++)
		offer(*state, i, i % 2 ? POLICY_USED : POLICY_AHEAD);
	withdraw(*state, 1); /* used once more */
	offer(*state, 1, POLICY_USED);
	assert_next(*state, 0);
	assert_next(*state, 2);
	assert_next(*state, 3);
	assert_next(*state, 1);
	assert_nothing_left(*state);
}

static void lru_does_not_ask_what_was_spent(void **state)
{
	offer(*state, 0, POLICY_USED);
	offer(*state, 1, POLICY_SPENT);
	offer(*state, 2, POLICY_AHEAD); /* as recent as its reading */
	offer(*state, 3, POLICY_SPENT);
	withdraw(*state, 0);
	offer(*state, 0, POLICY_SPENT);
	for (unsigned i = 1; i < 4; i++)
		assert_next(*state, i);
	assert_next(*state, 0);
	assert_nothing_left(*state);
}

static void pin_gives_up_what_is_spent_before_all_others(void **state)
{
	offer(*state, 0, POLICY_USED);
	offer(*state, 1, POLICY_SPENT);
	offer(*state, 2, POLICY_AHEAD);
	offer(*state, 3, POLICY_SPENT);
	assert_next(*state, 3); /* the latest: its epoch is done with it */
	assert_next(*state, 1);
	assert_next(*state, 0);
	assert_next(*state, 2);
	assert_nothing_left(*state);
}

static void pin_keeps_a_spent_one_that_is_being_read_again(void **state)
{
	offer(*state, 0, POLICY_SPENT);
	offer(*state, 1, POLICY_SPENT);
	offer(*state, 2, POLICY_USED);
	withdraw(*state, 1);
	offer(*state, 1, POLICY_USED);
	assert_next(*state, 0);
	assert_next(*state, 2);
	assert_next(*state, 1);
	assert_nothing_left(*state);
}

static void one_policy_takes_over_from_the_other(void **state)
{
	struct trace *trace = *state;

	offer(trace, 0, POLICY_SPENT);
	offer(trace, 1, POLICY_USED);
	trace->ops = &policy_pin; /* no init: what is on offer stays, in its order */
	assert_ptr_equal(trace->ops->victim(&trace->policy), &trace->nodes[0]);
	offer(trace, 2, POLICY_SPENT);
	offer(trace, 3, POLICY_USED);
	offer(trace, 4, POLICY_SPENT);
	withdraw(trace, 1); /* one that lru had offered */
	offer(trace, 1, POLICY_SPENT);
	trace->ops = &policy_lru;
	offer(trace, 5, POLICY_SPENT);
	withdraw(trace, 2); /* one that pin had offered */
	offer(trace, 2, POLICY_USED);
	assert_next(trace, 1);
	assert_next(trace, 4);
	assert_next(trace, 0);
	assert_next(trace, 3);
	assert_next(trace, 5);
	assert_next(trace, 2);
	assert_nothing_left(trace);
}

/* --- a cache of which only the order counts --------------------------------------------------- */

#define EXTENTS 10000u
#define EPOCHS	4

struct cache {
	const struct policy_ops *ops;
	struct policy policy;
	struct policy_node nodes[EXTENTS];
	bool held[EXTENTS];
	uint32_t room;
};

static void cache_start(struct cache *cache, const struct policy_ops *ops, uint32_t room)
{
	*cache = (struct cache){.ops = ops, .room = room};
	ops->init(&cache->policy);
}

/* The extent is served in full. Returns whether it was there. */
static bool use(struct cache *cache, uint32_t extent)
{
	struct policy_node *node = &cache->nodes[extent], *victim;
	bool hit = cache->held[extent];

	if (hit) {
		cache->ops->withdraw(&cache->policy, node);
	} else if (cache->room) {
		cache->room--;
	} else {
		victim = cache->ops->victim(&cache->policy);
		cache->ops->withdraw(&cache->policy, victim);
		cache->held[victim - cache->nodes] = false;
	}
	cache->held[extent] = true;
	node->use = POLICY_SPENT;
	cache->ops->offer(&cache->policy, node);
	return hit;
}

static uint32_t use_all(struct cache *cache, const uint32_t *order)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < EXTENTS; i++)
		hits += use(cache, order[i]);
	return hits;
}

/* --- epochs ----------------------------------------------------------------------------------- */

static void shuffle(uint32_t *order)
{
	for (uint32_t i = EXTENTS; i > 1; i--) {
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
static double hit_rate(const struct policy_ops *ops, uint32_t room, uint32_t *order)
{
	static struct cache cache;
	uint32_t hits = 0;

	cache_start(&cache, ops, room);
	use_all(&cache, order);
	for (int epoch = 1; epoch < EPOCHS; epoch++) {
		shuffle(order);
		hits += use_all(&cache, order);
	}
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

static void shuffled_epochs_hit_what_theory_says(void **state)
{
	for (uint32_t percent = 10; percent <= 90; percent += 10) {
		uint32_t room = EXTENTS / 100 * percent;
		double f = percent / 100.0;
		double of_lru = hit_rate(&policy_lru, room, *state);
		double of_pin = hit_rate(&policy_pin, room, *state);

		print_message("room for %u %%: lru hits %.2f %%, theory %.2f %%; pin %.2f %%\n",
			      percent, 100 * of_lru, 100 * lru_theory(f), 100 * of_pin);
		assert_true(fabs(of_lru - lru_theory(f)) < 0.01);
		assert_true(fabs(of_pin - f) < 0.001);
	}
}

/* The C that it holds when an epoch begins, but for one if the epoch begins with a miss. */
static void pin_loses_one_hit_in_an_epoch_at_most(void **state)
{
	static const uint32_t rooms[] = {1, 2, 10, EXTENTS / 2, EXTENTS - 1, EXTENTS};
	static struct cache cache;

	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		cache_start(&cache, &policy_pin, rooms[i]);
		assert_int_equal(use_all(&cache, *state), 0);
		for (int epoch = 1; epoch < EPOCHS; epoch++) {
			shuffle(*state);
			assert_in_range(use_all(&cache, *state), rooms[i] - 1, rooms[i]);
		}
	}
}

static void a_loop_one_too_long_for_lru_is_no_trouble_for_pin(void **state)
{
	static struct cache cache;

	cache_start(&cache, &policy_lru, EXTENTS - 1);
	for (int epoch = 0; epoch < EPOCHS; epoch++)
		assert_int_equal(use_all(&cache, *state), 0);
	cache_start(&cache, &policy_pin, EXTENTS - 1);
	use_all(&cache, *state);
	for (int epoch = 1; epoch < EPOCHS; epoch++)
		assert_in_range(use_all(&cache, *state), EXTENTS - 2, EXTENTS - 1);
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

static double drawn_hit_rate(const struct policy_ops *ops, uint32_t room, uint32_t (*draw)(void))
{
	static struct cache cache;
	uint32_t hits = 0;

	srandom(4);
	cache_start(&cache, ops, room);
	for (uint32_t i = 0; i < EPOCHS * EXTENTS; i++)
		hits += use(&cache, draw());
	return (double)hits / (EPOCHS * EXTENTS);
}

static void assert_lru_is_better(uint32_t (*draw)(void), const char *name)
{
	for (uint32_t percent = 10; percent <= 90; percent += 20) {
		uint32_t room = EXTENTS / 100 * percent;
		double of_lru = drawn_hit_rate(&policy_lru, room, draw);
		double of_pin = drawn_hit_rate(&policy_pin, room, draw);

		print_message("%s, room for %u %%: lru hits %.2f %%, pin %.2f %%\n", name, percent,
			      100 * of_lru, 100 * of_pin);
		assert_true(of_lru >= of_pin);
		assert_true(percent > 30 || of_lru > of_pin + 0.05);
	}
}

static void lru_is_better_where_some_are_popular(void **state)
{
	(void)state;
	assert_lru_is_better(zipf, "zipf");
	assert_lru_is_better(hot, "hot tenth");
}

/* What pin cannot know, and why there is a duel. */
static void pin_never_lets_go_of_what_is_no_longer_used(void **state)
{
	static struct cache cache;
	uint32_t hits = 0;

	(void)state;
	cache_start(&cache, &policy_pin, EXTENTS / 4);
	for (int epoch = 0; epoch < 2; epoch++)
		for (uint32_t i = 0; i < EXTENTS / 2; i++)
			use(&cache, i);
	for (int epoch = 0; epoch < EPOCHS; epoch++)
		for (uint32_t i = EXTENTS / 2; i < EXTENTS; i++)
			hits += use(&cache, i);
	assert_int_equal(hits, 0);
}

#define of_both(f)                              \
	cmocka_unit_test_setup(f, lru),         \
	{                                       \
#f " (pin)", f, pin, NULL, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		of_both(nothing_on_offer_means_no_victim),
		of_both(looking_for_a_victim_changes_nothing),
		of_both(whom_was_withdrawn_is_forgotten),
		of_both(the_oldest_of_those_not_spent_leaves_first),
		cmocka_unit_test_setup(lru_does_not_ask_what_was_spent, lru),
		cmocka_unit_test_setup(pin_gives_up_what_is_spent_before_all_others, pin),
		cmocka_unit_test_setup(pin_keeps_a_spent_one_that_is_being_read_again, pin),
		cmocka_unit_test_setup(one_policy_takes_over_from_the_other, lru),
		cmocka_unit_test_setup(shuffled_epochs_hit_what_theory_says, order),
		cmocka_unit_test_setup(pin_loses_one_hit_in_an_epoch_at_most, order),
		cmocka_unit_test_setup(a_loop_one_too_long_for_lru_is_no_trouble_for_pin, order),
		cmocka_unit_test(lru_is_better_where_some_are_popular),
		cmocka_unit_test(pin_never_lets_go_of_what_is_no_longer_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
