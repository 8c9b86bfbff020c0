#include "cache/slots.h"
#include "base/huge.h"
#include "base/math.h"
#include "base/uapi.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REGION ((uint32_t)(HUGE_PAGE / SLOT_BYTES)) /* slots of one huge page */

int slots_init(struct slots *slots, uint64_t bytes)
{
	uint64_t count = bytes / SLOT_BYTES;

	*slots = (struct slots){0};
	if (count == 0 || count > UINT32_MAX)
		return -ENOMEM;
	slots->count = (uint32_t)count;
	/* Pages of 64 KiB (arm64, POWER) hold four slots each. */
	slots->unit = (uint32_t)clamp((uint64_t)sysconf(_SC_PAGESIZE) / SLOT_BYTES, 1, 64);
	slots->free = malloc(count * sizeof(*slots->free));
	slots->arena = huge_map((size_t)count * SLOT_BYTES);
	if (slots->free && slots->arena)
		return 0;
	slots_release(slots);
	return -ENOMEM;
}

void slots_release(struct slots *slots)
{
	huge_unmap(slots->arena, (size_t)slots->count * SLOT_BYTES);
	free(slots->free);
	*slots = (struct slots){0};
}

/* What has no memory yet. The lowest cold one first: what is in use stays together. When the
 * last one is taken, huge pages are welcome again (see hand_back). */
static uint32_t take_fresh(struct slots *slots)
{
	uint32_t slot;

	if (!slots->cold)
		return slots->touched++;
	slot = slots->free[slots->count - slots->cold--];
	if (!slots->cold)
		madvise(slots->arena, (size_t)slots->count * SLOT_BYTES, MADV_HUGEPAGE);
	return slot;
}

void slots_take(struct slots *slots, uint32_t *chain, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		chain[i] = slots->freed ? slots->free[--slots->freed] : take_fresh(slots);
}

/* Backwards, so that the next chain comes in the same order: neighbours stay neighbours. */
void slots_give(struct slots *slots, const uint32_t *chain, uint32_t count)
{
	while (count)
		slots->free[slots->freed++] = chain[--count];
}

/* Handing back. Of a huge page the system gets nothing until all of it is free or the page is
 * split, so that regions (128 slots, the size and alignment of a huge page) are looked at in
 * the order of what they cost:
 *
 *	WHOLE	nothing in it is in use: goes as a whole
 *	BROKEN	part of it is cold already: the huge page is split, nothing more is lost
 *	ANY	a huge page must be split */
enum cost { COST_WHOLE, COST_BROKEN, COST_ANY, COSTS };

#define REGION_WORDS (REGION / 64)

struct region {
	uint64_t warm[REGION_WORDS], cold[REGION_WORDS], chosen[REGION_WORDS];
};

struct slots_leaving {
	uint32_t end; /* of the slots that were looked at */
	struct region regions[];
};

static uint32_t region_count(const struct slots *slots)
{
	return slots->touched / REGION + (slots->touched % REGION != 0);
}

/* The fresh slots of a region that was begun count as cold, so that it may go as a whole. */
static void touch_region(struct slots *slots)
{
	uint32_t end = (uint32_t)min(region_count(slots) * REGION, slots->count);
	uint32_t fresh = end - slots->touched;
	uint32_t *top = &slots->free[slots->count - slots->cold];

	memmove(top - fresh, top, slots->cold * sizeof(*top));
	for (uint32_t slot = slots->touched; slot < end; slot++)
		slots->free[slots->count - (end - slot)] = slot;
	slots->cold += fresh;
	slots->touched = end;
}

static uint64_t bit(uint32_t slot)
{
	return (uint64_t)1 << slot % 64;
}

static uint32_t word(uint32_t slot)
{
	return slot % REGION / 64;
}

static uint32_t bits(const uint64_t *set)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < REGION_WORDS; i++)
		count += (uint32_t)__builtin_popcountll(set[i]);
	return count;
}

static void map_regions(const struct slots *slots, struct region *regions)
{
	uint32_t end = region_count(slots) * REGION;

	for (uint32_t i = 0; i < slots->freed; i++) {
		uint32_t slot = slots->free[i];

		regions[slot / REGION].warm[word(slot)] |= bit(slot);
	}
	for (uint32_t i = slots->count - slots->cold; i < slots->count; i++) {
		uint32_t slot = slots->free[i];

		regions[slot / REGION].cold[word(slot)] |= bit(slot);
	}
	for (uint32_t slot = slots->touched; slot < end; slot++)
		regions[slot / REGION].cold[word(slot)] |= bit(slot);
}

static enum cost cost_of(const struct region *region)
{
	uint32_t cold = bits(region->cold);

	if (cold + bits(region->warm) == REGION)
		return COST_WHOLE;
	return cold ? COST_BROKEN : COST_ANY;
}

/* The slots of the page that the one of this bit begins. */
static uint64_t page_mask(uint32_t unit, uint32_t at)
{
	return (unit == 64 ? ~(uint64_t)0 : ((uint64_t)1 << unit) - 1) << at;
}

/* Moves `count` slots of a region, or less than a page more, from warm to chosen: all that are warm
 * in pages of which nothing is in use. */
static uint32_t choose_from(struct region *region, uint32_t count, uint32_t unit)
{
	uint32_t chosen = 0;

	for (uint32_t at = 0; at < REGION && chosen < count; at += unit) {
		uint32_t i = at / 64;
		uint64_t mask = page_mask(unit, at % 64), warm = region->warm[i] & mask;

		if (!warm || (warm | (region->cold[i] & mask)) != mask)
			continue;
		region->warm[i] ^= warm;
		region->chosen[i] |= warm;
		chosen += (uint32_t)__builtin_popcountll(warm);
	}
	return chosen;
}

static void choose(const struct slots *slots, struct region *regions, uint32_t count)
{
	uint32_t total = region_count(slots), chosen = 0;

	for (enum cost cost = COST_WHOLE; cost < COSTS; cost++)
		for (uint32_t i = 0; i < total && chosen < count; i++)
			if (cost_of(&regions[i]) == cost)
				chosen += choose_from(&regions[i],
						      cost == COST_WHOLE ? REGION : count - chosen,
						      slots->unit);
}

/* Cold slots beside chosen ones go along, in whole pages: the system may have filled the huge page
 * anew when a neighbour was used. */
static void join_cold(struct region *region, uint32_t unit)
{
	if (bits(region->chosen) == 0)
		return;
	for (uint32_t at = 0; at < REGION; at += unit) {
		uint32_t i = at / 64;
		uint64_t mask = page_mask(unit, at % 64);

		if (((region->chosen[i] | region->cold[i]) & mask) == mask)
			region->chosen[i] |= mask;
	}
}

static bool is_chosen(const struct region *regions, uint32_t slot)
{
	return regions[slot / REGION].chosen[word(slot)] & bit(slot);
}

/* A part of a huge page is freed only when the page is split: MADV_COLD does that at once,
 * where MADV_DONTNEED alone leaves it to the kernel's own distress (measured: 200 MiB of
 * halves, available memory +0 without it and +200 MiB with it, for 0.3 ms a page). And the
 * kernel's background thread would fill the holes again, unless madvise() keeps it away. */
static void hand_back(const struct slots *slots, uint32_t from, uint32_t to)
{
	size_t bytes = (size_t)(to - from) * SLOT_BYTES;

	if (from % REGION || (to % REGION && to < slots->count)) {
		madvise(slots->arena, (size_t)slots->count * SLOT_BYTES, MADV_NOHUGEPAGE);
		madvise(slots_at(slots, from), bytes, MADV_COLD);
	}
	madvise(slots_at(slots, from), bytes, MADV_DONTNEED);
}

/* The first slot from `from` on that is chosen, or not, or `end`. */
static uint32_t skip_until(const struct region *regions, uint32_t from, uint32_t end, bool chosen)
{
	while (from < end) {
		uint64_t set = regions[from / REGION].chosen[word(from)];

		set = (chosen ? set : ~set) >> from % 64;
		if (set)
			return (uint32_t)min(from + (uint32_t)__builtin_ctzll(set), end);
		from += 64 - from % 64;
	}
	return end;
}

void slots_hand_back(const struct slots *slots, const struct slots_leaving *leaving)
{
	uint32_t from = 0, to;

	if (!leaving)
		return;
	while ((from = skip_until(leaving->regions, from, leaving->end, true)) < leaving->end) {
		to = skip_until(leaving->regions, from, leaving->end, false);
		hand_back(slots, from, to);
		from = to;
	}
}

/* Takes those that were chosen off both stacks, which keep their order. */
static void unstack(struct slots *slots, const struct region *regions)
{
	uint32_t freed = 0, at = slots->count, left = slots->cold;

	for (uint32_t i = 0; i < slots->freed; i++) {
		uint32_t slot = slots->free[i];

		if (!is_chosen(regions, slot))
			slots->free[freed++] = slot;
	}
	slots->freed = freed;
	for (uint32_t i = slots->count; left > 0; left--) {
		uint32_t slot = slots->free[--i];

		if (!is_chosen(regions, slot))
			slots->free[--at] = slot;
	}
	slots->cold = slots->count - at;
}

struct slots_leaving *slots_choose(struct slots *slots, uint32_t count)
{
	uint32_t regions = region_count(slots), stacked;
	struct slots_leaving *leaving;

	if (count == 0 || slots->freed == 0)
		return NULL;
	touch_region(slots);
	leaving = calloc(1, sizeof(*leaving) + regions * sizeof(leaving->regions[0]));
	if (!leaving)
		return NULL;
	map_regions(slots, leaving->regions);
	choose(slots, leaving->regions, count);
	for (uint32_t i = 0; i < regions; i++)
		join_cold(&leaving->regions[i], slots->unit);
	leaving->end = slots->touched;
	stacked = slots->freed + slots->cold;
	unstack(slots, leaving->regions);
	slots->leaving = stacked - slots->freed - slots->cold;
	return leaving;
}

/* The cold ones are in the order of the arena, the lowest on top: these are merged in. */
void slots_discarded(struct slots *slots, struct slots_leaving *leaving)
{
	uint32_t at = slots->count - slots->cold, to = at - slots->leaving, slot = 0;

	if (!leaving)
		return;
	slots->cold += slots->leaving;
	slots->leaving = 0;
	for (; to < at; slots->free[to++] = slot++) {
		slot = skip_until(leaving->regions, slot, leaving->end, true);
		while (at < slots->count && slots->free[at] < slot)
			slots->free[to++] = slots->free[at++];
	}
	free(leaving);
}
