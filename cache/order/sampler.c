#include "cache/order/sampler.h"
#include "base/bits.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include "cache/order/permutation.h"
#include <stdio.h>
#include <stdlib.h>

_Static_assert(SAMPLER_HEAD <= PERMUTATION_HEAD, "places of a head");

static void permute(const struct sampler *sampler, uint32_t n, uint32_t *order)
{
	struct mt19937 mt;

	mt19937_init(&mt, sampler->seed);
	mt19937_skip(&mt, sampler->skip);
	permutation_next(&mt, order, n);
}

unsigned sampler_head(const struct sampler *sampler, uint32_t n, uint32_t *ret, unsigned count)
{
	struct mt19937 mt;

	count = (unsigned)min(count, min(n, SAMPLER_HEAD));
	mt19937_init(&mt, sampler->seed);
	mt19937_skip(&mt, sampler->skip);
	permutation_head(&mt, n, ret, count);
	return count;
}

/* --- which places, and when ------------------------------------------------------------------- */

/* Places are dealt in rounds of world * unit; a rank takes those of its slot. */
struct deal {
	uint32_t unit, world;
	uint32_t slots[SAMPLER_RANKS]; /* of the ranks of this node, rising */
	unsigned slot_count;
};

/* All places, of a world of one. */
static const struct sampler_part whole = {.world = 1, .unit = 1, .ranks = 1};

static const struct sampler_part *part_of(const struct sampler *sampler)
{
	return sampler->part.world > 1 ? &sampler->part : &whole;
}

static struct deal deal_of(const struct sampler_part *part)
{
	struct deal deal = {.unit = part->unit, .world = part->world};

	for (unsigned i = 0; i < SAMPLER_RANKS && i < part->world; i++)
		if (part->ranks >> i & 1)
			deal.slots[deal.slot_count++] =
				(uint32_t)(((uint64_t)part->first + i) % part->world);
	qsort(deal.slots, deal.slot_count, sizeof(*deal.slots), search_compare32);
	return deal;
}

/* The place that comes `at`-th, as the ranks advance in step: the first one of each in this round,
 * then the second of each. */
static uint64_t place_at(const struct deal *deal, uint64_t at)
{
	uint64_t taken = (uint64_t)deal->slot_count * deal->unit;
	uint64_t round = at / taken, rest = at % taken;

	return round * deal->world * deal->unit +
	       (uint64_t)deal->slots[rest % deal->slot_count] * deal->unit +
	       rest / deal->slot_count;
}

/* DistributedSampler.__iter__() of torch/utils/data/distributed.py fills the last round up from the
 * beginning, as Accelerate's BatchSamplerShard (src/accelerate/data_loader.py) does with batches: a
 * place that comes again is left out. `taken` has a bit for each place. */
uint32_t sampler_order(const struct sampler *sampler, uint32_t n, uint32_t *ret)
{
	const struct sampler_part *part = part_of(sampler);
	uint64_t round = (uint64_t)part->world * part->unit, rounds = (n + round - 1) / round;
	const struct deal deal = deal_of(part);
	SCOPE_FREE uint32_t *order = NULL;
	SCOPE_FREE uint8_t *taken = NULL;
	uint32_t count = 0;

	if (part == &whole) {
		permute(sampler, n, ret);
		return n;
	}
	order = malloc((size_t)n * sizeof(*order));
	taken = calloc((size_t)n / 8 + 1, 1);
	if (!order || !taken)
		return 0;
	permute(sampler, n, order);
	for (uint64_t at = 0; at < rounds * deal.slot_count * deal.unit; at++) {
		uint64_t place = place_at(&deal, at);

		if (place < (part->bare ? n : rounds * round) && !bit_set(taken, place % n))
			ret[count++] = order[place % n];
	}
	return count;
}

/* --- the beginning of it ---------------------------------------------------------------------- */

unsigned sampler_begin(const struct sampler *sampler, uint32_t n, uint32_t *ret, unsigned count)
{
	const struct deal deal = deal_of(part_of(sampler));
	uint32_t places[SAMPLER_BEGIN], head[SAMPLER_HEAD], last = 0;
	unsigned found = 0;

	if (deal.slot_count == 0)
		return 0;
	for (; found < min(count, SAMPLER_BEGIN); found++) {
		uint64_t place = place_at(&deal, found);

		if (place >= min(n, SAMPLER_HEAD))
			break;
		places[found] = (uint32_t)place;
		last = (uint32_t)max(last, place);
	}
	sampler_head(sampler, n, head, last + 1);
	for (unsigned i = 0; i < found; i++)
		ret[i] = head[places[i]];
	return found;
}

/* --- for people ------------------------------------------------------------------------------- */

bool sampler_add_ranks(struct sampler *sampler, const struct sampler *other)
{
	bool is_low = sampler->part.first <= other->part.first;
	const struct sampler_part *low = is_low ? &sampler->part : &other->part;
	const struct sampler_part *high = is_low ? &other->part : &sampler->part;
	uint32_t apart = high->first - low->first, first = low->first;
	uint64_t ranks = low->ranks | (apart < SAMPLER_RANKS ? high->ranks << apart : 0);

	if (apart >= SAMPLER_RANKS || high->ranks << apart >> apart != high->ranks ||
	    (sampler->part.world < SAMPLER_RANKS && ranks >> sampler->part.world))
		return false;
	sampler->part.first = first;
	sampler->part.ranks = ranks;
	return true;
}

/* "ranks 0 and 1 of 8" */
static void rank_names(const struct sampler_part *part, char *ret, size_t size)
{
	unsigned count = (unsigned)__builtin_popcountll(part->ranks);
	unsigned low = count ? (unsigned)__builtin_ctzll(part->ranks) : 0;
	bool row = count &&
		   part->ranks >> low == (count < SAMPLER_RANKS ? (1ull << count) - 1 : UINT64_MAX);
	uint64_t rank = (uint64_t)part->first + low;

	if (count == 1)
		snprintf(ret, size, ", rank %u of %u", (unsigned)(rank % part->world), part->world);
	else if (row)
		snprintf(ret, size, ", ranks %u%s%u of %u", (unsigned)(rank % part->world),
			 count == 2 ? " and " : " to ",
			 (unsigned)((rank + count - 1) % part->world), part->world);
	else
		snprintf(ret, size, ", %u of %u ranks", count, part->world);
}

const char *sampler_name(const struct sampler *sampler, char ret[SAMPLER_NAME])
{
	bool dealt = sampler->part.world > 1;
	char ranks[48] = "", root[32] = "";
	const char *kind = dealt ? "DistributedSampler" : "RandomSampler";

	if (dealt && sampler->part.unit > 1)
		kind = "BatchSamplerShard";
	else if (sampler->rule == SAMPLER_STREAM)
		kind = dealt ? "infinite sampler" : "one generator for all epochs";
	else if (sampler->rule == SAMPLER_RESEED && !dealt)
		kind = "seed + epoch";
	if (dealt)
		rank_names(&sampler->part, ranks, sizeof(ranks));
	if (sampler->rule == SAMPLER_WORDS)
		snprintf(root, sizeof(root), " under seed %u", sampler->root);
	snprintf(ret, SAMPLER_NAME, "%s%s%s", kind, root, ranks);
	return ret;
}
