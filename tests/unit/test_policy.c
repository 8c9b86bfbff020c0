/* Who leaves first: traces for the policies, and what lru is worth on shuffled epochs. */
#include "cache/pool.h"
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

static int lru(void **state)
{
	static struct trace trace;

	trace = (struct trace){.ops = &policy_lru};
	trace.ops->init(&trace.policy);
	*state = &trace;
	return 0;
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

static void lru_gives_up_the_oldest_offer_first(void **state)
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

static void lru_gives_up_what_is_spent_before_all_others(void **state)
{
	offer(*state, 0, POLICY_USED);
	offer(*state, 1, POLICY_SPENT);
	offer(*state, 2, POLICY_AHEAD);
	offer(*state, 3, POLICY_SPENT);
	assert_next(*state, 3); /* the latest: still in the processor's caches */
	assert_next(*state, 1);
	assert_next(*state, 0);
	assert_next(*state, 2);
	assert_nothing_left(*state);
}

static void lru_forgets_whom_it_had_offered(void **state)
{
	for (unsigned i = 0; i < NODES; i++)
		offer(*state, i, POLICY_USED);
	for (unsigned i = 0; i < NODES; i += 2)
		withdraw(*state, i);
	for (unsigned i = 1; i < NODES; i += 2)
		assert_next(*state, i);
	assert_nothing_left(*state);
}

/* --- shuffled epochs ------------------------------------------------------------------------ */

#define EXTENTS 20000u
#define EPOCHS	3

static void shuffle(uint32_t *order, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)random() % i, swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
}

static bool use(struct pool *pool, uint64_t number)
{
	struct pool_extent *extent = pool_find(pool, number);
	bool hit = extent != NULL;

	if (hit) {
		pool_pin(pool, extent);
	} else {
		assert_int_equal(pool_add(pool, number, SLOT_BYTES, POLICY_USED, &extent), 0);
		pool_filled(pool, extent);
	}
	pool_unpin(pool, extent);
	return hit;
}

/* The share of hits in all epochs but the first, with room for `share` of the extents. */
static double hit_rate(double share, uint32_t *order)
{
	struct pool *pool;
	uint32_t hits = 0;

	assert_int_equal(
		pool_new((uint64_t)(share * EXTENTS) * SLOT_BYTES, SLOT_BYTES, &policy_lru, &pool),
		0);
	for (uint32_t i = 0; i < EXTENTS; i++)
		use(pool, order[i]);
	for (int epoch = 1; epoch < EPOCHS; epoch++) {
		shuffle(order, EXTENTS);
		for (uint32_t i = 0; i < EXTENTS; i++)
			hits += use(pool, order[i]);
	}
	pool_free(pool);
	return (double)hits / ((EPOCHS - 1.0) * EXTENTS);
}

/* An extent at place x of one epoch and y of the next is hit when fewer than f N others came
 * between: (1 - x) N of the old epoch, and of the y N new ones those not among them. That is
 * 1 - x + x y < f, and the area of such (x, y) is f + (1 - f) ln(1 - f). */
static void lru_hits_on_permutations_what_theory_says(void **state)
{
	static uint32_t order[EXTENTS];

	(void)state;
	srandom(3);
	for (uint32_t i = 0; i < EXTENTS; i++)
		order[i] = i;
	for (int percent = 10; percent <= 90; percent += 10) {
		double f = percent / 100.0, theory = f + (1 - f) * log(1 - f);
		double rate = hit_rate(f, order);

		print_message("room for %d %%: %.2f %% hits, theory %.2f %%\n", percent, 100 * rate,
			      100 * theory);
		assert_true(fabs(rate - theory) < 0.02);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_on_offer_means_no_victim, lru),
		cmocka_unit_test_setup(looking_for_a_victim_changes_nothing, lru),
		cmocka_unit_test_setup(lru_gives_up_the_oldest_offer_first, lru),
		cmocka_unit_test_setup(lru_gives_up_what_is_spent_before_all_others, lru),
		cmocka_unit_test_setup(lru_forgets_whom_it_had_offered, lru),
		cmocka_unit_test(lru_hits_on_permutations_what_theory_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
