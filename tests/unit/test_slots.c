/* The arena of slots: cache/slots.h. */
#include "cache/slots.h"
#include "tests/unit/story.h"
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

static struct slots *the_slots;
static uint32_t chain[1024]; /* all that were taken, one after the other */
static uint32_t chained;

static void begin_slots(struct slots *slots)
{
	the_slots = slots;
	chained = 0;
}

FIXTURE(slots, struct slots, begin_slots, slots_release);

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

/* --- stories --------------------------------------------------------------------------------- */

DOES(arena, assert_int_equal(slots_init(the_slots, n[0] * SLOT_BYTES), 0))
DOES(write, memset(slots_at(the_slots, (uint32_t)n[0]), 1, n[1] * SLOT_BYTES))
DOES(back, slots_give(the_slots, chain + n[0], (uint32_t)n[1]))
DOES(unit, the_slots->unit = (uint32_t)n[0])

DO(take)
{
	slots_take(the_slots, chain + chained, (uint32_t)n[0]);
	chained += (uint32_t)n[0];
}

/* The arena of so many regions, all taken in order and written to. */
DO(full)
{
	do_arena((const uint64_t[]){n[0] * REGION});
	do_take((const uint64_t[]){n[0] * REGION});
	for (uint32_t i = 0; i < n[0] * REGION; i++) {
		assert_int_equal(chain[i], i);
		memset(slots_at(the_slots, i), (int)(1 + i % 255), SLOT_BYTES);
	}
}

/* One by one. */
DO(give)
{
	for (uint32_t slot = (uint32_t)n[0]; slot < n[0] + n[1]; slot++)
		slots_give(the_slots, &slot, 1);
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

GET(discard, discard(the_slots, (uint32_t)n[0]))
GET(resident, resident_slots(the_slots))
GET(there, resident(slots_at(the_slots, (uint32_t)n[0])))
GET(chain, chain[n[0]])
GET(fresh, slots_fresh(the_slots))
GET(warm, slots_used_free(the_slots))
GET(held, slots_held(the_slots))

TEST_OF(slots, every_byte_of_every_slot_can_be_used)
{
	story_play("arena 130; take 130; fresh = 0");
	for (uint32_t i = 0; i < 130; i++)
		memset(slots_at(slots, chain[i]), (int)i, SLOT_BYTES);
	for (uint32_t i = 0; i < 130; i++)
		for (uint32_t j = 0; j < SLOT_BYTES; j += SLOT_BYTES - 1)
			assert_int_equal((unsigned char)slots_at(slots, chain[i])[j], i);
}

STORY_OF(slots, used_slots_are_taken_before_fresh_ones,
	 "arena 10; take 3; fresh = 7; warm = 0; back 0 3; warm = 3; take 5; chain 3 = 0; "
	 "chain 4 = 1; chain 5 = 2; chain 6 = 3; fresh = 5; warm = 0")

STORY_OF(slots, what_was_given_back_last_is_taken_first,
	 "arena 4; take 2; take 2; back 2 2; back 0 2; take 4; chain 4 = 0; chain 5 = 1; "
	 "chain 6 = 2; chain 7 = 3")

STORY_OF(slots, discarded_memory_goes_back_to_the_system,
	 "full 4; resident = 512; back 0 512; resident = 512; discard 256 = 256; resident = 256; "
	 "held = 256; fresh = 256; discard 1000000 = 256; resident = 0; discard 1 = 0")

TEST_OF(slots, what_is_in_use_is_not_discarded)
{
	story_play("full 2");
	for (uint32_t i = 0; i < 2 * REGION; i += 2)
		slots_give(slots, &chain[i], 1);
	story_play("discard 1000000 = 128; resident = 128");
	for (uint32_t i = 1; i < 2 * REGION; i += 2)
		for (uint32_t j = 0; j < SLOT_BYTES; j++)
			assert_int_equal((unsigned char)slots_at(slots, i)[j], 1 + i % 255);
}

STORY_OF(slots, whole_huge_pages_are_discarded_first,
	 "full 4; give 5 2; give 256 128; discard 128 = 128; there 5 = 1; there 256 = 0; "
	 "there 383 = 0; warm = 2")

STORY_OF(slots, the_last_huge_page_goes_as_a_whole,
	 "full 2; back 0 256; discard 1 = 128; resident = 128")

STORY_OF(slots, what_was_never_used_does_not_keep_a_huge_page,
	 "arena 256; take 64; back 0 64; discard 1 = 64; fresh = 256")

STORY_OF(slots, a_huge_page_in_pieces_loses_more_before_another_is_split,
	 "full 2; give 131 1; discard 1 = 1; give 9 1; give 137 1; discard 1 = 1; there 9 = 1; "
	 "there 137 = 0")

STORY_OF(slots, warm_slots_are_taken_before_cold_before_fresh,
	 "arena 384; take 256; give 1 1; give 70 1; discard 2 = 2; give 90 1; take 4; "
	 "chain 256 = 90; chain 257 = 1; chain 258 = 70; chain 259 = 256; fresh = 127")

STORY_OF(slots, what_stays_warm_keeps_its_order,
	 "full 2; give 30 1; give 128 128; give 20 1; give 40 1; discard 128 = 128; take 3; "
	 "chain 256 = 40; chain 257 = 20; chain 258 = 30")

/* The first slot that is used of a huge page that was handed back brings all of it. */
STORY_OF(slots, what_came_with_a_neighbour_goes_with_it,
	 "full 1; back 0 128; discard 128 = 128; take 1; chain 128 = 0; write 0 128; back 128 1; "
	 "discard 1 = 1; resident = 0")

/* Of pages of 64 KiB, which this machine need not have. 1..10 are of the pages 0..3, 4..7
 * and 8..11.
 */
STORY_OF(slots, a_page_goes_only_when_nothing_in_it_is_in_use,
	 "full 1; unit 4; give 1 10; discard 10 = 4; resident = 124; there 4 = 0; there 7 = 0; "
	 "take 7; chain 134 = 4; write 4 1; give 100 4; discard 4 = 4; there 4 = 1")

/* An arena need not end where a huge page does. */
STORY_OF(slots, the_end_of_an_arena_can_be_discarded,
	 "arena 131; take 131; write 0 131; back 0 131; discard 1000000 = 131; resident = 0; "
	 "take 131; fresh = 0")

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
