#include "cache/order/streams.h"
#include "cache/order/mt19937_eight.h"
#include "cache/order/streams_depths.h"
#include <errno.h>
#include <stdlib.h>

#define GROUPS	(SAMPLER_ROOTS / MT19937_LANES)
#define UNITS	(2 * GROUPS)
#define BLOCKS	16   /* that are tried at a time: 40,000 seeds, 1 ms */
#define SKIPPED 2048 /* blocks, at most, on the way to these */
#define PAIRS	(MT19937_WORDS / 2)
#define DEPTHS	(sizeof(streams_depths) / sizeof(*streams_depths))

/* Outputs from the end of a model's weights on: room for another head, of 2048 * 10 weights. */
#define WINDOW 24576
#define BEGIN  524288 /* all of so many are tried */

_Static_assert(SAMPLER_ROOTS % MT19937_LANES == 0, "a lane for each root");
_Static_assert(GROUPS == 4, "order of units");
_Static_assert(MT19937_WORDS % 2 == 0, "a pair is of one block");

/* Outputs with odd or even numbers of eight generators. */
struct unit {
	struct mt19937_eight eight;
	uint64_t made; /* outputs */
	uint32_t root; /* the first, in sampler_popular */
	bool odd;
	unsigned depth; /* the first of streams_depths that is not behind */
};

/* The outputs of one parity of BLOCKS blocks, those of eight generators side by side. */
struct piece {
	uint64_t begin[BLOCKS];
	uint32_t seeds[BLOCKS][PAIRS][MT19937_LANES];
	unsigned count;
};

struct streams {
	struct unit units[UNITS]; /* likeliest first */
	unsigned next;
	struct piece piece;
};

/* --- units ------------------------------------------------------------------------------------ */

static void unit_init(struct unit *unit, unsigned group, bool odd)
{
	*unit = (struct unit){.root = group * MT19937_LANES, .odd = odd};
	mt19937_eight_init(&unit->eight, sampler_popular + unit->root);
}

int streams_new(struct streams **ret)
{
	static const struct {
		unsigned group;
		bool odd;
	} order[UNITS] = {{0, true}, {1, true},	 {0, false}, {2, true},
			  {3, true}, {1, false}, {2, false}, {3, false}};
	struct streams *streams = aligned_alloc(_Alignof(struct streams), sizeof(*streams));

	if (!streams)
		return -ENOMEM;
	for (unsigned i = 0; i < UNITS; i++)
		unit_init(&streams->units[i], order[i].group, order[i].odd);
	streams->next = 0;
	*ret = streams;
	return 0;
}

void streams_free(struct streams *streams)
{
	free(streams);
}

static bool unit_ended(const struct unit *unit)
{
	return unit->made >= streams_depths[DEPTHS - 1] + WINDOW;
}

bool streams_ended(const struct streams *streams)
{
	return streams->next == UNITS;
}

/* --- pieces ----------------------------------------------------------------------------------- */

/* Whether the block that begins there is to be tried. */
static bool is_wanted(struct unit *unit, uint64_t begin)
{
	if (begin < BEGIN)
		return true;
	while (unit->depth < DEPTHS && streams_depths[unit->depth] + WINDOW <= begin)
		unit->depth++;
	return unit->depth < DEPTHS && streams_depths[unit->depth] < begin + MT19937_WORDS;
}

static void take_block(const struct unit *unit, uint64_t begin, struct piece *piece)
{
	unsigned at = piece->count++;

	piece->begin[at] = begin;
	for (unsigned pair = 0; pair < PAIRS; pair++)
		for (unsigned lane = 0; lane < MT19937_LANES; lane++)
			piece->seeds[at][pair][lane] =
				mt19937_eight_output(&unit->eight, 2 * pair + unit->odd, lane);
}

static void make_piece(struct unit *unit, struct piece *piece)
{
	piece->count = 0;
	for (unsigned i = 0; i < SKIPPED && piece->count < BLOCKS && !unit_ended(unit); i++) {
		mt19937_eight_next(&unit->eight);
		if (is_wanted(unit, unit->made))
			take_block(unit, unit->made, piece);
		unit->made += MT19937_WORDS;
	}
}

/* Where the seed is in a piece. An output 0 is not the second of a pair. */
static bool find_word(const struct unit *unit, const struct piece *piece, uint32_t seed,
		      struct sampler *ret)
{
	for (unsigned i = 0; i < piece->count * PAIRS * MT19937_LANES; i++) {
		unsigned lane = i % MT19937_LANES, pair = i / MT19937_LANES % PAIRS;
		unsigned at = i / MT19937_LANES / PAIRS;
		uint64_t word = piece->begin[at] + 2 * pair + unit->odd;

		if (piece->seeds[at][pair][lane] != seed || word == 0)
			continue;
		*ret = (struct sampler){.rule = SAMPLER_WORDS,
					.seed = seed,
					.root = sampler_popular[unit->root + lane],
					.word = word};
		return true;
	}
	return false;
}

bool streams_try(struct streams *streams, const struct seeds *seeds, struct sampler *ret)
{
	struct unit *unit = &streams->units[streams->next];
	struct piece *piece = &streams->piece;
	struct seeds_found found;

	if (streams_ended(streams))
		return false;
	make_piece(unit, piece);
	streams->next += unit_ended(unit);
	return seeds_search_these(seeds, &piece->seeds[0][0][0],
				  piece->count * PAIRS * MT19937_LANES, &found, 1) &&
	       find_word(unit, piece, found.seed, ret);
}

/* --- what follows ----------------------------------------------------------------------------- */

/* Seconds of pairs as the known one is: outputs 1, 3, 5, ... of these; then the others. */
static bool follow_in(const struct sampler *known, unsigned first, const struct seeds *seeds,
		      uint32_t *outputs, struct sampler *ret)
{
	struct seeds_found found;
	struct mt19937 mt;

	mt19937_init(&mt, known->root);
	mt19937_skip(&mt, known->word + 1);
	for (uint32_t i = 0; i < STREAMS_AFTER; i++) {
		uint32_t output = mt19937_next(&mt);

		if (i % 2 == first)
			outputs[i / 2] = output;
	}
	if (!seeds_search_these(seeds, outputs, STREAMS_AFTER / 2, &found, 1))
		return false;
	for (uint32_t i = 0; i < STREAMS_AFTER / 2; i++)
		if (outputs[i] == found.seed) {
			*ret = *known;
			ret->seed = found.seed;
			ret->step = 2 * (uint64_t)i + first + 1;
			ret->word += ret->step;
			return true;
		}
	return false;
}

bool streams_follow(const struct sampler *known, const struct seeds *seeds, struct sampler *ret)
{
	uint32_t *outputs = malloc(STREAMS_AFTER / 2 * sizeof(*outputs));
	bool found = false;

	for (unsigned i = 0; outputs && i < 2 && !found; i++)
		found = follow_in(known, 1 - i, seeds, outputs, ret);
	free(outputs);
	return found;
}
