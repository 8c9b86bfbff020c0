/* Output j of a seeded generator, for j < 227, is made of words j, j + 1 and j + 397 of its state,
 * each of which comes from the one before by a multiplication: 397 steps, and no more to store
 * than the first words. They are done for SEEDS_LANES seeds side by side. A step is four
 * instructions that wait for each other, some 6 cycles, and a processor begins two to four in a
 * cycle: SEEDS_FLIGHT vectors in registers keep it busy (8: 46, 12: 52 million seeds/s of the 57
 * that the units of a Zen 4 with AVX2 at 2.8 GHz could do).
 *
 * The element at place s, where the permutation of n is made from output skip on, is s + z, with z
 * the output number skip + s modulo n - s. That y leaves p when divided by m = odd * 2^shift is to
 * say that (y - p) / m is a whole number, no greater than (2^32 - 1 - p) / m, and dividing by an
 * odd number exactly is multiplying by its inverse modulo 2^32 (Granlund and Montgomery, "Division
 * by Invariant Integers using Multiplication", PLDI 1994, section 9): then a subtraction and a
 * rotation for each p. The limit of p = 0 serves all; one seed in 2^32 / m passes wrongly.
 *
 * That is a sieve; one seed in n / firsts passes it and is tried in full, from the words that are
 * there: each further output costs two steps, and most seeds fail at the second element.
 *
 * What the sieve misses: an earlier swap may have put another element at place s + z, with a
 * probability of s / n. Up to 1 / EXACT that is accepted; beyond, all seeds are tried in full. Ways
 * that start at 0 never miss. */
#include "cache/order/seeds.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define SEEDS_LANES  192 /* a flight of the widest vectors */
#define SEEDS_FLIGHT 12	 /* vectors of 32 bytes; there are 16 registers */
#define SEEDS_BLOCK  4	 /* vectors that are sieved at a time */
#define EXACT	     64

_Static_assert(SEEDS_LAST < MT19937_WORDS - MT19937_NEAR, "outputs of words as seeded");
_Static_assert(SEEDS_LAST <= PERMUTATION_HEAD, "as many as may be dealt");

/* One for all ways with the same first output. */
struct sieve {
	uint32_t skip, start;
	bool open; /* passes all */
	uint32_t inverse, limit;
	unsigned shift, count;
	uint32_t firsts[SEEDS_FIRSTS]; /* p * inverse */
};

struct engine {
	unsigned bytes;
	void (*grow)(const uint32_t *from, uint32_t *to, const uint32_t *numbers,
		     const uint32_t *numbers_end);
	bool (*sieve)(const struct sieve *sieve, const uint32_t *words, const uint32_t *nexts,
		      const uint32_t *nears, uint32_t *hits);
};

struct seeds {
	struct seeds_seen seen;
	const struct engine *engine;
	uint32_t numbers[MT19937_WORDS]; /* 0, 1, 2, ...: adding one is a load into all lanes */
	struct seeds_way *ways;
	unsigned *sieve_of;   /* way */
	struct sieve *sieves; /* by rising output */
	unsigned way_count, sieve_count;
};

/* --- widths ---------------------------------------------------------------------------------- */

#define LANES_BYTES   16
#define LANES_NAME(f) f##_16
#define LANES_TARGET
#include "cache/order/seeds_lanes.h"

#ifdef __x86_64__
#define LANES_BYTES   32
#define LANES_NAME(f) f##_32
#define LANES_TARGET  __attribute__((target("avx2")))
#include "cache/order/seeds_lanes.h"

#define LANES_BYTES   64
#define LANES_NAME(f) f##_64
#define LANES_TARGET  __attribute__((target("avx512f")))
#include "cache/order/seeds_lanes.h"
#endif

/* The widest that the processor has, of `bytes` at most. */
static const struct engine *widest(unsigned bytes)
{
	static const struct engine engine_16 = {16, grow_16, sieve_16};
#ifdef __x86_64__
	static const struct engine engine_32 = {32, grow_32, sieve_32};
	static const struct engine engine_64 = {64, grow_64, sieve_64};

	if (bytes >= 64 && __builtin_cpu_supports("avx512f"))
		return &engine_64;
	if (bytes >= 32 && __builtin_cpu_supports("avx2"))
		return &engine_32;
#endif
	(void)bytes;
	return &engine_16;
}

unsigned seeds_narrow(struct seeds *seeds, unsigned bytes)
{
	seeds->engine = widest(bytes);
	return seeds->engine->bytes;
}

/* --- sieves ---------------------------------------------------------------------------------- */

static uint32_t inverse_of(uint32_t odd)
{
	uint32_t inverse = odd; /* right in the lowest 3 bits; each step doubles them */

	for (unsigned bits = 3; bits < 32; bits *= 2)
		inverse *= 2 - odd * inverse;
	return inverse;
}

static struct sieve sieve_for(const struct seeds_seen *seen, const struct seeds_way *way)
{
	struct sieve sieve = {.skip = way->skip, .start = way->start};
	uint32_t m = seen->n > way->start ? seen->n - way->start : 1;

	sieve.open = (uint64_t)way->start * EXACT > seen->n;
	sieve.shift = (unsigned)__builtin_ctz(m);
	sieve.inverse = inverse_of(m >> sieve.shift);
	sieve.limit = UINT32_MAX / m;
	for (unsigned i = 0; i < seen->first_count; i++)
		if (seen->firsts[i] >= way->start)
			sieve.firsts[sieve.count++] =
				(seen->firsts[i] - way->start) * sieve.inverse;
	return sieve;
}

static int by_output(const void *a, const void *b)
{
	const struct sieve *x = a, *y = b;
	uint32_t x_output = x->skip + x->start, y_output = y->skip + y->start;

	if (x_output != y_output)
		return x_output < y_output ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static unsigned sieve_find(const struct seeds *seeds, const struct seeds_way *way)
{
	unsigned i = 0;

	while (i < seeds->sieve_count &&
	       (seeds->sieves[i].skip != way->skip || seeds->sieves[i].start != way->start))
		i++;
	return i;
}

void seeds_free(struct seeds *seeds)
{
	if (!seeds)
		return;
	free(seeds->ways);
	free(seeds->sieve_of);
	free(seeds->sieves);
	free(seeds);
}

int seeds_new(const struct seeds_seen *seen, const struct seeds_way *ways, unsigned count,
	      struct seeds **ret)
{
	struct seeds *seeds = malloc(sizeof(*seeds));

	if (!seeds)
		return -ENOMEM;
	*seeds = (struct seeds){.seen = *seen,
				.engine = widest(UINT_MAX),
				.ways = calloc(count + 1, sizeof(*seeds->ways)),
				.sieve_of = calloc(count + 1, sizeof(*seeds->sieve_of)),
				.sieves = calloc(count + 1, sizeof(*seeds->sieves)),
				.way_count = count};
	if (!seeds->ways || !seeds->sieve_of || !seeds->sieves) {
		seeds_free(seeds);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < MT19937_WORDS; i++)
		seeds->numbers[i] = i;
	for (unsigned i = 0; i < count; i++)
		seeds->ways[i] = ways[i];
	for (unsigned i = 0; i < count; i++)
		if (sieve_find(seeds, &ways[i]) == seeds->sieve_count)
			seeds->sieves[seeds->sieve_count++] = sieve_for(seen, &ways[i]);
	qsort(seeds->sieves, seeds->sieve_count, sizeof(*seeds->sieves), by_output);
	for (unsigned i = 0; i < count; i++)
		seeds->sieve_of[i] = sieve_find(seeds, &ways[i]);
	*ret = seeds;
	return 0;
}

/* --- in full --------------------------------------------------------------------------------- */

/* A generator that has made its words only as far as they were asked for. */
struct lazy {
	uint32_t word, next, near;
	uint32_t number; /* of the output to come */
};

static uint32_t lazy_next(struct lazy *lazy)
{
	uint32_t y = mt19937_temper(mt19937_twist(lazy->word, lazy->next, lazy->near));

	lazy->number++;
	lazy->word = lazy->next;
	lazy->next = mt19937_grow(lazy->next, lazy->number + 1);
	lazy->near = mt19937_grow(lazy->near, lazy->number + MT19937_NEAR);
	return y;
}

/* A permutation that has been made only as far as it was asked for. */
struct lazy_order {
	struct lazy lazy; /* at the output of the next element */
	struct permutation_deal deal;
	uint32_t elements[PERMUTATION_HEAD];
};

/* Of a permutation shorter than the depth all elements are compared, and there must be one. */
static bool gives(const struct seeds_seen *seen, const struct seeds_way *way,
		  struct lazy_order *order)
{
	unsigned looked_at = 0;

	for (uint32_t place = way->start; looked_at < seen->depth && place < seen->n;
	     place += way->stride) {
		uint32_t element;

		for (uint32_t at = order->deal.count; at <= place; at++)
			order->elements[at] =
				permutation_deal_next(&order->deal, lazy_next(&order->lazy));
		element = order->elements[place];
		if (looked_at++ == 0 ? !seeds_seen_begins(seen, element)
				     : !seeds_seen_has(seen, element))
			return false;
	}
	return looked_at > 0;
}

/* --- side by side ---------------------------------------------------------------------------- */

struct lanes {
	_Alignas(64) uint32_t words[SEEDS_LAST + 2][SEEDS_LANES]; /* the first ones */
	_Alignas(64) uint32_t near[SEEDS_LANES];		  /* word MT19937_NEAR + output */
	_Alignas(64) uint32_t hits[SEEDS_LANES];
	uint32_t output;
};

struct finds {
	struct seeds_found *found;
	unsigned count, most;
};

static void try_lane(const struct seeds *seeds, unsigned sieve, const struct lanes *lanes,
		     unsigned lane, struct finds *finds)
{
	uint32_t skip = seeds->sieves[sieve].skip, near = lanes->near[lane];
	struct lazy_order order;

	/* The lane's words as they were at output `skip`. */
	for (uint32_t output = lanes->output; output > skip; output--)
		near = mt19937_shrink(near, output + MT19937_NEAR);
	order.lazy = (struct lazy){.word = lanes->words[skip][lane],
				   .next = lanes->words[skip + 1][lane],
				   .near = near,
				   .number = skip};
	permutation_deal_init(&order.deal, seeds->seen.n);
	for (unsigned way = 0; way < seeds->way_count; way++) {
		if (seeds->sieve_of[way] != sieve ||
		    !gives(&seeds->seen, &seeds->ways[way], &order))
			continue;
		if (finds->count < finds->most)
			finds->found[finds->count] =
				(struct seeds_found){lanes->words[0][lane], way};
		finds->count++;
	}
}

/* From words[0], which are the seeds. */
static void try_lanes(const struct seeds *seeds, unsigned count, struct lanes *lanes,
		      struct finds *finds)
{
	const struct sieve *last = &seeds->sieves[seeds->sieve_count - 1];
	const uint32_t *numbers = seeds->numbers, *near = numbers + MT19937_NEAR + 1;
	uint32_t words = last->skip + last->start + 1;

	for (uint32_t i = 1; i <= words; i++)
		seeds->engine->grow(lanes->words[i - 1], lanes->words[i], numbers + i,
				    numbers + i + 1);
	lanes->output = 0;
	seeds->engine->grow(lanes->words[words], lanes->near, numbers + words + 1, near);
	for (unsigned i = 0; i < seeds->sieve_count; i++) {
		const struct sieve *sieve = &seeds->sieves[i];
		uint32_t output = sieve->skip + sieve->start;

		seeds->engine->grow(lanes->near, lanes->near, near + lanes->output, near + output);
		lanes->output = output;
		if (!sieve->open &&
		    !seeds->engine->sieve(sieve, lanes->words[output], lanes->words[output + 1],
					  lanes->near, lanes->hits))
			continue;
		for (unsigned lane = 0; lane < count; lane++)
			if (sieve->open || lanes->hits[lane])
				try_lane(seeds, i, lanes, lane, finds);
	}
}

/* Of seeds that are given, or of those from `from` on. */
static unsigned search(const struct seeds *seeds, uint32_t from, const uint32_t *these,
		       unsigned count, struct seeds_found *ret, unsigned most)
{
	struct finds finds = {.found = ret, .most = most};
	struct lanes lanes;

	for (unsigned done = 0; done < count && seeds->sieve_count; done += SEEDS_LANES) {
		unsigned left = count - done < SEEDS_LANES ? count - done : SEEDS_LANES;

		for (unsigned lane = 0; lane < SEEDS_LANES; lane++)
			lanes.words[0][lane] =
				these ? these[done + (lane < left ? lane : 0)] : from + done + lane;
		try_lanes(seeds, left, &lanes, &finds);
	}
	return finds.count;
}

unsigned seeds_search(const struct seeds *seeds, uint32_t from, struct seeds_found *ret,
		      unsigned most)
{
	return search(seeds, from, NULL, SEEDS_STEP, ret, most);
}

bool seeds_search_these(const struct seeds *seeds, const uint32_t *these, unsigned count,
			struct seeds_found *ret)
{
	return search(seeds, 0, these, count, ret, 1) > 0;
}
