#include "base/bits.h"
#include "base/scope.h"
#include "cache/order/pass_internal.h"
#include "cache/order/permutation.h"
#include "cache/order/std_shuffle.h"
#include "cache/order/swap.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PASS_HEAD <= PERMUTATION_HEAD && PASS_HEAD <= PERMUTATION_DEALT, "places of a head");

static void shuffle_std(const struct pass *pass, uint32_t seed, uint32_t n, uint32_t *order)
{
	enum std_uniform uniform = pass->maker == PASS_STD ? STD_MULTIPLY : STD_DIVIDE;
	struct mt19937 mt;

	if (pass->maker == PASS_STD_64) {
		std_shuffle_64(PASS_DALI + ((uint64_t)(seed - PASS_DALI) << 32), order, n);
		return;
	}
	mt19937_init(&mt, seed);
	mt19937_skip(&mt, pass->skip);
	std_shuffle(&mt, uniform, order, n);
}

static void shuffle_chain(const struct pass *pass, uint32_t n, uint32_t *order)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t before = pass->chain + 1; before-- > 0;)
		shuffle_std(pass, pass->seed - before, n, order);
}

static void permute(const struct pass *pass, uint32_t n, uint32_t *order)
{
	struct mt19937 mt;

	if (pass_is_dali(pass)) {
		shuffle_chain(pass, n, order);
		return;
	}
	mt19937_init(&mt, pass->seed);
	mt19937_skip(&mt, pass->skip);
	permutation_next(&mt, order, n, PERMUTATION_LARGE);
}

unsigned pass_head(const struct pass *pass, uint32_t n, uint32_t *ret, unsigned count)
{
	SCOPE_FREE uint32_t *order = NULL;
	struct mt19937 mt;

	if (count > n)
		count = n;
	if (count > PASS_HEAD)
		count = PASS_HEAD;
	if (pass->maker == PASS_TORCH) {
		mt19937_init(&mt, pass->seed);
		mt19937_skip(&mt, pass->skip);
		permutation_head(&mt, n, ret, count);
		return count;
	}
	if (pass_is_dino(pass))
		return 0;
	order = malloc((size_t)n * sizeof(*order));
	if (!order)
		return 0;
	shuffle_chain(pass, n, order);
	memcpy(ret, order, count * sizeof(*ret));
	return count;
}

/* --- which places, and when ------------------------------------------------------------------- */

/* Places are dealt in rounds of world * unit; a rank takes those of its slot. */
struct deal {
	const uint32_t *order; /* the permutation, of n */
	uint32_t n, repeats;
	uint64_t places, total; /* with repeats; and after filling up or cutting */
	uint32_t unit, world;
	uint64_t most;	     /* places of one rank */
	uint32_t slots[64];  /* of the ranks of this node, rising */
	unsigned slot_count; /* 1..64 */
	uint8_t *told;	     /* a bit for each place of the permutation */
	uint32_t *ret, count;
};

static void take(struct deal *deal, uint64_t place)
{
	uint32_t at = (uint32_t)(place % deal->places / deal->repeats);

	if (!bit_set(deal->told, at))
		deal->ret[deal->count++] = deal->order[at];
}

/* Step by step, as the ranks get on: the first place of each, then the second of each. */
static void deal_rounds(struct deal *deal)
{
	uint64_t round = (uint64_t)deal->world * deal->unit, taken = 0;

	for (uint64_t base = 0; base < deal->total; base += round) {
		for (uint32_t i = 0; i < deal->unit && taken < deal->most; i++, taken++) {
			for (unsigned s = 0; s < deal->slot_count; s++) {
				uint64_t at = base + (uint64_t)deal->slots[s] * deal->unit + i;

				if (at < deal->total)
					take(deal, at);
			}
		}
	}
}

static void deal_runs(struct deal *deal)
{
	for (uint64_t i = 0; i <= deal->n / deal->world; i++) {
		for (unsigned s = 0; s < deal->slot_count; s++) {
			uint64_t slot = deal->slots[s];
			uint64_t at = deal->n * slot / deal->world + i;

			if (at < deal->n * (slot + 1) / deal->world)
				take(deal, at);
		}
	}
}

static uint64_t total_places(const struct pass_part *part, uint64_t places, uint64_t round)
{
	uint64_t rest = places % round;

	if (rest == 0 || part->tail == PASS_BARE)
		return places;
	return part->tail == PASS_CUT ? places - rest : places - rest + round;
}

static int slot_order(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static void set_slots(struct deal *deal, const struct pass_part *part)
{
	for (unsigned i = 0; i < 64 && i < part->world; i++)
		if (part->ranks >> i & 1)
			deal->slots[deal->slot_count++] =
				(uint32_t)(((uint64_t)part->first + i) % part->world);
	qsort(deal->slots, deal->slot_count, sizeof(*deal->slots), slot_order);
}

/* DistributedSampler.__iter__() of torch/utils/data/distributed.py pads by wrapping round, and
 * Accelerate's BatchSamplerShard (src/accelerate/data_loader.py) does the same with whole batches.
 * RASampler is references/classification/sampler.py of torchvision, RepeatAugSampler
 * timm/data/distributed_sampler.py; both fill up as DistributedSampler does, and then stop early:
 * a third of the permutation is read in an epoch. */
static void deal_all(struct deal *deal, const struct pass_part *part)
{
	set_slots(deal, part);
	if (part->unit == 0) {
		deal_runs(deal);
		return;
	}
	deal->total = total_places(part, deal->places, (uint64_t)part->world * part->unit);
	deal_rounds(deal);
}

/* All places, of a world of one. */
static const struct pass_part whole = {.world = 1, .unit = 1, .ranks = 1};

static const struct pass_part *part_of(const struct pass *pass)
{
	return pass->part.world > 1 ? &pass->part : &whole;
}

static uint32_t repeats_of(const struct pass *pass)
{
	return pass->repeats > 1 ? pass->repeats : 1;
}

/* _shuffle_tensor_slice() and _new_shuffle_tensor_slice() of dinov2/data/samplers.py: `ret` gets
 * the places slot, slot + world, ... of the permutation, `count` of them, in another order. */
static void shuffle_slice(const struct pass *pass, const struct deal *deal, uint32_t slot,
			  uint32_t count, uint32_t *ret)
{
	struct mt19937 mt;

	mt19937_init(&mt, pass->seed + slot + (pass->chain << 24));
	if (pass->maker == PASS_DINO_NEW) {
		permutation_next(&mt, ret, count, PERMUTATION_LARGE);
		for (uint32_t i = 0; i < count; i++)
			ret[i] = deal->order[slot + ret[i] * deal->world];
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t z = i ? mt19937_next(&mt) % (i + 1) : 0;

		ret[i] = deal->order[slot + i * deal->world];
		swap_places(&ret[i], &ret[z]);
	}
}

/* What does not divide by world is left out. */
static uint32_t order_slices(const struct pass *pass, uint32_t n, uint32_t *ret)
{
	struct deal deal = {.world = part_of(pass)->world};
	uint32_t count = n / deal.world;
	SCOPE_FREE uint32_t *order = malloc((size_t)n * sizeof(*order));
	SCOPE_FREE uint32_t *slice = malloc((size_t)n * sizeof(*slice));

	if (!order || !slice)
		return 0;
	permute(pass, n, order);
	deal.order = order;
	set_slots(&deal, part_of(pass));
	for (unsigned s = 0; s < deal.slot_count; s++) {
		shuffle_slice(pass, &deal, deal.slots[s], count, slice);
		for (uint32_t i = 0; i < count; i++)
			ret[i * deal.slot_count + s] = slice[i];
	}
	return count * deal.slot_count;
}

uint32_t pass_order(const struct pass *pass, uint32_t n, uint32_t *ret)
{
	const struct pass_part *part = part_of(pass);
	uint32_t repeats = repeats_of(pass);
	SCOPE_FREE uint32_t *order = NULL;
	SCOPE_FREE uint8_t *told = NULL;
	struct deal deal;

	if (pass_is_dino(pass))
		return order_slices(pass, n, ret);
	if (part == &whole && repeats == 1) {
		permute(pass, n, ret);
		return n;
	}
	order = malloc((size_t)n * sizeof(*order));
	told = calloc((size_t)n / 8 + 1, 1);
	if (!order || !told)
		return 0;
	permute(pass, n, order);
	deal = (struct deal){
		.order = order,
		.n = n,
		.repeats = repeats,
		.places = (uint64_t)n * repeats,
		.unit = part->unit,
		.world = part->world,
		.most = repeats > 1 ? n / 256 * 256 / part->world : UINT64_MAX,
		.told = told,
		.ret = ret,
	};
	deal_all(&deal, part);
	return deal.count;
}

/* --- the beginning of it ---------------------------------------------------------------------- */

/* std::shuffle is through at its end only, and runs begin in the midst of the permutation. */
static unsigned begin_of_all(const struct pass *pass, uint32_t n, uint32_t *ret, unsigned count)
{
	SCOPE_FREE uint32_t *order = malloc((size_t)n * sizeof(*order));
	uint32_t all = order ? pass_order(pass, n, order) : 0;

	if (count > all)
		count = all;
	if (count)
		memcpy(ret, order, count * sizeof(*ret));
	return count;
}

/* The place within a round that comes `at`-th: the first of each rank, then the second of each. */
static uint32_t nth_place(const struct deal *deal, uint64_t at)
{
	uint64_t round = at / ((uint64_t)deal->slot_count * deal->unit);
	uint64_t rest = at % ((uint64_t)deal->slot_count * deal->unit);
	uint64_t place = round * deal->world * deal->unit +
			 (uint64_t)deal->slots[rest % deal->slot_count] * deal->unit +
			 rest / deal->slot_count;

	return place < UINT32_MAX ? (uint32_t)place : UINT32_MAX;
}

/* The places of the permutation that are read first, below PASS_HEAD and n. */
static unsigned first_places(struct deal *deal, uint32_t n, uint32_t *ret, unsigned count)
{
	uint32_t head = n < PASS_HEAD ? n : PASS_HEAD;
	uint8_t told[PASS_HEAD] = {0};
	unsigned found = 0;

	for (uint64_t at = 0; found < count; at++) {
		uint32_t place = nth_place(deal, at) / deal->repeats;

		if (place >= head)
			break;
		if (!told[place])
			ret[found++] = place;
		told[place] = 1;
	}
	return found;
}

unsigned pass_begin(const struct pass *pass, uint32_t n, uint32_t *ret, unsigned count)
{
	const struct pass_part *part = part_of(pass);
	struct deal deal = {.unit = part->unit, .world = part->world, .repeats = repeats_of(pass)};
	uint32_t places[PASS_BEGIN], head[PASS_HEAD], last = 0;

	if (count > PASS_BEGIN)
		count = PASS_BEGIN;
	if (pass->maker != PASS_TORCH || part->unit == 0)
		return begin_of_all(pass, n, ret, count);
	set_slots(&deal, part);
	if (deal.slot_count == 0)
		return 0;
	count = first_places(&deal, n, places, count);
	for (unsigned i = 0; i < count; i++)
		if (places[i] > last)
			last = places[i];
	pass_head(pass, n, head, last + 1);
	for (unsigned i = 0; i < count; i++)
		ret[i] = head[places[i]];
	return count;
}

/* --- for people ------------------------------------------------------------------------------- */

static const char *sampler_name(const struct pass *pass)
{
	if (pass_is_dino(pass))
		return "ShardedInfiniteSampler";
	if (pass->maker != PASS_TORCH)
		return "DALI file reader";
	if (pass->repeats > 1)
		return "RASampler";
	if (pass->part.world > 1 && pass->part.unit > 1)
		return "BatchSamplerShard";
	switch (pass->rule) {
	case PASS_STREAM:
		return pass->part.world > 1 ? "infinite sampler" : "one generator for all epochs";
	case PASS_RESEED:
		return pass->part.world > 1 ? "DistributedSampler" : "seed + epoch";
	default:
		return pass->part.world > 1 ? "DistributedSampler" : "RandomSampler";
	}
}

bool pass_add_ranks(struct pass *pass, const struct pass *other)
{
	bool is_low = pass->part.first <= other->part.first;
	const struct pass_part *low = is_low ? &pass->part : &other->part;
	const struct pass_part *high = is_low ? &other->part : &pass->part;
	uint32_t apart = high->first - low->first, first = low->first;
	uint64_t ranks = low->ranks | (apart < 64 ? high->ranks << apart : 0);

	if (apart >= 64 || high->ranks << apart >> apart != high->ranks ||
	    (pass->part.world < 64 && ranks >> pass->part.world))
		return false;
	pass->part.first = first;
	pass->part.ranks = ranks;
	return true;
}

/* "ranks 0 and 1 of 8" */
static void rank_names(const struct pass_part *part, char *ret, size_t size)
{
	unsigned count = (unsigned)__builtin_popcountll(part->ranks);
	unsigned low = count ? (unsigned)__builtin_ctzll(part->ranks) : 0;
	bool row = count && part->ranks >> low == (count < 64 ? (1ull << count) - 1 : UINT64_MAX);
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

const char *pass_name(const struct pass *pass, char ret[PASS_NAME])
{
	char ranks[48] = "", root[32] = "";

	if (pass->part.world > 1)
		rank_names(&pass->part, ranks, sizeof(ranks));
	if (pass->rule == PASS_WORDS)
		snprintf(root, sizeof(root), " under seed %u", pass->root);
	snprintf(ret, PASS_NAME, "%s%s%s", sampler_name(pass), root, ranks);
	return ret;
}
