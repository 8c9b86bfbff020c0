#include "cache/order/streams.h"
#include "base/math.h"
#include "base/scope.h"
#include "cache/order/models.h"
#include "cache/order/mt19937_eight.h"
#include <stdlib.h>
#include <string.h>

#define GROUPS	(SAMPLER_ROOTS / MT19937_LANES)
#define ROWS	4096 /* outputs of eight generators that are tried together: 1 ms */
#define SKIPPED 2048 /* blocks, at most, until hooks->over is asked again */

/* The usual comes first: the weights of nine models in ten end before NEAR. */
#define NEAR	     ((uint64_t)96000000)
#define USUAL_GROUPS 2

_Static_assert(SAMPLER_ROOTS % MT19937_LANES == 0, "a lane for each root");

/* Eight generators, a block of outputs at a time. */
struct walk {
	struct mt19937_eight eight;
	const uint32_t *roots; /* their seeds */
	uint64_t made;	       /* outputs of each */
};

static void walk_begin(struct walk *walk, unsigned group)
{
	walk->roots = sampler_popular + group * MT19937_LANES;
	walk->made = 0;
	mt19937_eight_init(&walk->eight, walk->roots);
}

/* Returns the number of the first output of the block. */
static uint64_t walk_next(struct walk *walk)
{
	mt19937_eight_next(&walk->eight);
	walk->made += MT19937_WORDS;
	return walk->made - MT19937_WORDS;
}

static struct sampler drawn(struct sampler like, uint32_t root, uint64_t word)
{
	like.rule = SAMPLER_WORDS;
	like.root = root;
	like.word = word;
	return like;
}

/* --- which seed of a usual script fits ------------------------------------------------------- */

/* Outputs that may be seeds, and the way through all of them. */
struct models_search {
	const struct seeds *seeds;
	const struct search_hooks *hooks;
	struct models_span *spans; /* of outputs that may be */
	unsigned span_count;
	unsigned span; /* the first that has not ended */
	struct walk walks[GROUPS];
	unsigned count; /* of rows */
	uint64_t words[ROWS];
	uint32_t rows[ROWS][MT19937_LANES];
};

static void add_outputs(struct models_search *search, const struct walk *walk, uint64_t begin,
			const struct models_span *span)
{
	uint64_t from = max(begin, span->begin), end = min(begin + MT19937_WORDS, span->end);

	for (uint64_t word = max(from, 1); word < end; word++) { /* a seed is the second of two */
		search->words[search->count] = word;
		for (unsigned lane = 0; lane < MT19937_LANES; lane++)
			search->rows[search->count][lane] =
				mt19937_eight_output(&walk->eight, (unsigned)(word - begin), lane);
		search->count++;
	}
}

static void add_block(struct models_search *search, struct walk *walk)
{
	uint64_t begin = walk_next(walk);

	while (search->span < search->span_count && search->spans[search->span].end <= begin)
		search->span++;
	for (unsigned i = search->span;
	     i < search->span_count && search->spans[i].begin < begin + MT19937_WORDS; i++)
		add_outputs(search, walk, begin, &search->spans[i]);
}

static bool try_rows(struct models_search *search, const struct walk *walk, struct sampler *ret)
{
	unsigned count = search->count * MT19937_LANES, i = 0;
	const uint32_t *outputs = &search->rows[0][0];
	struct seeds_found found;

	search->count = 0;
	if (!seeds_search_these(search->seeds, outputs, count, &found, 1))
		return false;
	while (outputs[i] != found.seed)
		i++;
	*ret = drawn((struct sampler){.seed = found.seed}, walk->roots[i % MT19937_LANES],
		     search->words[i / MT19937_LANES]);
	return true;
}

static bool search_until(struct models_search *search, struct walk *walk, uint64_t until,
			 struct sampler *ret)
{
	search->span = search->count = 0;
	for (unsigned blocks = 0; walk->made < until; blocks++) {
		if (blocks % SKIPPED == 0 && search->hooks->over(search->hooks->context))
			return false;
		add_block(search, walk);
		if (search->count > ROWS - MT19937_WORDS && try_rows(search, walk, ret))
			return true;
	}
	return try_rows(search, walk, ret);
}

static bool search_all(struct models_search *search, struct sampler *ret)
{
	uint64_t end = search->spans[search->span_count - 1].end;

	for (unsigned group = 0; group < GROUPS; group++)
		walk_begin(&search->walks[group], group);
	for (unsigned group = 0; group < USUAL_GROUPS; group++)
		if (search_until(search, &search->walks[group], NEAR, ret))
			return true;
	for (unsigned group = 0; group < GROUPS; group++)
		if (search_until(search, &search->walks[group], end, ret))
			return true;
	return false;
}

bool streams_search(uint32_t classes, const struct seeds *seeds, const struct search_hooks *hooks,
		    struct sampler *ret)
{
	SCOPE_FREE struct models_search *search =
		aligned_alloc(_Alignof(struct models_search), sizeof(*search));
	bool found;

	if (!search)
		return false;
	memset(search, 0, sizeof(*search));
	search->seeds = seeds;
	search->hooks = hooks;
	search->spans = models_spans(classes, &search->span_count);
	found = search->spans && search_all(search, ret);
	free(search->spans);
	return found;
}

/* --- what follows ----------------------------------------------------------------------------- */

/* A known epoch's seed is the second output of a pair: those of the next pairs are tried first. */
static uint32_t place_of_output(uint32_t output)
{
	return output / 2 + (output % 2 ? 0 : STREAMS_AFTER / 2);
}

bool streams_follow(const struct sampler *known, const struct seeds *seeds, struct sampler *ret)
{
	SCOPE_FREE uint32_t *outputs = malloc(STREAMS_AFTER * sizeof(*outputs));
	struct seeds_found found;
	struct mt19937 mt;
	uint32_t at = 0;

	if (!outputs)
		return false;
	mt19937_init(&mt, known->root);
	mt19937_skip(&mt, known->word + 1);
	for (uint32_t i = 0; i < STREAMS_AFTER; i++)
		outputs[place_of_output(i)] = mt19937_next(&mt);
	if (!seeds_search_these(seeds, outputs, STREAMS_AFTER, &found, 1))
		return false;
	while (outputs[place_of_output(at)] != found.seed)
		at++;
	*ret = drawn(*known, known->root, known->word + at + 1);
	ret->seed = found.seed;
	ret->step = at + 1;
	return true;
}

/* --- where a seed comes from -------------------------------------------------------------------
 */

/* mt19937_temper() backwards. Its first step and its third undo themselves. */
static uint32_t untemper(uint32_t tempered)
{
	uint32_t y = tempered ^ tempered >> 18, x;

	x = y ^= y << 15 & 0xefc60000u;
	for (unsigned right = 7; right < 32; right += 7) /* bits */
		x = y ^ (x << 7 & 0x9d2c5680u);
	return x ^ x >> 11 ^ x >> 22;
}

/* The first output of all is not the second of a pair. */
static unsigned compare_block(const struct walk *walk, uint64_t begin,
			      const struct sampler *sampler, struct sampler *ret, unsigned most)
{
	unsigned count = 0;

	for (unsigned i = 0; i < MT19937_WORDS; i++)
		for (unsigned lane = 0; lane < MT19937_LANES; lane++)
			if (walk->eight.words[i][lane] == walk->eight.wanted[lane] &&
			    begin + i > 0 && count < most)
				ret[count++] = drawn(*sampler, walk->roots[lane], begin + i);
	return count;
}

unsigned streams_origins(const struct sampler *sampler, uint64_t outputs,
			 const struct search_hooks *hooks, struct sampler *ret, unsigned most)
{
	unsigned count = 0;
	struct walk walk;

	for (unsigned group = 0; group < GROUPS; group++) {
		walk_begin(&walk, group);
		walk.eight.wanted += untemper(sampler->seed);
		for (unsigned block = 0; walk.made < outputs && count < most; block++) {
			uint64_t begin = walk_next(&walk);

			if (block % SKIPPED == 0 && hooks->over(hooks->context))
				return count;
			if (mt19937_eight_hit(&walk.eight))
				count += compare_block(&walk, begin, sampler, ret + count,
						       most - count);
		}
	}
	return count;
}
