#include "cache/plan/plan_set.h"
#include <errno.h>
#include <stdlib.h>

int plan_set_init(struct plan_set *set, uint64_t extents)
{
	set->used_count = extents / 4096 + 1;
	set->words = calloc(set->used_count * 64, sizeof(*set->words));
	set->used = calloc(set->used_count, sizeof(*set->used));
	if (set->words && set->used)
		return 0;
	plan_set_release(set);
	return -ENOMEM;
}

void plan_set_release(struct plan_set *set)
{
	free(set->words);
	free(set->used);
	*set = (struct plan_set){0};
}

bool plan_set_has(const struct plan_set *set, uint64_t extent)
{
	return set->words[extent / 64] >> extent % 64 & 1;
}

void plan_set_add(struct plan_set *set, uint64_t extent)
{
	set->words[extent / 64] |= (uint64_t)1 << extent % 64;
	set->used[extent / 4096] |= (uint64_t)1 << extent / 64 % 64;
}

void plan_set_remove(struct plan_set *set, uint64_t extent)
{
	set->words[extent / 64] &= ~((uint64_t)1 << extent % 64);
	if (set->words[extent / 64] == 0)
		set->used[extent / 4096] &= ~((uint64_t)1 << extent / 64 % 64);
}

/* The lowest bit of words[0..count) that is at least `from`, or PLAN_SET_NONE. */
static uint64_t bit_from(const uint64_t *words, uint64_t count, uint64_t from)
{
	uint64_t at = from / 64, word;

	if (at >= count)
		return PLAN_SET_NONE;
	word = words[at] & UINT64_MAX << from % 64;
	while (word == 0 && ++at < count)
		word = words[at];
	return word ? at * 64 + (uint64_t)__builtin_ctzll(word) : PLAN_SET_NONE;
}

/* The highest bit of words[first..] that is below `until`, or PLAN_SET_NONE. */
static uint64_t bit_below(const uint64_t *words, uint64_t first, uint64_t until)
{
	uint64_t at = until / 64, word = until % 64 ? words[at] & ~(UINT64_MAX << until % 64) : 0;

	while (word == 0 && at > first)
		word = words[--at];
	return word ? at * 64 + 63 - (uint64_t)__builtin_clzll(word) : PLAN_SET_NONE;
}

uint64_t plan_set_next(const struct plan_set *set, uint64_t from)
{
	uint64_t word = from / 64, found = bit_from(set->words, word + 1, from);

	if (found != PLAN_SET_NONE)
		return found;
	word = bit_from(set->used, set->used_count, word + 1);
	return word == PLAN_SET_NONE ? word : bit_from(set->words, word + 1, word * 64);
}

uint64_t plan_set_before(const struct plan_set *set, uint64_t until)
{
	uint64_t word = until / 64, found = bit_below(set->words, word, until);

	if (found != PLAN_SET_NONE)
		return found;
	word = bit_below(set->used, 0, word);
	return word == PLAN_SET_NONE ? word : bit_below(set->words, word, (word + 1) * 64);
}
