/* The arena of slots: cache/slots.h. */
#include "cache/slots.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)
#define REGION	  (HUGE_PAGE / SLOT_BYTES) /* slots of a huge page */

TEST(sizes_are_rounded_up_to_slots)
{
	assert_int_equal(slots_needed(0), 0);
	assert_int_equal(slots_needed(1), 1);
	assert_int_equal(slots_needed(SLOT_BYTES), 1);
	assert_int_equal(slots_needed(SLOT_BYTES + 1), 2);
	assert_int_equal(slots_needed(1u << 20), 64);
}

TEST(an_arena_that_cannot_be_is_refused)
{
	struct slots slots;

	assert_int_equal(slots_init(&slots, 0), -ENOMEM);
	assert_int_equal(slots_init(&slots, SLOT_BYTES - 1), -ENOMEM);
	assert_int_equal(slots_init(&slots, UINT64_MAX), -ENOMEM);
}

FIXTURE(slots, struct slots, (void), slots_release);

TEST_OF(slots, half_a_slot_is_no_slot)
{
	assert_int_equal(slots_init(slots, 5 * SLOT_BYTES + SLOT_BYTES / 2), 0);
	assert_int_equal(slots_fresh(slots), 5);
}

TEST_OF(slots, all_of_a_released_arena_is_gone)
{
	assert_int_equal(slots_init(slots, 8 * SLOT_BYTES), 0);
	slots_release(slots);
	assert_null(slots->arena);
	assert_int_equal(slots_fresh(slots), 0);
	slots_release(slots); /* harmless */
}

static bool resident(char *page)
{
	unsigned char in = 0;

	assert_int_equal(mincore(page, 1, &in), 0);
	return in & 1;
}

TEST_OF(slots, memory_is_aligned_to_huge_pages_and_comes_with_first_use)
{
	const uint32_t count = (16u << 20) / SLOT_BYTES;

	assert_int_equal(slots_init(slots, (uint64_t)count * SLOT_BYTES), 0);
	assert_int_equal((uintptr_t)slots_at(slots, 0) % HUGE_PAGE, 0);
	assert_false(resident(slots_at(slots, 0)));
	slots_at(slots, 0)[0] = 1;
	assert_true(resident(slots_at(slots, 0)));
	assert_false(resident(slots_at(slots, count - 1)));
}

TEST_OF(slots, every_byte_of_every_slot_can_be_used)
{
	uint32_t chain[130];

	assert_int_equal(slots_init(slots, 130 * SLOT_BYTES), 0);
	slots_take(slots, chain, 130);
	assert_int_equal(slots_fresh(slots), 0);
	for (uint32_t i = 0; i < 130; i++)
		memset(slots_at(slots, chain[i]), (int)i, SLOT_BYTES);
	for (uint32_t i = 0; i < 130; i++)
		for (uint32_t j = 0; j < SLOT_BYTES; j += SLOT_BYTES - 1)
			assert_int_equal((unsigned char)slots_at(slots, chain[i])[j], i);
}

TEST_OF(slots, used_slots_are_taken_before_fresh_ones)
{
	uint32_t first[3], second[5];

	assert_int_equal(slots_init(slots, 10 * SLOT_BYTES), 0);
	slots_take(slots, first, 3);
	assert_int_equal(slots_fresh(slots), 7);
	assert_int_equal(slots_used_free(slots), 0);
	slots_give(slots, first, 3);
	assert_int_equal(slots_used_free(slots), 3);
	slots_take(slots, second, 5);
	assert_memory_equal(first, second, sizeof(first));
	assert_int_equal(second[3], 3);
	assert_int_equal(slots_fresh(slots), 5);
	assert_int_equal(slots_used_free(slots), 0);
}

TEST_OF(slots, what_was_given_back_last_is_taken_first)
{
	uint32_t a[2], b[2], next[4];

	assert_int_equal(slots_init(slots, 4 * SLOT_BYTES), 0);
	slots_take(slots, a, 2);
	slots_take(slots, b, 2);
	slots_give(slots, b, 2);
	slots_give(slots, a, 2);
	slots_take(slots, next, 4);
	assert_memory_equal(next, a, sizeof(a));
	assert_memory_equal(next + 2, b, sizeof(b));
}

/* The arena of so many regions, all taken in order and written to. */
static void make_full(struct slots *slots, uint32_t *chain, uint32_t regions)
{
	assert_int_equal(slots_init(slots, (uint64_t)regions * HUGE_PAGE), 0);
	slots_take(slots, chain, regions * REGION);
	for (uint32_t i = 0; i < regions * REGION; i++) {
		assert_int_equal(chain[i], i);
		memset(slots_at(slots, i), (int)(1 + i % 255), SLOT_BYTES);
	}
}

/* How many slots of the arena have memory, as the kernel sees it. */
static uint32_t resident_slots(const struct slots *slots)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < slots->count; i++)
		count += resident(slots_at(slots, i));
	return count;
}

/* Returns how many were warm. */
static uint32_t discard(struct slots *slots, uint32_t count)
{
	uint32_t held = slots_held(slots);
	struct slots_leaving *leaving = slots_choose(slots, count);

	slots_hand_back(slots, leaving);
	slots_discarded(slots, leaving);
	return held - slots_held(slots);
}

static void give_run(struct slots *slots, uint32_t from, uint32_t count)
{
	for (uint32_t slot = from; slot < from + count; slot++)
		slots_give(slots, &slot, 1);
}

TEST_OF(slots, discarded_memory_goes_back_to_the_system)
{
	uint32_t chain[4 * REGION];

	make_full(slots, chain, 4);
	assert_int_equal(resident_slots(slots), 4 * REGION);
	slots_give(slots, chain, 4 * REGION);
	assert_int_equal(resident_slots(slots), 4 * REGION);
	assert_int_equal(discard(slots, 2 * REGION), 2 * REGION);
	assert_int_equal(resident_slots(slots), 2 * REGION);
	assert_int_equal(slots_held(slots), 2 * REGION);
	assert_int_equal(slots_fresh(slots), 2 * REGION);
	assert_int_equal(discard(slots, UINT32_MAX), 2 * REGION);
	assert_int_equal(resident_slots(slots), 0);
	assert_int_equal(discard(slots, 1), 0);
}

TEST_OF(slots, what_is_in_use_is_not_discarded)
{
	uint32_t chain[2 * REGION];

	make_full(slots, chain, 2);
	for (uint32_t i = 0; i < 2 * REGION; i += 2)
		slots_give(slots, &chain[i], 1);
	assert_int_equal(discard(slots, UINT32_MAX), REGION);
	assert_int_equal(resident_slots(slots), REGION);
	for (uint32_t i = 1; i < 2 * REGION; i += 2)
		for (uint32_t j = 0; j < SLOT_BYTES; j++)
			assert_int_equal((unsigned char)slots_at(slots, i)[j], 1 + i % 255);
}

TEST_OF(slots, whole_huge_pages_are_discarded_first)
{
	uint32_t chain[4 * REGION];

	make_full(slots, chain, 4);
	give_run(slots, 5, 2);		     /* of region 0 */
	give_run(slots, 2 * REGION, REGION); /* region 2 */
	assert_int_equal(discard(slots, REGION), REGION);
	assert_true(resident(slots_at(slots, 5)));
	assert_false(resident(slots_at(slots, 2 * REGION)));
	assert_false(resident(slots_at(slots, 3 * REGION - 1)));
	assert_int_equal(slots_used_free(slots), 2);
}

TEST_OF(slots, the_last_huge_page_goes_as_a_whole)
{
	uint32_t chain[2 * REGION];

	make_full(slots, chain, 2);
	slots_give(slots, chain, 2 * REGION);
	assert_int_equal(discard(slots, 1), REGION);
	assert_int_equal(resident_slots(slots), REGION);
}

TEST_OF(slots, what_was_never_used_does_not_keep_a_huge_page)
{
	uint32_t chain[REGION / 2];

	assert_int_equal(slots_init(slots, 2 * HUGE_PAGE), 0);
	slots_take(slots, chain, REGION / 2);
	slots_give(slots, chain, REGION / 2);
	assert_int_equal(discard(slots, 1), REGION / 2);
	assert_int_equal(slots_fresh(slots), 2 * REGION);
}

TEST_OF(slots, a_huge_page_in_pieces_loses_more_before_another_is_split)
{
	uint32_t chain[2 * REGION];

	make_full(slots, chain, 2);
	give_run(slots, REGION + 3, 1);
	assert_int_equal(discard(slots, 1), 1);
	give_run(slots, 9, 1);
	give_run(slots, REGION + 9, 1);
	assert_int_equal(discard(slots, 1), 1);
	assert_true(resident(slots_at(slots, 9)));
	assert_false(resident(slots_at(slots, REGION + 9)));
}

TEST_OF(slots, warm_slots_are_taken_before_cold_before_fresh)
{
	uint32_t chain[2 * REGION], next[4];

	assert_int_equal(slots_init(slots, 3 * HUGE_PAGE), 0);
	slots_take(slots, chain, 2 * REGION);
	give_run(slots, 1, 1);
	give_run(slots, 70, 1);
	assert_int_equal(discard(slots, 2), 2);
	give_run(slots, 90, 1);
	slots_take(slots, next, 4);
	assert_int_equal(next[0], 90);
	assert_int_equal(next[1], 1);
	assert_int_equal(next[2], 70);
	assert_int_equal(next[3], 2 * REGION);
	assert_int_equal(slots_fresh(slots), REGION - 1);
}

TEST_OF(slots, what_stays_warm_keeps_its_order)
{
	uint32_t chain[2 * REGION], next[3];

	make_full(slots, chain, 2);
	give_run(slots, 30, 1);
	give_run(slots, REGION, REGION);
	give_run(slots, 20, 1);
	give_run(slots, 40, 1);
	assert_int_equal(discard(slots, REGION), REGION);
	slots_take(slots, next, 3);
	assert_int_equal(next[0], 40);
	assert_int_equal(next[1], 20);
	assert_int_equal(next[2], 30);
}

/* The first slot that is used of a huge page that was handed back brings all of it. */
TEST_OF(slots, what_came_with_a_neighbour_goes_with_it)
{
	uint32_t chain[REGION], slot;

	make_full(slots, chain, 1);
	slots_give(slots, chain, REGION);
	assert_int_equal(discard(slots, REGION), REGION);
	slots_take(slots, &slot, 1);
	memset(slots_at(slots, 0), 1, HUGE_PAGE);
	slots_give(slots, &slot, 1);
	assert_int_equal(discard(slots, 1), 1);
	assert_int_equal(resident_slots(slots), 0);
}

/* Of pages of 64 KiB, which this machine need not have. */
TEST_OF(slots, a_page_goes_only_when_nothing_in_it_is_in_use)
{
	uint32_t chain[REGION];

	make_full(slots, chain, 1);
	slots->unit = 4;
	give_run(slots, 1, 10); /* 1..10: of the pages 0..3, 4..7 and 8..11 */
	assert_int_equal(discard(slots, 10), 4);
	for (uint32_t slot = 0; slot < 12; slot++)
		assert_int_equal(resident(slots_at(slots, slot)), slot < 4 || slot > 7);
	slots_take(slots, chain, 6); /* all that are warm */
	slots_take(slots, chain + 6, 1);
	memset(slots_at(slots, chain[6]), 1, SLOT_BYTES); /* of the page that went */
	give_run(slots, 100, 4);
	assert_int_equal(discard(slots, 4), 4);
	assert_true(resident(slots_at(slots, chain[6])));
}

/* An arena need not end where a huge page does. */
TEST_OF(slots, the_end_of_an_arena_can_be_discarded)
{
	uint32_t chain[REGION + 3];

	assert_int_equal(slots_init(slots, (REGION + 3) * SLOT_BYTES), 0);
	slots_take(slots, chain, REGION + 3);
	for (uint32_t i = 0; i < REGION + 3; i++)
		*slots_at(slots, i) = 1;
	slots_give(slots, chain, REGION + 3);
	assert_int_equal(discard(slots, UINT32_MAX), REGION + 3);
	assert_int_equal(resident_slots(slots), 0);
	slots_take(slots, chain, REGION + 3);
	assert_int_equal(slots_fresh(slots), 0);
}

static struct slots_leaving *choose_some(struct slots *slots)
{
	uint32_t before = slots_used_free(slots), wanted = (uint32_t)random() % 100;
	struct slots_leaving *leaving = slots_choose(slots, wanted);

	assert_true(before - slots_used_free(slots) >= (wanted < before ? wanted : before));
	return leaving;
}

/* Ten thousand random chains, and memory handed back now and then, while others take and give: no
 * slot ever belongs to two, each keeps what its owner wrote, and all are accounted for. */
TEST_OF(slots, no_slot_has_two_owners)
{
	enum { SLOTS = 700, CHAINS = 150 };
	uint32_t chains[CHAINS][8], counts[CHAINS] = {0}, taken = 0;
	struct slots_leaving *leaving = NULL;
	bool owned[SLOTS] = {false};

	srandom(1);
	assert_int_equal(slots_init(slots, SLOTS * SLOT_BYTES), 0);
	for (int round = 0; round < 10000; round++) {
		long c = random() % CHAINS;

		if (counts[c]) {
			slots_give(slots, chains[c], counts[c]);
			for (uint32_t i = 0; i < counts[c]; i++) {
				assert_int_equal(*slots_at(slots, chains[c][i]), (char)c);
				owned[chains[c][i]] = false;
			}
			taken -= counts[c];
			counts[c] = 0;
		} else if (slots_left(slots) >= 8) {
			counts[c] = (uint32_t)(1 + random() % 8);
			slots_take(slots, chains[c], counts[c]);
			taken += counts[c];
			for (uint32_t i = 0; i < counts[c]; i++) {
				assert_in_range(chains[c][i], 0, SLOTS - 1);
				assert_false(owned[chains[c][i]]);
				owned[chains[c][i]] = true;
				*slots_at(slots, chains[c][i]) = (char)c;
			}
		}
		if (round % 16 == 0)
			leaving = choose_some(slots);
		if (round % 16 == 4)
			slots_hand_back(slots, leaving);
		if (round % 16 == 8)
			slots_discarded(slots, leaving);
		assert_int_equal(slots_left(slots) + slots->leaving, SLOTS - taken);
		assert_int_equal(slots_in_use(slots), taken);
		assert_int_equal(slots_held(slots), taken + slots_used_free(slots));
	}
}
