/* Which policy the duel chooses for which way to read, and when it changes its mind. */
#include "cache/duel.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define EXTENTS_MAX 100000u

/* --- readers ---------------------------------------------------------------------------------- */

/* A duel, and a cache in full size that goes by its verdicts. */
struct world {
	uint32_t extents;
	struct duel *duel;
	const struct policy_ops *last; /* verdict */
	unsigned changes;	       /* of it */
	uint32_t order[EXTENTS_MAX];   /* of an epoch */

	struct policy policy;
	struct policy_node nodes[EXTENTS_MAX];
	bool held[EXTENTS_MAX];
	uint32_t room, hits;
};

static struct world *world_new(uint32_t extents, uint32_t capacity)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	srandom(5);
	assert_int_equal(duel_new(extents, capacity, 1, &w->duel), 0);
	w->extents = extents;
	w->room = capacity;
	w->last = duel_winner(w->duel);
	w->last->init(&w->policy);
	for (uint32_t i = 0; i < extents; i++)
		w->order[i] = i;
	return w;
}

static void world_free(struct world *w)
{
	duel_free(w->duel);
	free(w);
}

static void make_room(struct world *w)
{
	struct policy_node *victim = w->last->victim(&w->policy);

	w->last->withdraw(&w->policy, victim);
	w->held[victim - w->nodes] = false;
	w->room++;
}

static void use(struct world *w, uint32_t extent)
{
	struct policy_node *node = &w->nodes[extent];

	duel_use(w->duel, extent);
	w->changes += duel_winner(w->duel) != w->last;
	w->last = duel_winner(w->duel);
	if (w->held[extent]) {
		w->last->withdraw(&w->policy, node);
		w->hits++;
	} else {
		if (!w->room)
			make_room(w);
		w->room--;
	}
	w->held[extent] = true;
	node->use = POLICY_SPENT;
	w->last->offer(&w->policy, node);
}

static void shuffle(uint32_t *order, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)random() % i, swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
}

/* Once over `count` extents from place `from` of the order on. Returns the share of hits. */
static double loop(struct world *w, uint32_t from, uint32_t count)
{
	uint32_t before = w->hits;

	for (uint32_t i = from; i < from + count; i++)
		use(w, w->order[i]);
	return (double)(w->hits - before) / count;
}

static double epoch(struct world *w, uint32_t from, uint32_t count)
{
	shuffle(w->order + from, count);
	return loop(w, from, count);
}

static void looped(struct world *w, unsigned rounds)
{
	while (rounds--)
		loop(w, 0, w->extents);
}

static void shuffled(struct world *w, unsigned rounds)
{
	while (rounds--)
		epoch(w, 0, w->extents);
}

/* Drawn with replacement; who is popular is as the order was shuffled. Rank k has a probability
 * of about 1 / (k ln N): N^u for a u of 0 .. 1. */
static void zipf(struct world *w, unsigned rounds)
{
	for (uint32_t i = 0; i < rounds * w->extents; i++) {
		double u = (double)random() / ((double)RAND_MAX + 1);

		use(w, w->order[(uint32_t)pow(w->extents, u) - 1]);
	}
}

/* Four of five uses are of one tenth of the extents. */
static uint32_t hot_one(const struct world *w, uint32_t count)
{
	return w->order[(uint32_t)random() % (random() % 5 ? count / 10 : count)];
}

static void hot(struct world *w, unsigned rounds)
{
	for (uint32_t i = 0; i < rounds * w->extents; i++)
		use(w,
		    w->order[(uint32_t)random() % (random() % 5 ? w->extents / 10 : w->extents)]);
}

static void even(struct world *w, unsigned rounds)
{
	for (uint32_t i = 0; i < rounds * w->extents; i++)
		use(w, (uint32_t)random() % w->extents);
}

/* --- verdicts --------------------------------------------------------------------------------- */

static const uint32_t sizes[] = {150, 1500, 20000, EXTENTS_MAX};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* In rooms of 10, 30 and 50 % the reader leads to the winner, in `changes`, whatever the size. */
static void assert_verdict(void (*reader)(struct world *, unsigned), const struct policy_ops *ops,
			   unsigned changes)
{
	for (size_t i = 0; i < SIZES; i++) {
		for (uint32_t percent = 10; percent <= 50; percent += 20) {
			struct world *w = world_new(sizes[i], sizes[i] / 100 * percent);

			shuffle(w->order, sizes[i]);
			reader(w, 8);
			assert_ptr_equal(duel_winner(w->duel), ops);
			assert_int_equal(w->changes, changes);
			world_free(w);
		}
	}
}

static void pin_comes_first(void **state)
{
	struct world *w = world_new(10, 5);

	(void)state;
	assert_ptr_equal(duel_winner(w->duel), &policy_pin);
	world_free(w);
}

static void shuffled_epochs_are_for_pin(void **state)
{
	(void)state;
	assert_verdict(shuffled, &policy_pin, 0);
}

static void loops_are_for_pin(void **state)
{
	(void)state;
	assert_verdict(looped, &policy_pin, 0);
}

static void popular_extents_are_for_lru(void **state)
{
	(void)state;
	assert_verdict(zipf, &policy_lru, 1);
	assert_verdict(hot, &policy_lru, 1);
}

/* Any policy hits the same: the difference is chance, and chance changes nothing. */
static void where_both_are_as_good_nothing_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		struct world *w = world_new(sizes[i], sizes[i] / 2);

		even(w, 40);
		assert_int_equal(w->changes, 0);
		world_free(w);
	}
}

static void where_all_fits_in_nothing_changes(void **state)
{
	struct world *w = world_new(5000, 6000);

	(void)state;
	shuffled(w, 3);
	zipf(w, 3);
	even(w, 3);
	assert_int_equal(w->changes, 0);
	assert_int_equal(w->hits, 8 * 5000);
	world_free(w);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void the_verdict_follows_the_reader(void **state)
{
	struct world *w = world_new(20000, 6000);

	(void)state;
	for (unsigned turn = 0; turn < 3; turn++) {
		shuffled(w, 5);
		assert_ptr_equal(duel_winner(w->duel), &policy_pin);
		zipf(w, 3);
		assert_ptr_equal(duel_winner(w->duel), &policy_lru);
	}
	assert_int_equal(w->changes, 5);
	world_free(w);
}

static void a_clear_case_need_not_wait_for_the_end_of_an_epoch(void **state)
{
	struct world *w = world_new(20000, 4000);

	(void)state;
	shuffled(w, 3);
	for (uint32_t i = 0; i < 15000; i++)
		use(w, hot_one(w, 20000));
	assert_ptr_equal(duel_winner(w->duel), &policy_lru);
	world_free(w);
}

/* Such as the first extents of files that have eight each. */
static void extents_at_even_distances_are_followed_too(void **state)
{
	struct world *w = world_new(80000, 2000);

	(void)state;
	shuffle(w->order, 10000);
	for (unsigned i = 0; i < 3 * 80000; i++)
		use(w, hot_one(w, 10000) * 8 + 1);
	assert_ptr_equal(duel_winner(w->duel), &policy_lru);
	world_free(w);
}

/* 200 spells, each a tenth as long as an epoch, in turn of the one kind and of the other: which
 * is chosen is open, but it is not changed with each spell. */
static void short_spells_do_not_make_it_flutter(void **state)
{
	struct world *w = world_new(20000, 6000);

	(void)state;
	for (unsigned spell = 0; spell < 100; spell++) {
		epoch(w, spell % 10 * 2000, 2000);
		for (uint32_t i = 0; i < 2000; i++)
			use(w, (uint32_t)random() % 1000);
	}
	assert_true(w->changes <= 3);
	world_free(w);
}

/* The fifth that validation reads is not in memory, and pin is right all the same. */
static void validation_after_each_epoch_is_for_pin(void **state)
{
	struct world *w = world_new(20000, 6000);

	(void)state;
	shuffle(w->order, 20000);
	for (unsigned round = 0; round < 10; round++) {
		epoch(w, 0, 16000);
		epoch(w, 16000, 4000);
	}
	assert_int_equal(w->changes, 0);
	world_free(w);
}

/* Training goes on with the other half of the files. pin alone would keep what it has, and hit
 * nothing (test_policy.c): lru takes over until what is held is in use, then pin is back. */
static void assert_starts_anew(double (*round)(struct world *, uint32_t, uint32_t))
{
	struct world *w = world_new(20000, 5000);

	shuffle(w->order, 20000);
	for (unsigned i = 0; i < 4; i++)
		round(w, 0, 10000);
	assert_true(fabs(round(w, 0, 10000) - 0.5) < 0.01);
	assert_int_equal(w->changes, 0);
	for (unsigned i = 0; i < 6; i++)
		round(w, 10000, 10000);
	assert_true(fabs(round(w, 10000, 10000) - 0.5) < 0.01);
	assert_ptr_equal(duel_winner(w->duel), &policy_pin);
	assert_int_equal(w->changes, 2);
	world_free(w);
}

static void after_a_change_of_files_pin_starts_anew(void **state)
{
	(void)state;
	assert_starts_anew(epoch);
	assert_starts_anew(loop);
}

/* The files before were a twentieth, and a window is about an epoch of the others: wherever in
 * it lru takes over, and however little of what it holds the rest of the epoch will use. */
static void the_moment_of_the_change_does_not_matter(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct world *w = world_new(20000, 1000);

		shuffle(w->order, 20000);
		epoch(w, 0, 1000);
		epoch(w, 0, 1000);
		loop(w, 1000, 1900 * i);
		for (unsigned j = 0; j < 7; j++)
			epoch(w, 1000, 19000);
		assert_true(fabs(epoch(w, 1000, 19000) - 1.0 / 19) < 0.001);
		assert_ptr_equal(duel_winner(w->duel), &policy_pin);
		world_free(w);
	}
}

/* --- limits ----------------------------------------------------------------------------------- */

static void any_size_is_fine(void **state)
{
	static const uint64_t counts[] = {1, 2, 1023, 2047, 2048, 2049, 4097, UINT64_C(1) << 40};
	static const uint64_t capacities[] = {0, 1, 2000, UINT64_C(1) << 39, UINT64_MAX};
	struct duel *duel;

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (size_t j = 0; j < sizeof(capacities) / sizeof(capacities[0]); j++) {
			assert_int_equal(duel_new(counts[i], capacities[j], 1, &duel), 0);
			for (uint64_t k = 0; k < 10000; k++)
				duel_use(duel, k * 0x9e3779b97f4a7c15u % counts[i]);
			duel_use(duel, counts[i] - 1);
			duel_free(duel);
		}
	}
	assert_int_equal(duel_new(0, 1, 1, &duel), 0); /* an empty pack */
	duel_free(duel);
	duel_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pin_comes_first),
		cmocka_unit_test(shuffled_epochs_are_for_pin),
		cmocka_unit_test(loops_are_for_pin),
		cmocka_unit_test(popular_extents_are_for_lru),
		cmocka_unit_test(where_both_are_as_good_nothing_changes),
		cmocka_unit_test(where_all_fits_in_nothing_changes),
		cmocka_unit_test(the_verdict_follows_the_reader),
		cmocka_unit_test(a_clear_case_need_not_wait_for_the_end_of_an_epoch),
		cmocka_unit_test(extents_at_even_distances_are_followed_too),
		cmocka_unit_test(short_spells_do_not_make_it_flutter),
		cmocka_unit_test(validation_after_each_epoch_is_for_pin),
		cmocka_unit_test(after_a_change_of_files_pin_starts_anew),
		cmocka_unit_test(the_moment_of_the_change_does_not_matter),
		cmocka_unit_test(any_size_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
