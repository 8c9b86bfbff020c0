/* What the kernel keeps in place of the pool: cache/lent.h. A kernel that keeps what was used last,
 * as far as it has room, is played by the simplest that does so. */
#include "cache/lent.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define FILES 4000
#define SIZE  100000u
#define PAGES ((uint64_t)(SIZE + 4095) / 4096 * 4096)
#define ROOM  2000 /* files that may be lent */

struct world {
	struct lent *lent;
	unsigned room;		     /* files that the kernel has room for */
	unsigned cached;	     /* and has */
	uint64_t clock, used[FILES]; /* when; 0: it does not have it */
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->room = FILES;
	assert_int_equal(lent_new(FILES, ROOM * PAGES, &w->lent), 0);
	srandom(1);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	lent_free(w->lent);
	free(w);
	return 0;
}

static void forget(struct world *w, unsigned file)
{
	w->cached -= w->used[file] > 0;
	w->used[file] = 0;
}

static void forget_oldest(struct world *w)
{
	unsigned oldest = 0;

	for (unsigned file = 0; file < FILES; file++)
		if (w->used[file] && (!w->used[oldest] || w->used[file] < w->used[oldest]))
			oldest = file;
	forget(w, oldest);
}

/* Returns whether the kernel had it. */
static bool use(struct world *w, unsigned file)
{
	bool had = w->used[file] > 0;

	w->cached += !had;
	w->used[file] = ++w->clock;
	if (!had) {
		lent_asked(w->lent, file, SIZE, true);
		if (lent_take(w->lent, file, SIZE))
			lent_served(w->lent, file);
		else
			forget(w, file);
	}
	while (w->cached > w->room)
		forget_oldest(w);
	return had;
}

/* Each file once, in any order. Returns how many the kernel had. */
static unsigned epoch(struct world *w)
{
	unsigned order[FILES], hits = 0;

	for (unsigned i = 0; i < FILES; i++) {
		unsigned j = (unsigned)random() % (i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (unsigned i = 0; i < FILES; i++)
		hits += use(w, order[i]);
	return hits;
}

static uint64_t files_lent(const struct world *w)
{
	assert_int_equal(lent_bytes(w->lent) % PAGES, 0);
	assert_true(lent_bytes(w->lent) <= lent_limit(w->lent));
	assert_true(lent_limit(w->lent) <= ROOM * PAGES);
	return lent_bytes(w->lent) / PAGES;
}

static void what_came_first_stays(void **state)
{
	struct world *w = *state;

	for (unsigned round = 0; round < 2; round++)
		for (unsigned file = 0; file < FILES; file++)
			assert_int_equal(use(w, file), round > 0 && file < ROOM);
	for (unsigned file = 0; file < FILES; file++)
		assert_int_equal(lent_has(w->lent, file), file < ROOM);
}

static void every_epoch_finds_all_that_was_lent(void **state)
{
	struct world *w = *state;

	assert_int_equal(epoch(w), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(epoch(w), ROOM);
}

/* Left alone, such a kernel with room for f = 1/4 would find f + (1 - f) ln (1 - f): 1 in 30. */
static void a_kernel_with_less_room_is_lent_what_it_can_keep(void **state)
{
	struct world *w = *state;

	w->room = ROOM / 2;
	for (unsigned i = 0; i < 3; i++)
		epoch(w);
	for (unsigned i = 0; i < 5; i++) {
		unsigned hits = epoch(w);

		assert_true(hits >= w->room * 9 / 10 && hits <= w->room);
		assert_true(files_lent(w) <= w->room * 11 / 10);
	}
}

static void after_a_moment_of_need_the_share_comes_back(void **state)
{
	struct world *w = *state;

	epoch(w);
	for (unsigned file = 0; file < FILES; file++)
		forget(w, file);
	epoch(w); /* finds out */
	assert_true(files_lent(w) < ROOM / 4);
	for (unsigned i = 0; i < 4; i++)
		epoch(w);
	assert_true(epoch(w) >= ROOM * 9 / 10);
}

static void a_stray_loss_costs_as_much(void **state)
{
	struct world *w = *state;

	epoch(w);
	for (unsigned file = 0; file < FILES; file += 100)
		forget(w, file);
	epoch(w);
	assert_true(files_lent(w) >= ROOM - FILES / 100);
	assert_true(epoch(w) >= ROOM - FILES / 100);
}

static void nothing_lent_stays_nothing(void **state)
{
	struct lent *lent;

	(void)state;
	assert_int_equal(lent_new(FILES, 0, &lent), 0);
	for (unsigned recent = 0; recent < 2; recent++) {
		lent_recent(lent, recent);
		for (unsigned file = 0; file < FILES; file++) {
			lent_asked(lent, file, SIZE, true);
			assert_false(lent_take(lent, file, SIZE));
		}
	}
	assert_int_equal(lent_bytes(lent), 0);
	assert_int_equal(lent_limit(lent), 0);
	lent_free(lent);
}

static void who_is_lent_all_keeps_all_without_a_note(void **state)
{
	struct lent *lent;

	(void)state;
	assert_int_equal(lent_new(FILES, LENT_ALL, &lent), 0);
	for (unsigned file = 0; file < FILES; file++) {
		lent_asked(lent, file, SIZE, true);
		assert_true(lent_take(lent, file, SIZE));
		lent_served(lent, file);
		assert_false(lent_has(lent, file));
	}
	assert_int_equal(lent_bytes(lent), 0);
	lent_free(lent);
}

static void what_was_used_last_is_kept_when_told_and_then_a_new_share(void **state)
{
	struct world *w = *state;

	epoch(w);
	lent_recent(w->lent, true);
	assert_int_equal(files_lent(w), 0);
	for (unsigned file = 0; file < FILES; file++) {
		use(w, file);
		assert_true(w->used[file] > 0);
		assert_false(lent_has(w->lent, file));
	}
	lent_recent(w->lent, false);
	for (unsigned file = 0; file < FILES; file++)
		forget(w, file);
	assert_int_equal(epoch(w), 0);
	assert_int_equal(epoch(w), ROOM);
}

#define world_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(what_came_first_stays),
		world_test(every_epoch_finds_all_that_was_lent),
		world_test(a_kernel_with_less_room_is_lent_what_it_can_keep),
		world_test(after_a_moment_of_need_the_share_comes_back),
		world_test(a_stray_loss_costs_as_much),
		cmocka_unit_test(nothing_lent_stays_nothing),
		cmocka_unit_test(who_is_lent_all_keeps_all_without_a_note),
		world_test(what_was_used_last_is_kept_when_told_and_then_a_new_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
