/* What the kernel keeps in place of the pool: cache/residency.h. A kernel that keeps what was used
 * last, as far as it has room, is played by the simplest that does so. */
#include "cache/residency.h"
#include "tests/unit/story.h"
#include <stdlib.h>

#define FILES  4000
#define SIZE   100000u
#define PAGE   4096u
#define PAGES  ((uint64_t)(SIZE + PAGE - 1) / PAGE * PAGE)
#define PROBES 8    /* in an epoch */
#define ROOM   2000 /* files that may be residency */

struct world {
	struct residency *residency;
	unsigned room;		     /* files that the kernel has room for */
	unsigned cached;	     /* and has */
	uint64_t clock, used[FILES]; /* when; 0: it does not have it */
};

static struct world *the_world;

static void setup(struct world *w)
{
	the_world = w;
	w->room = FILES;
	assert_int_equal(residency_new(FILES, ROOM * PAGES, PAGE, &w->residency), 0);
	srandom(1);
}

static void teardown(struct world *w)
{
	residency_free(w->residency);
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
	uint64_t probe;

	w->cached += !had;
	w->used[file] = ++w->clock;
	if (!had) {
		residency_asked(w->residency, file, SIZE, true);
		if (residency_take(w->residency, file, SIZE))
			residency_served(w->residency, file);
		else
			forget(w, file);
		if (residency_probe(w->residency, &probe)) {
			residency_release(w->residency, probe, SIZE);
			forget(w, (unsigned)probe);
		}
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

static uint64_t files_in_share(const struct world *w)
{
	assert_int_equal(residency_bytes(w->residency) % PAGES, 0);
	assert_true(residency_bytes(w->residency) <= residency_limit(w->residency));
	assert_true(residency_limit(w->residency) <= ROOM * PAGES);
	return residency_bytes(w->residency) / PAGES;
}

FIXTURE(w, struct world, setup, teardown);

/* In stories: files that the kernel has room for; it forgets some; epochs, and what the kernel had
 * in the last. */
static unsigned found;

DOES(room, the_world->room = (unsigned)n[0])
GET(hits, found)
GET(share, files_in_share(the_world))

DO(epochs)
{
	for (uint64_t i = 0; i < n[0]; i++)
		found = epoch(the_world);
}

DO(forget)
{
	for (uint64_t file = n[0]; file < n[1]; file += n[2] ? n[2] : 1)
		forget(the_world, (unsigned)file);
}

#define ALL_BUT_PROBES "hits >= 1992; hits <= 2000; "

TEST_OF(w, what_came_first_stays)
{
	unsigned missing = 0;

	for (unsigned round = 0; round < 2; round++)
		for (unsigned file = 0; file < FILES; file++)
			missing += use(w, file) != (round > 0 && file < ROOM);
	assert_true(missing <= 2 * PROBES);
	missing = 0;
	for (unsigned file = 0; file < FILES; file++)
		missing += file < ROOM && !residency_has(w->residency, file);
	assert_true(missing <= 2 * PROBES);
}

STORY_OF(w, every_epoch_finds_all_of_the_share_but_the_probes,
	 "epochs 1; hits = 0; epochs 1; " ALL_BUT_PROBES "epochs 1; " ALL_BUT_PROBES
	 "epochs 1; " ALL_BUT_PROBES)

/* Left alone, such a kernel with room for f = 1/4 would find f + (1 - f) ln (1 - f): 1 in 30. */
STORY_OF(w, the_share_of_a_kernel_with_less_room_is_what_it_can_keep,
	 "room 1000; epochs 3; epochs 1; hits >= 900; hits <= 1000; share <= 1100; epochs 1; "
	 "hits >= 900; hits <= 1000; share <= 1100; epochs 3; hits >= 900; hits <= 1000; "
	 "share <= 1100")

STORY_OF(w, after_a_moment_of_need_the_share_comes_back, /* the first epoch finds out */
	 "epochs 1; forget 0-4000; epochs 1; share < 500; epochs 5; hits >= 1800")

STORY_OF(w, a_stray_loss_costs_as_much,
	 "epochs 1; forget 0-4000 100; epochs 1; share >= 1960; epochs 1; hits >= 1960")

/* A probe that is used early in one epoch and late in the next is asked for as well. */
TEST_OF(w, a_share_that_is_in_use_stays_whatever_the_kernel_drops)
{
	story_play("epochs 1; forget 0-4000");
	for (unsigned i = 1; i < 10; i++)
		story_play("epochs 1; forget 0-4000; share < 1000");
	story_play("epochs 10; epochs 1; " ALL_BUT_PROBES);
}

TEST_OF(w, a_share_that_nobody_asks_for_begins_anew)
{
	unsigned hits = 0;

	for (unsigned round = 0; round < 2; round++)
		for (unsigned file = 0; file < ROOM; file++)
			use(w, file);
	for (unsigned file = 0; file < ROOM; file++)
		forget(w, file); /* in a moment of need, without anybody seeing it */
	assert_int_equal(files_in_share(w), ROOM);
	for (unsigned round = 0; round < 8; round++)
		for (unsigned file = ROOM; file < FILES; file++)
			use(w, file);
	for (unsigned file = ROOM; file < FILES; file++)
		hits += use(w, file);
	assert_in_range(hits, ROOM - 2 * PROBES, ROOM);
}

TEST(a_share_of_nothing_stays_nothing)
{
	struct residency *residency;

	assert_int_equal(residency_new(FILES, 0, PAGE, &residency), 0);
	for (unsigned recent = 0; recent < 2; recent++) {
		residency_recent(residency, recent);
		for (unsigned file = 0; file < FILES; file++) {
			residency_asked(residency, file, SIZE, true);
			assert_false(residency_take(residency, file, SIZE));
		}
	}
	assert_int_equal(residency_bytes(residency), 0);
	assert_int_equal(residency_limit(residency), 0);
	residency_free(residency);
}

TEST_OF(w, what_was_served_in_full_is_kept_until_it_is_released)
{
	assert_null(residency_kept(w->residency));
	assert_true(residency_take(w->residency, 9, SIZE));
	assert_false(residency_is_kept(w->residency, 9));
	residency_served(w->residency, 9);
	residency_served(w->residency, 10); /* not in the share */
	assert_true(residency_is_kept(w->residency, 9));
	assert_int_equal(residency_kept(w->residency)[1], 1 << 1);
	residency_release(w->residency, 9, SIZE);
	assert_null(residency_kept(w->residency));
	assert_false(residency_is_kept(w->residency, 9));
}

TEST_OF(w, probes_go_round_the_share)
{
	uint64_t probe, probes = 0;

	for (unsigned file = 0; file < ROOM; file++)
		residency_take(w->residency, file, SIZE);
	while (probes < PROBES)
		if (residency_probe(w->residency, &probe))
			assert_int_equal(probe, 8 * probes++);
}

/* As on machines of 64 KiB: a file of a byte takes one. */
TEST(what_the_kernel_keeps_is_counted_in_its_own_pages)
{
	enum { LARGE = 65536 };
	struct residency *residency;

	assert_int_equal(residency_new(FILES, (uint64_t)3 * LARGE, LARGE, &residency), 0);
	assert_true(residency_take(residency, 0, 1));
	assert_true(residency_take(residency, 1, LARGE + 1));
	assert_false(residency_take(residency, 2, 1));
	assert_int_equal(residency_bytes(residency), 3 * LARGE);
	residency_release(residency, 1, LARGE + 1);
	assert_int_equal(residency_bytes(residency), LARGE);
	residency_free(residency);
}

TEST(a_kernel_that_keeps_all_keeps_it_without_a_note)
{
	struct residency *residency;

	assert_int_equal(residency_new(FILES, RESIDENCY_ALL, PAGE, &residency), 0);
	for (unsigned file = 0; file < FILES; file++) {
		residency_asked(residency, file, SIZE, true);
		assert_true(residency_take(residency, file, SIZE));
		residency_served(residency, file);
		assert_false(residency_has(residency, file));
	}
	assert_int_equal(residency_bytes(residency), 0);
	residency_free(residency);
}

TEST_OF(w, what_was_used_last_is_kept_when_told_and_then_a_new_share)
{
	epoch(w);
	assert_false(residency_is_recent(w->residency));
	residency_recent(w->residency, true);
	assert_true(residency_is_recent(w->residency));
	assert_int_equal(files_in_share(w), 0);
	for (unsigned file = 0; file < FILES; file++) {
		use(w, file);
		assert_true(w->used[file] > 0);
		assert_false(residency_has(w->residency, file));
	}
	residency_recent(w->residency, false);
	for (unsigned file = 0; file < FILES; file++)
		forget(w, file);
	assert_int_equal(epoch(w), 0);
	assert_in_range(epoch(w), ROOM - PROBES, ROOM);
}
