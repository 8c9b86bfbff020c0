#include "cache/order/streams.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include "cache/order/mt19937.h"
#include <stdlib.h>
#include <string.h>

#define GROUPS	(SAMPLER_ROOTS / MT19937_LANES)
#define ROWS	4096 /* outputs of eight generators that are tried together: 1 ms */
#define SKIPPED 2048 /* blocks, at most, until hooks->over is asked again */

/* The usual comes first: the weights of nine models in ten end before NEAR. */
#define NEAR	      ((uint64_t)96000000)
#define USUAL_GROUPS  1
#define LIKELY_GROUPS 2

_Static_assert(SAMPLER_ROOTS % MT19937_LANES == 0, "a lane for each root");

/* --- where the weights of well-known models end ----------------------------------------------
 *
 *	torch.manual_seed(42); model = resnet50(num_classes=10); for .. in DataLoader(shuffle=True)
 *
 * RandomSampler draws each epoch's seed from the generator that made the weights before. How many
 * outputs a model takes follows from its architecture and its number of classes: so many for all
 * but the last layer, and so many for each class. Scripts make it for the classes of the dataset,
 * or for ImageNet's 1000, or for these and then put a last layer of their own in its place. */
#define IMAGENET 1000
#define WAYS	 3

/* Outputs for all but the last layer, and for each class; and features that the last layer has. */
struct model {
	uint32_t base;
	uint16_t class, features;
};

/* Models of torchvision 0.14 and 0.29, timm 1.0 and transformers 5 that take fewer than 3 * 10^8
 * outputs; measured by tests/clients/scripts/models.py, with torch 1.13 and 2.15. */
/* clang-format off */
static const struct model models[] = {
	{333840, 1025, 1024}, {1237424, 1025, 1024}, {1442048, 1025, 512},
	{1467872, 1025, 512}, {1833824, 2561, 1280}, {2455184, 1025, 1024},
	{3007624, 2049, 1024}, {3321616, 2561, 1280}, {3718880, 2561, 1280},
	{3879540, 1281, 1280}, {4379520, 2561, 1280}, {4936016, 2561, 1280},
	{5311280, 2049, 2048}, {6108144, 1537, 768}, {6128864, 2561, 1280},
	{6370176, 2049, 1024}, {6610112, 513, 256}, {6789312, 513, 256},
	{6940835, 2561, 1280}, {7746776, 881, 440}, {7911568, 2561, 1280},
	{7921724, 2561, 1280}, {8349016, 2561, 1280}, {9698348, 2561, 1280},
	{9821808, 1281, 640}, {9827936, 1281, 640}, {9904960, 2561, 1280},
	{10114240, 801, 400}, {10176032, 769, 256}, {10521456, 609, 304},
	{10796352, 577, 192}, {10823232, 385, 192}, {10923064, 1537, 768},
	{11228568, 1569, 784}, {11582816, 2561, 1280}, {12888112, 2561, 1280},
	{13098688, 1345, 672}, {13740416, 1025, 1024}, {14102496, 1794, 448},
	{15251442, 2817, 1408}, {15632288, 2561, 1280}, {16467264, 1825, 912},
	{16733360, 2561, 1280}, {17787744, 2050, 512}, {19827584, 6147, 1024},
	{20511350, 1777, 888}, {21197840, 3073, 1536}, {22333824, 513, 512},
	{22372032, 513, 512}, {22744704, 1025, 512}, {24652160, 1665, 1664},
	{24805248, 2049, 2048}, {27830656, 2049, 2048}, {28449984, 2017, 1008},
	{29846960, 1281, 640}, {34817808, 3585, 1792}, {35701946, 3025, 1512},
	{35727744, 1921, 1920}, {37030336, 5121, 2560}, {37672256, 1025, 512},
	{38395224, 2049, 2048}, {38978872, 2177, 1088}, {38978872, 2178, 1088},
	{39360112, 257, 256}, {40012056, 2561, 1280}, {41079648, 1537, 1536},
	{41101696, 2049, 1024}, {41941088, 2049, 1024}, {42535296, 513, 512},
	{42573504, 513, 512}, {42879744, 769, 384}, {42880128, 769, 384},
	{43502272, 4097, 2048}, {43938464, 3585, 1792}, {45823360, 2049, 2048},
	{46909824, 2049, 2048}, {46909824, 4097, 2048}, {46948032, 2049, 2048},
	{47181400, 2049, 2048}, {47385984, 2049, 2048}, {48614080, 5634, 2048},
	{49584384, 1025, 512}, {50583312, 769, 384}, {50729888, 2049, 2048},
	{51955760, 2049, 2048}, {52504128, 2209, 2208}, {53163712, 2049, 1024},
	{53194082, 769, 768}, {54902688, 1537, 768}, {54921402, 1537, 768},
	{55056864, 1537, 768}, {55070304, 1537, 768}, {55230852, 1537, 768},
	{55553184, 1537, 768}, {56295808, 4097, 2048}, {57003840, 4097, 4096},
	{58551552, 4097, 2048}, {58623808, 1153, 384}, {60582536, 1024, 512},
	{65421648, 4609, 2304}, {67160192, 2049, 2048}, {68849320, 513, 512},
	{70364736, 6146, 2048}, {72195834, 1537, 768}, {72344544, 1537, 768},
	{74539864, 4033, 2016}, {75122368, 3841, 1920}, {80969976, 4609, 2304},
	{81098432, 2049, 1024}, {84789632, 2049, 2048}, {92479872, 769, 384},
	{97454538, 1537, 768}, {98739360, 1537, 768}, {104236736, 4097, 2048},
	{105064844, 2561, 1280}, {115984768, 2049, 2048}, {118145568, 769, 768},
	{126879280, 5121, 2560}, {128907786, 1537, 768}, {129210336, 1537, 768},
	{133532032, 2049, 2048}, {136675152, 6145, 3072}, {142990848, 769, 768},
	{146416896, 769, 768}, {160861876, 6049, 3024}, {170515968, 2305, 768},
	{170694912, 1537, 768}, {171123456, 1537, 768}, {171132672, 1537, 768},
	{171436800, 1537, 768}, {172351488, 1537, 768}, {173078912, 2049, 2048},
	{174906240, 2049, 1024}, {190437680, 7681, 2560}, {229089976, 2049, 1024},
	{256637952, 4609, 1536}, {256960512, 4609, 1536}, {257521728, 8193, 4096},
	{257890560, 8193, 4096}, {268508672, 8193, 4096}, {279126784, 8193, 4096},
};
/* clang-format on */

#define MODELS (sizeof(models) / sizeof(*models))

struct models_span *models_spans(uint32_t classes, unsigned *ret_count)
{
	struct models_span *spans = malloc((1 + WAYS * MODELS) * sizeof(*spans));
	unsigned count = 0, last = 0;

	if (!spans)
		return NULL;
	spans[count++] = (struct models_span){0, MODELS_BEGIN};
	for (unsigned i = 0; i < MODELS; i++) {
		const struct model *model = &models[i];
		uint64_t usual = model->base + (uint64_t)IMAGENET * model->class;
		uint64_t ends[WAYS] = {usual, model->base + (uint64_t)classes * model->class,
				       usual + (uint64_t)classes * (model->features + 1u)};

		for (unsigned way = 0; way < (classes ? WAYS : 1); way++)
			if (ends[way] < MODELS_END)
				spans[count++] =
					(struct models_span){ends[way], ends[way] + MODELS_WINDOW};
	}
	qsort(spans, count, sizeof(*spans), search_compare64);
	for (unsigned i = 1; i < count; i++) /* those that meet are one */
		if (spans[i].begin > spans[last].end)
			spans[++last] = spans[i];
		else
			spans[last].end = max(spans[last].end, spans[i].end);
	*ret_count = last + 1;
	return spans;
}

/* --- eight generators ------------------------------------------------------------------------ */

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
	if (!seeds_search_these(search->seeds, outputs, count, &found))
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

static bool search_walks(struct models_search *search, bool all, struct sampler *ret)
{
	uint64_t end = search->spans[search->span_count - 1].end;

	for (unsigned group = 0; group < GROUPS; group++)
		walk_begin(&search->walks[group], group);
	for (unsigned group = 0; group < (all ? LIKELY_GROUPS : USUAL_GROUPS); group++)
		if (search_until(search, &search->walks[group], NEAR, ret))
			return true;
	for (unsigned group = 0; all && group < GROUPS; group++)
		if (search_until(search, &search->walks[group], end, ret))
			return true;
	return false;
}

bool streams_search(uint32_t classes, bool all, const struct seeds *seeds,
		    const struct search_hooks *hooks, struct sampler *ret)
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
	found = search->spans && search_walks(search, all, ret);
	free(search->spans);
	return found;
}

/* --- what follows ----------------------------------------------------------------------------- */

/* A known epoch's seed is the second output of a pair: those of the next pairs are tried first. */
bool streams_follow(const struct sampler *known, const struct seeds *seeds, struct sampler *ret)
{
	SCOPE_FREE uint32_t *outputs = malloc(STREAMS_AFTER * sizeof(*outputs));
	const uint32_t half = STREAMS_AFTER / 2;
	struct seeds_found found;
	struct mt19937 mt;
	uint32_t at = 0;

	if (!outputs)
		return false;
	mt19937_init(&mt, known->root);
	mt19937_skip(&mt, known->word + 1);
	for (uint32_t i = 0; i < STREAMS_AFTER; i++)
		outputs[i / 2 + (i % 2 ? 0 : half)] = mt19937_next(&mt);
	if (!seeds_search_these(seeds, outputs, STREAMS_AFTER, &found))
		return false;
	while (outputs[at / 2 + (at % 2 ? 0 : half)] != found.seed)
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
			for (unsigned i = 0;
			     mt19937_eight_hit(&walk.eight) && i < MT19937_WORDS * MT19937_LANES;
			     i++) {
				unsigned word = i / MT19937_LANES, lane = i % MT19937_LANES;

				/* The first output of all is not the second of a pair. */
				if (walk.eight.words[word][lane] == walk.eight.wanted[lane] &&
				    begin + word > 0 && count < most)
					ret[count++] =
						drawn(*sampler, walk.roots[lane], begin + word);
			}
		}
	}
	return count;
}
