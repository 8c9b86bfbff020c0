#include "cache/order/streams.h"
#include "base/scope.h"
#include "cache/order/mt19937_eight.h"
#include "cache/order/streams_depths.h"
#include <stdlib.h>

#define GROUPS	(SAMPLER_ROOTS / MT19937_LANES)
#define BLOCKS	16   /* whose outputs are tried together: 40,000 seeds, 1 ms */
#define SKIPPED 2048 /* blocks, at most, between two looks at hooks->stopped */
#define PAIRS	(MT19937_WORDS / 2)
#define DEPTHS	(sizeof(streams_depths) / sizeof(*streams_depths))

/* Outputs from the end of a model's weights on: room for another head, of 2048 * 10 weights. */
#define WINDOW 24576
#define BEGIN  524288 /* all outputs before this one are tried */

_Static_assert(SAMPLER_ROOTS % MT19937_LANES == 0, "a lane for each root");
_Static_assert(MT19937_WORDS % 2 == 0, "a pair is of one block");

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

/* --- which seed of a usual script fits ---------------------------------------------------------
 */

/* Outputs with odd or even numbers of BLOCKS blocks. */
struct piece {
	struct walk walk;
	unsigned odd;
	unsigned depth; /* the first of streams_depths whose window has not ended */
	unsigned count;
	uint64_t begin[BLOCKS];
	uint32_t seeds[BLOCKS][PAIRS][MT19937_LANES];
};

static bool has_ended(const struct piece *piece)
{
	return piece->walk.made >= streams_depths[DEPTHS - 1] + WINDOW;
}

/* Whether the block that begins there is to be tried. */
static bool is_wanted(struct piece *piece, uint64_t begin)
{
	if (begin < BEGIN)
		return true;
	while (piece->depth < DEPTHS && streams_depths[piece->depth] + WINDOW <= begin)
		piece->depth++;
	return piece->depth < DEPTHS && streams_depths[piece->depth] < begin + MT19937_WORDS;
}

static void add_block(struct piece *piece, uint64_t begin)
{
	unsigned at = piece->count++;

	piece->begin[at] = begin;
	for (unsigned pair = 0; pair < PAIRS; pair++)
		for (unsigned lane = 0; lane < MT19937_LANES; lane++)
			piece->seeds[at][pair][lane] = mt19937_eight_output(
				&piece->walk.eight, 2 * pair + piece->odd, lane);
}

static void make_piece(struct piece *piece)
{
	piece->count = 0;
	for (unsigned i = 0; i < SKIPPED && piece->count < BLOCKS && !has_ended(piece); i++) {
		uint64_t begin = walk_next(&piece->walk);

		if (is_wanted(piece, begin))
			add_block(piece, begin);
	}
}

/* Where the seed is in a piece. */
static bool find_word(const struct piece *piece, uint32_t seed, struct sampler *ret)
{
	for (unsigned i = 0; i < piece->count * PAIRS * MT19937_LANES; i++) {
		unsigned lane = i % MT19937_LANES, pair = i / MT19937_LANES % PAIRS;
		unsigned at = i / MT19937_LANES / PAIRS;
		uint64_t word = piece->begin[at] + 2 * pair + piece->odd;

		if (piece->seeds[at][pair][lane] != seed || word == 0)
			continue;
		*ret = drawn((struct sampler){.seed = seed}, piece->walk.roots[lane], word);
		return true;
	}
	return false;
}

static bool try_piece(struct piece *piece, const struct seeds *seeds, struct sampler *ret)
{
	struct seeds_found found;

	make_piece(piece);
	return seeds_search_these(seeds, &piece->seeds[0][0][0],
				  piece->count * PAIRS * MT19937_LANES, &found, 1) &&
	       find_word(piece, found.seed, ret);
}

bool streams_search(const struct seeds *seeds, const struct search_hooks *hooks,
		    struct sampler *ret)
{
	static const struct {
		unsigned group, odd;
	} likeliest[] = {{0, 1}, {1, 1}, {0, 0}, {2, 1}, {3, 1}, {1, 0}, {2, 0}, {3, 0}};
	SCOPE_FREE struct piece *piece = aligned_alloc(_Alignof(struct piece), sizeof(*piece));

	_Static_assert(2 * GROUPS == sizeof(likeliest) / sizeof(*likeliest), "all outputs");
	for (unsigned i = 0; piece && i < 2 * GROUPS; i++) {
		walk_begin(&piece->walk, likeliest[i].group);
		piece->odd = likeliest[i].odd;
		piece->depth = 0;
		while (!has_ended(piece)) {
			if (hooks->stopped(hooks->context))
				return false;
			if (try_piece(piece, seeds, ret))
				return true;
		}
	}
	return false;
}

/* --- what follows ----------------------------------------------------------------------------- */

/* A known epoch's seed is the second output of a pair: those of the next pairs are tried first. */
static uint32_t place_of(uint32_t output)
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
		outputs[place_of(i)] = mt19937_next(&mt);
	if (!seeds_search_these(seeds, outputs, STREAMS_AFTER, &found, 1))
		return false;
	while (outputs[place_of(at)] != found.seed)
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
static unsigned look_at_block(const struct walk *walk, uint64_t begin,
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

			if (block % SKIPPED == 0 && hooks->stopped(hooks->context))
				return count;
			if (mt19937_eight_hit(&walk.eight))
				count += look_at_block(&walk, begin, sampler, ret + count,
						       most - count);
		}
	}
	return count;
}
