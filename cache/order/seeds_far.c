/* To make output 1,000,000 of a generator takes a thousand times as long as to make its first. But
 * all that follows the seeding is linear: a bit of any output is the parity of some bits of the 624
 * words that the seeding leaves, half of them on the average, and which ones depends on the number
 * of the output alone (mt19937_origin()). So what is far away costs no more than what is near, for
 * those who need few bits.
 *
 * Bits that are known: element i of the permutation is i + z, with z the output number skip + i
 * modulo n - i. Where n - i can be divided by 2^k, the low k bits of the output are those of
 * element - i; of FAR_SUMS * STAGES such places in a row there are as many such bits, or one less.
 * Each halves the seeds that are left.
 *
 * The words of a seed are made one after the other, for some vectors of seeds side by side, and
 * each is added to FAR_SUMS sums while it is in a register; none is stored. That is a stage; those
 * who pass it, with the runs of which they have the bits, wait until there are enough of them for
 * the next. Who has passed all gets whole outputs: first that of the first element, by the same
 * means, then, as it is hardly wrong by now, all of the run by its generator.
 *
 * With 4 sums, three vectors of 32 bytes are what 16 registers hold: a stage is passed by 12.6
 * million seeds/s (8.7 million with 6 sums of two vectors); with vectors of 64 bytes and four of
 * them, by 39 million. All stages together, with four runs: 10 and 29 million.
 */
#include "cache/order/seeds_far.h"
#include "cache/order/lanes.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAR_LANES 192 /* whole flights of any width */
#define FAR_SUMS  4
#define STAGES	  4
#define BITS	  (STAGES * FAR_SUMS)

_Static_assert(SEEDS_FIRSTS <= 16, "a bit for each run");
_Static_assert(SEEDS_RUN <= PERMUTATION_HEAD, "a run is a head");

struct far_sums {
	uint32_t origins[MT19937_WORDS][FAR_SUMS];
	uint32_t numbers[MT19937_WORDS]; /* 0, 1, 2, ...: to add one is to load it */
	uint16_t runs[1 << FAR_SUMS];	 /* that have these bits: the first is bit 0 */
};

typedef void sum_fn(const struct far_sums *sums, const uint32_t *seeds, uint32_t *ret);

struct engine {
	unsigned bytes;
	sum_fn *sum;
};

struct seeds_far {
	struct seeds_runs seen;
	const struct engine *engine;
	struct far_sums stages[STAGES];
	unsigned stage_count;
	uint32_t first[32][MT19937_WORDS]; /* origins of the bits of the first element's output */
};

/* --- widths ---------------------------------------------------------------------------------- */

#define LANES_BYTES   16
#define LANES_FLIGHT  3
#define LANES_NAME(f) far_##f##_16
#define LANES_TARGET
#include "cache/order/seeds_far_lanes.h"

#ifdef __x86_64__
#define LANES_BYTES   32
#define LANES_FLIGHT  3
#define LANES_NAME(f) far_##f##_32
#define LANES_TARGET  __attribute__((target("avx2")))
#include "cache/order/seeds_far_lanes.h"

#define LANES_BYTES   64
#define LANES_FLIGHT  4
#define LANES_NAME(f) far_##f##_64
#define LANES_TARGET  __attribute__((target("avx512f")))
#include "cache/order/seeds_far_lanes.h"
#endif

static const struct engine engines[] = {
	[LANES_16] = {16, far_sum_16},
#ifdef __x86_64__
	[LANES_32] = {32, far_sum_32},
	[LANES_64] = {64, far_sum_64},
#endif
};

unsigned seeds_far_narrow(struct seeds_far *far, unsigned bytes)
{
	far->engine = &engines[lanes_width(bytes)];
	return far->engine->bytes;
}

/* --- what is known --------------------------------------------------------------------------- */

/* A bit of an output that follows from the element at a place. */
struct known_bit {
	unsigned place, bit;
};

static unsigned find_bits(uint32_t n, struct known_bit ret[BITS])
{
	unsigned count = 0;

	for (unsigned place = 0; place < SEEDS_RUN; place++)
		for (unsigned bit = 0; ((n - place) >> bit & 1) == 0 && count < BITS; bit++)
			ret[count++] = (struct known_bit){place, bit};
	return count;
}

static void add_sum(struct seeds_far *far, struct far_sums *sums, unsigned s, struct known_bit bit)
{
	uint32_t origin[MT19937_WORDS];

	mt19937_origin(far->seen.skip + bit.place, 1u << bit.bit, origin);
	for (unsigned w = 0; w < MT19937_WORDS; w++)
		sums->origins[w][s] = origin[w];
}

/* The runs that have each of the patterns of a stage. */
static void set_runs(struct seeds_far *far, struct far_sums *sums, const struct known_bit *bits)
{
	for (unsigned run = 0; run < far->seen.count; run++) {
		unsigned pattern = 0;

		for (unsigned s = 0; s < FAR_SUMS; s++) {
			uint32_t z = far->seen.runs[run][bits[s].place] - bits[s].place;

			pattern |= (z >> bits[s].bit & 1) << s;
		}
		sums->runs[pattern] |= (uint16_t)(1 << run);
	}
}

static void make_stages(struct seeds_far *far)
{
	struct known_bit bits[BITS];
	unsigned count = find_bits(far->seen.n, bits);

	far->stage_count = count / FAR_SUMS;
	for (unsigned stage = 0; stage < far->stage_count; stage++) {
		struct far_sums *sums = &far->stages[stage];

		for (uint32_t i = 0; i < MT19937_WORDS; i++)
			sums->numbers[i] = i;
		for (unsigned s = 0; s < FAR_SUMS; s++)
			add_sum(far, sums, s, bits[stage * FAR_SUMS + s]);
		set_runs(far, sums, bits + stage * FAR_SUMS);
	}
	for (unsigned bit = 0; bit < 32; bit++)
		mt19937_origin(far->seen.skip, 1u << bit, far->first[bit]);
}

int seeds_far_new(const struct seeds_runs *seen, struct seeds_far **ret)
{
	struct seeds_far *far = calloc(1, sizeof(*far));

	if (!far)
		return -ENOMEM;
	far->seen = *seen;
	far->engine = &engines[lanes_width(UINT32_MAX)];
	make_stages(far);
	*ret = far;
	return 0;
}

void seeds_far_free(struct seeds_far *far)
{
	free(far);
}

/* --- in full --------------------------------------------------------------------------------- */

/* The output that makes the first element, of a generator as it was seeded. */
static uint32_t first_output(const struct seeds_far *far, const struct mt19937 *mt)
{
	uint32_t output = 0;

	for (unsigned bit = 0; bit < 32; bit++) {
		uint32_t sum = 0;

		for (unsigned w = 0; w < MT19937_WORDS; w++)
			sum ^= mt->state[w] & far->first[bit][w];
		output |= (uint32_t)__builtin_parity(sum) << bit;
	}
	return output;
}

bool seeds_far_match(const struct seeds_far *far, uint32_t seed)
{
	const struct seeds_runs *seen = &far->seen;
	uint32_t first, head[SEEDS_RUN];
	bool begins = false;
	struct mt19937 mt;

	mt19937_init(&mt, seed);
	first = first_output(far, &mt) % seen->n;
	for (unsigned run = 0; run < seen->count; run++)
		begins |= seen->runs[run][0] == first;
	if (!begins)
		return false;
	mt19937_skip(&mt, seen->skip);
	permutation_head(&mt, seen->n, head, SEEDS_RUN);
	for (unsigned run = 0; run < seen->count; run++)
		if (memcmp(seen->runs[run], head, sizeof(head)) == 0)
			return true;
	return false;
}

/* --- side by side ---------------------------------------------------------------------------- */

/* Seeds before a stage. */
struct waiting {
	_Alignas(64) uint32_t seeds[FAR_LANES];
	uint16_t runs[FAR_LANES]; /* of which each has the bits so far */
	unsigned count;
};

struct search {
	const struct seeds_far *far;
	struct waiting waiting[STAGES];
	struct seeds_found *found;
	unsigned count, most;
};

static void take(struct search *search, uint32_t seed)
{
	if (!seeds_far_match(search->far, seed))
		return;
	if (search->count < search->most)
		search->found[search->count] = (struct seeds_found){seed, 0};
	search->count++;
}

static void pass_stage(struct search *search, unsigned stage);

static void put(struct search *search, unsigned stage, uint32_t seed, uint16_t runs)
{
	struct waiting *waiting = &search->waiting[stage];

	if (stage == search->far->stage_count) {
		take(search, seed);
		return;
	}
	waiting->seeds[waiting->count] = seed;
	waiting->runs[waiting->count++] = runs;
	if (waiting->count == FAR_LANES)
		pass_stage(search, stage);
}

/* Those that wait go on to the next stage, or not. */
static void pass_stage(struct search *search, unsigned stage)
{
	const struct far_sums *sums = &search->far->stages[stage];
	struct waiting *waiting = &search->waiting[stage];
	_Alignas(64) uint32_t patterns[FAR_LANES];
	unsigned count = waiting->count;

	waiting->count = 0;
	search->far->engine->sum(sums, waiting->seeds, patterns);
	for (unsigned lane = 0; lane < count; lane++) {
		uint16_t runs = waiting->runs[lane] & sums->runs[patterns[lane]];

		if (runs)
			put(search, stage + 1, waiting->seeds[lane], runs);
	}
}

static unsigned finish(struct search *search)
{
	for (unsigned stage = 0; stage < search->far->stage_count; stage++)
		pass_stage(search, stage);
	return search->count;
}

unsigned seeds_far_search(const struct seeds_far *far, uint32_t from, uint32_t count,
			  struct seeds_found *ret, unsigned most)
{
	struct search search = {.far = far, .found = ret, .most = most};

	for (uint32_t i = 0; i < count; i++)
		put(&search, 0, from + i, UINT16_MAX);
	return finish(&search);
}

unsigned seeds_far_search_these(const struct seeds_far *far, const uint32_t *these, unsigned count,
				struct seeds_found *ret, unsigned most)
{
	struct search search = {.far = far, .found = ret, .most = most};

	for (unsigned i = 0; i < count; i++)
		put(&search, 0, these[i], UINT16_MAX);
	return finish(&search);
}
