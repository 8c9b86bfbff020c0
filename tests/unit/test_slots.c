/* The arena of slots: cache/slots.h. */
#include "cache/slots.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define HUGE_PAGE (2u << 20)

static void sizes_are_rounded_up_to_slots(void **state)
{
	(void)state;
	assert_int_equal(slots_needed(0), 0);
	assert_int_equal(slots_needed(1), 1);
	assert_int_equal(slots_needed(SLOT_BYTES), 1);
	assert_int_equal(slots_needed(SLOT_BYTES + 1), 2);
	assert_int_equal(slots_needed(1u << 20), 64);
}

static void an_arena_that_cannot_be_is_refused(void **state)
{
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, 0), -ENOMEM);
	assert_int_equal(slots_init(&slots, SLOT_BYTES - 1), -ENOMEM);
	assert_int_equal(slots_init(&slots, UINT64_MAX), -ENOMEM);
}

static void half_a_slot_is_no_slot(void **state)
{
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, 5 * SLOT_BYTES + SLOT_BYTES / 2), 0);
	assert_int_equal(slots_fresh(&slots), 5);
	slots_release(&slots);
}

static void all_of_a_released_arena_is_gone(void **state)
{
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, 8 * SLOT_BYTES), 0);
	slots_release(&slots);
	assert_null(slots.arena);
	assert_int_equal(slots_fresh(&slots), 0);
	slots_release(&slots); /* harmless */
}

static bool resident(char *page)
{
	unsigned char in = 0;

	assert_int_equal(mincore(page, 1, &in), 0);
	return in & 1;
}

static void memory_is_aligned_to_huge_pages_and_comes_with_first_use(void **state)
{
	const uint32_t count = (16u << 20) / SLOT_BYTES;
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, (uint64_t)count * SLOT_BYTES), 0);
	assert_int_equal((uintptr_t)slots_at(&slots, 0) % HUGE_PAGE, 0);
	assert_false(resident(slots_at(&slots, 0)));
	slots_at(&slots, 0)[0] = 1;
	assert_true(resident(slots_at(&slots, 0)));
	assert_false(resident(slots_at(&slots, count - 1)));
	slots_release(&slots);
}

static void every_byte_of_every_slot_can_be_used(void **state)
{
	struct slots slots;
	uint32_t chain[130];

	(void)state;
	assert_int_equal(slots_init(&slots, 130 * SLOT_BYTES), 0);
	slots_take(&slots, chain, 130);
	assert_int_equal(slots_fresh(&slots), 0);
	for (uint32_t i = 0; i < 130; i++)
		memset(slots_at(&slots, chain[i]), (int)i, SLOT_BYTES);
	for (uint32_t i = 0; i < 130; i++)
		for (uint32_t j = 0; j < SLOT_BYTES; j += SLOT_BYTES - 1)
			assert_int_equal((unsigned char)slots_at(&slots, chain[i])[j], i);
	slots_release(&slots);
}

static void used_slots_are_taken_before_fresh_ones(void **state)
{
	uint32_t first[3], second[5];
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, 10 * SLOT_BYTES), 0);
	slots_take(&slots, first, 3);
	assert_int_equal(slots_fresh(&slots), 7);
	assert_int_equal(slots_used_free(&slots), 0);
	slots_give(&slots, first, 3);
	assert_int_equal(slots_used_free(&slots), 3);
	slots_take(&slots, second, 5);
	assert_memory_equal(first, second, sizeof(first));
	assert_int_equal(second[3], 3);
	assert_int_equal(slots_fresh(&slots), 5);
	assert_int_equal(slots_used_free(&slots), 0);
	slots_release(&slots);
}

static void what_was_given_back_last_is_taken_first(void **state)
{
	uint32_t a[2], b[2], next[4];
	struct slots slots;

	(void)state;
	assert_int_equal(slots_init(&slots, 4 * SLOT_BYTES), 0);
	slots_take(&slots, a, 2);
	slots_take(&slots, b, 2);
	slots_give(&slots, b, 2);
	slots_give(&slots, a, 2);
	slots_take(&slots, next, 4);
	assert_memory_equal(next, a, sizeof(a));
	assert_memory_equal(next + 2, b, sizeof(b));
	slots_release(&slots);
}

/* Ten thousand random chains: no slot ever belongs to two. */
static void no_slot_has_two_owners(void **state)
{
	enum { SLOTS = 200, CHAINS = 50 };
	uint32_t chains[CHAINS][8], counts[CHAINS] = {0}, taken = 0;
	bool owned[SLOTS] = {false};
	struct slots slots;

	(void)state;
	srandom(1);
	assert_int_equal(slots_init(&slots, SLOTS * SLOT_BYTES), 0);
	for (int round = 0; round < 10000; round++) {
		long c = random() % CHAINS;

		if (counts[c]) {
			slots_give(&slots, chains[c], counts[c]);
			for (uint32_t i = 0; i < counts[c]; i++)
				owned[chains[c][i]] = false;
			taken -= counts[c];
			counts[c] = 0;
		} else if (taken <= SLOTS - 8) {
			counts[c] = (uint32_t)(1 + random() % 8);
			slots_take(&slots, chains[c], counts[c]);
			taken += counts[c];
			for (uint32_t i = 0; i < counts[c]; i++) {
				assert_in_range(chains[c][i], 0, SLOTS - 1);
				assert_false(owned[chains[c][i]]);
				owned[chains[c][i]] = true;
			}
		}
		assert_int_equal(slots_used_free(&slots) + slots_fresh(&slots), SLOTS - taken);
	}
	slots_release(&slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_rounded_up_to_slots),
		cmocka_unit_test(an_arena_that_cannot_be_is_refused),
		cmocka_unit_test(half_a_slot_is_no_slot),
		cmocka_unit_test(all_of_a_released_arena_is_gone),
		cmocka_unit_test(memory_is_aligned_to_huge_pages_and_comes_with_first_use),
		cmocka_unit_test(every_byte_of_every_slot_can_be_used),
		cmocka_unit_test(used_slots_are_taken_before_fresh_ones),
		cmocka_unit_test(what_was_given_back_last_is_taken_first),
		cmocka_unit_test(no_slot_has_two_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
