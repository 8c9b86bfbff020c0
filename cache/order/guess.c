/* From observations to a hypothesis: `tries` says in which order. Each way that is tried costs time
 * and takes more files to be sure of (candidate_depth()). */
#include "cache/order/ranks.h"
#include "cache/order/streams.h"
#include <stdlib.h>
#include <string.h>

#define RANKS	    64
#define MISSED	    16 /* epochs in a row, at most, after which one is known to follow another */
#define LATEST	    4  /* known epochs that may go on in another way than before */
#define BATCH_STEP  4  /* divides most sizes of batches; 10 divides most others */
#define CONVENTIONS 1000000   /* no more are tried */
#define USUAL	    (1 << 26) /* the same of what usual scripts draw, */
#define ALL	    ((double)SEEDS_ALL * (2 + RANKS_WORLD)) /* and of all seeds */
#define FOUND	    16

/* --- one by one -- --------------------------------------------------------------------------- */

static void add_ranks_begun(const struct candidate *candidate, struct sampler *sampler)
{
	if (sampler_world(sampler) > 1)
		sampler->part.ranks |= ranks_begun(candidate, sampler);
}

static bool try_next(const struct candidate *candidate, const struct sampler *known,
		     struct sampler *ret)
{
	struct sampler next[SAMPLER_NEXT];
	unsigned count = sampler_next(known, candidate->list->count, next);
	unsigned depth = candidate_depth(candidate, count * GUESS_KNOWN);

	for (unsigned i = 0; depth && i < count && !candidate_is_over(candidate); i++)
		if (candidate_fits(candidate, &next[i], depth)) {
			*ret = next[i];
			add_ranks_begun(candidate, ret);
			return true;
		}
	return false;
}

/* --- epochs that were missed -- */

/* How many epochs were read after a known one, before the present one. */
static uint64_t epochs_missed(const struct candidate *candidate, const struct hypothesis *known)
{
	const struct sampler_part *part = &known->sampler.part;
	double share =
		part->world > 1 ? (double)__builtin_popcountll(part->ranks) / part->world : 1;
	double files = share * (candidate->list->count - candidate->hidden_count);
	double epochs = (double)known->missed / (files + 1) + 0.5;

	return epochs < MISSED ? (uint64_t)epochs : MISSED;
}

/* How many epochs `next` comes after the known one: as the generator says, where it does; else all
 * that were missed and one more, each an equal part of the step. */
static uint64_t epochs_between(const struct sampler *known, struct sampler *next, uint64_t missed)
{
	bool is_word = next->rule == SAMPLER_WORDS;
	uint64_t outputs = is_word ? next->word - known->word : next->skip - known->skip;

	if (next->rule == SAMPLER_RESEED)
		return next->seed - known->seed;
	if (next->rule == SAMPLER_SAME)
		return missed + 1;
	if (known->rule == next->rule && known->step && outputs % known->step == 0) {
		next->step = known->step;
		return outputs / known->step;
	}
	if (missed == 0 || outputs % (missed + 1))
		return 1;
	next->step = outputs / (missed + 1);
	return missed + 1;
}

static void set_epoch(const struct candidate *candidate, const struct hypothesis *known,
		      struct hypothesis *ret)
{
	ret->epoch = known->epoch + epochs_between(&known->sampler, &ret->sampler,
						   epochs_missed(candidate, known));
}

/* What follows a known epoch, when some epochs between were missed. */
static bool try_later(const struct candidate *candidate, const struct hypothesis *known,
		      struct sampler *ret)
{
	uint64_t missed = epochs_missed(candidate, known);
	struct sampler later = known->sampler, next[SAMPLER_NEXT];
	bool found = false;

	if (later.rule == SAMPLER_UNKNOWN || later.rule == SAMPLER_RESEED) {
		later.rule = SAMPLER_RESEED;
		for (unsigned i = 0; i < MISSED && !found; i++) {
			later.seed++;
			found = try_next(candidate, &later, ret);
		}
		return found;
	}
	if (missed == 0 || later.step == 0)
		return false;
	if (later.rule == SAMPLER_WORDS) /* at once: those between take long to make */
		later.word += missed * later.step;
	for (uint64_t i = 0; later.rule == SAMPLER_STREAM && i < missed; i++) {
		sampler_next(&later, candidate->list->count, next);
		later = next[0];
	}
	return try_next(candidate, &later, ret);
}

/* A sampler does not always go on in the same way: a loader for validation draws a seed now and
 * then; set_epoch() is called late, or a loader is made anew. */
static bool try_otherwise(const struct candidate *candidate, const struct hypothesis *known,
			  struct hypothesis *ret)
{
	struct sampler unlearned = known->sampler;

	unlearned.step = 0;
	if (unlearned.rule == SAMPLER_RESEED || unlearned.rule == SAMPLER_SAME)
		unlearned.rule = SAMPLER_UNKNOWN;
	if (known->list != candidate->list ||
	    (!known->sampler.step && unlearned.rule == known->sampler.rule) ||
	    !try_next(candidate, &unlearned, &ret->sampler))
		return false;
	set_epoch(candidate, known, ret);
	return true;
}

/* Ranks of a known epoch that begin later than others. */
static bool try_other_ranks(const struct candidate *candidate, const struct sampler *known,
			    struct sampler *ret)
{
	uint32_t world = sampler_world(known);
	unsigned depth = candidate_depth(candidate, (double)GUESS_KNOWN * world);

	*ret = *known;
	ret->part.ranks = 1;
	for (uint32_t rank = 0; depth && world > 1 && rank < world; rank++) {
		ret->part.first = rank;
		if (candidate_fits(candidate, ret, depth)) {
			add_ranks_begun(candidate, ret);
			return true;
		}
	}
	return false;
}

/* Whether a known epoch came later: then what follows this one has come already. To make it again
 * takes long, after many outputs. */
static bool is_past(const struct observations *observations, unsigned at)
{
	const struct hypothesis *known = observations->known;
	const struct sampler *sampler = &known[at].sampler;

	for (unsigned i = 0; i < at; i++) {
		const struct sampler *later = &known[i].sampler;

		if (known[i].list != known[at].list || later->rule != sampler->rule)
			continue;
		if (sampler->rule == SAMPLER_WORDS && later->root == sampler->root &&
		    later->word > sampler->word)
			return true;
		if (sampler->rule == SAMPLER_STREAM && later->seed == sampler->seed &&
		    later->skip > sampler->skip)
			return true;
	}
	return false;
}

/* What follows a known epoch; that epoch again (a run that is restarted); the same over another
 * list of as many files (masks). */
static bool try_known_sampler(const struct candidate *candidate, unsigned at,
			      struct hypothesis *ret)
{
	const struct hypothesis *known = &candidate->observations->known[at];
	unsigned depth = candidate_depth(candidate, GUESS_KNOWN);

	if (known->list->count != candidate->list->count)
		return false;
	*ret = (struct hypothesis){.list = candidate->list};
	if (known->list == candidate->list && !is_past(candidate->observations, at) &&
	    (try_next(candidate, &known->sampler, &ret->sampler) ||
	     try_later(candidate, known, &ret->sampler))) {
		set_epoch(candidate, known, ret);
		return true;
	}
	ret->sampler = known->sampler;
	return (depth && candidate_fits(candidate, &known->sampler, depth)) ||
	       try_other_ranks(candidate, &known->sampler, &ret->sampler);
}

/* Each may take long, after many outputs of its generator. */
static bool try_known(const struct candidate *candidate, struct hypothesis *ret)
{
	const struct observations *observations = candidate->observations;
	unsigned count = observations->known_count;

	for (unsigned i = 0; i < count && !candidate_is_over(candidate); i++)
		if (try_known_sampler(candidate, i, ret))
			return true;
	for (unsigned i = 0; i < count && i < LATEST && !candidate_is_over(candidate); i++)
		if (!is_past(observations, i) &&
		    try_otherwise(candidate, &observations->known[i], ret))
			return true;
	*ret = (struct hypothesis){.list = candidate->list};
	return false;
}

/* Many conventions are plain seeds, tried side by side; the few others are tried one by one. */
struct conventions {
	const struct candidate *candidate;
	unsigned depth;
	uint32_t *seeds;
	unsigned count;
	bool found;
	uint32_t seed; /* that fits */
	struct sampler *ret;
};

static bool is_plain(const struct sampler *sampler)
{
	return sampler->skip == 0 && sampler->part.world <= 1;
}

static bool take_convention(void *arg, const struct sampler *sampler)
{
	struct conventions *all = arg;

	if (is_plain(sampler) && all->count < CONVENTIONS)
		all->seeds[all->count++] = sampler->seed;
	else if (candidate_fits(all->candidate, sampler, all->depth)) {
		*all->ret = *sampler;
		all->found = true;
	}
	return all->found;
}

static bool is_convention(void *arg, const struct sampler *sampler)
{
	struct conventions *all = arg;

	if (!is_plain(sampler) || sampler->seed != all->seed)
		return false;
	*all->ret = *sampler;
	all->found = true;
	return true;
}

static bool try_conventions(const struct candidate *candidate, struct sampler *ret)
{
	struct conventions all = {.candidate = candidate, .ret = ret};
	const struct seeds_way plain = {0, 0, 1};
	struct seeds_seen seen = candidate->seen;
	struct seeds_found found;
	struct seeds *seeds;

	all.depth = seen.depth = candidate_depth(candidate, CONVENTIONS);
	all.seeds = all.depth ? malloc(CONVENTIONS * sizeof(*all.seeds)) : NULL;
	if (!all.seeds)
		return false;
	sampler_each_convention(take_convention, &all);
	if (!all.found && seeds_new(&seen, &plain, 1, &seeds) == 0) {
		if (seeds_search_these(seeds, all.seeds, all.count, &found)) {
			all.seed = found.seed;
			sampler_each_convention(is_convention, &all);
		}
		seeds_free(seeds);
	}
	free(all.seeds);
	return all.found && ranks_find(candidate, ret);
}

/* --- searches -------------------------------------------------------------------------------- */

struct ways {
	struct seeds_way ways[RANKS_WORLD * RANKS_WORLD + 8 * RANKS];
	unsigned count;
};

static void add_world(struct ways *ways, uint32_t world, unsigned depth)
{
	for (uint32_t rank = 0; rank < world; rank++)
		if (rank + world * depth <= SEEDS_LAST)
			ways->ways[ways->count++] = (struct seeds_way){0, rank, world};
}

/* Depth 0: not yet. */
static bool search_seeds(const struct candidate *candidate, const struct ways *ways, uint64_t seeds,
			 unsigned depth, struct hypothesis *ret)
{
	struct seeds_found found[FOUND], *best = &found[0];
	struct seeds_seen seen = candidate->seen;
	const struct seeds_way *way;
	struct seeds *work;
	unsigned count;

	seen.depth = depth;
	if (!depth || seeds_new(&seen, ways->ways, ways->count, &work) < 0)
		return false;
	count = candidate->hooks->search(candidate->hooks->context, work, 0, seeds, found, FOUND);
	seeds_free(work);
	if (count == 0)
		return false;
	/* The first seed; if it was found in several ways, the one that reads most. */
	for (unsigned i = 1; i < count && i < FOUND; i++)
		if (found[i].seed == best->seed &&
		    ways->ways[found[i].way].stride < ways->ways[best->way].stride)
			best = &found[i];
	way = &ways->ways[best->way];
	ret->sampler = (struct sampler){.seed = best->seed, .skip = way->skip};
	if (way->stride > 1) {
		ret->sampler.part = (struct sampler_part){
			.world = way->stride, .unit = 1, .first = way->start, .ranks = 1};
		ret->sampler.part.ranks = ranks_begun(candidate, &ret->sampler);
	}
	return ranks_find(candidate, &ret->sampler);
}

static bool try_whole_to(const struct candidate *candidate, uint64_t seeds, unsigned depth,
			 struct hypothesis *ret)
{
	static const struct ways ways = {.count = 2, .ways = {{0, 0, 1}, {2, 0, 1}}};

	return search_seeds(candidate, &ways, seeds, depth, ret);
}

/* Whole permutations, of a generator that makes nothing else or DataLoader's base_seed before. */
static bool try_whole(const struct candidate *candidate, uint64_t seeds, struct hypothesis *ret)
{
	return try_whole_to(candidate, seeds, candidate_depth(candidate, 2.0 * (double)seeds), ret);
}

/* Ranks of small worlds, and batches of nodes, with seeds below `seeds`. With Accelerate, nodes
 * take whole batches in turn: these are places where the first one may begin. Which ones, batches.h
 * finds later. Late places of a short list take far longer to try (seeds.c). */
static bool try_worlds(const struct candidate *candidate, uint64_t seeds, struct hypothesis *ret)
{
	static const uint32_t large[] = {24, 32, 40, 48, 56, 64};
	unsigned depth =
		candidate_depth(candidate, (double)GUESS_SMALL * RANKS_WORLD * RANKS_WORLD);
	uint32_t last = candidate->list->count / 64;
	struct ways ways = {.count = 0};

	for (uint32_t world = 2; world <= RANKS_WORLD; world++)
		add_world(&ways, world, depth);
	for (unsigned i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		add_world(&ways, large[i], depth);
	for (uint32_t place = BATCH_STEP; place + depth <= SEEDS_LAST && place <= last; place++)
		if (place % BATCH_STEP == 0 || place % 10 == 0)
			ways.ways[ways.count++] = (struct seeds_way){0, place, 1};
	return search_seeds(candidate, &ways, seeds, depth, ret);
}

/* A long search is in vain if the reader that has the first files has not read as far. */
static unsigned depth_of_long(const struct candidate *candidate, double tried)
{
	unsigned depth = candidate_depth(candidate, tried);

	return depth <= candidate->shortest ? depth : 0;
}

static unsigned depth_of_all(const struct candidate *candidate)
{
	return candidate->list->count >= candidate->observations->least
		       ? depth_of_long(candidate, ALL)
		       : 0;
}

/* Far on in the generator of a known epoch. */
static bool try_follow(const struct candidate *candidate, const struct seeds *seeds,
		       struct hypothesis *ret)
{
	const struct observations *observations = candidate->observations;

	for (unsigned i = 0; i < observations->known_count; i++) {
		const struct hypothesis *known = &observations->known[i];

		if (known->list == candidate->list && known->sampler.rule == SAMPLER_WORDS &&
		    !is_past(observations, i) &&
		    streams_follow(&known->sampler, seeds, &ret->sampler)) {
			set_epoch(candidate, known, ret);
			return true;
		}
	}
	return false;
}

/* What scripts draw: all, or what is usual, of which so few are tried that 16 files of each reader
 * are enough. */
static bool try_drawn(const struct candidate *candidate, bool all, struct hypothesis *ret)
{
	const struct seeds_way plain = {0, 0, 1};
	struct seeds_seen seen = candidate->seen;
	struct seeds *seeds;
	bool found;

	seen.depth = depth_of_long(candidate, all ? ALL : USUAL);
	if (!seen.depth || seen.n < 2 || seen.n >= PERMUTATION_LARGE ||
	    seeds_new(&seen, &plain, 1, &seeds) < 0)
		return false;
	found = try_follow(candidate, seeds, ret) ||
		streams_search(candidate->list->classes, all, seeds, candidate->hooks,
			       &ret->sampler);
	seeds_free(seeds);
	return found && ranks_find(candidate, &ret->sampler);
}

/* An epoch that is over soon gains nothing, but the next ones may. */
static bool try_usual(const struct candidate *candidate, struct hypothesis *ret)
{
	const struct observations *observations = candidate->observations;
	uint32_t files = candidate->list->count;

	return (files >= observations->soon || files <= observations->turns) &&
	       try_drawn(candidate, false, ret);
}

static bool try_models(const struct candidate *candidate, struct hypothesis *ret)
{
	return try_drawn(candidate, true, ret);
}

/* Rank 0 of each small world. */
static bool try_all_worlds(const struct candidate *candidate, struct hypothesis *ret)
{
	struct ways ways = {.count = 0};
	unsigned depth = depth_of_all(candidate);

	for (uint32_t world = 2; world <= RANKS_WORLD && world * depth <= SEEDS_LAST; world++)
		ways.ways[ways.count++] = (struct seeds_way){0, 0, world};
	return search_seeds(candidate, &ways, SEEDS_ALL, depth, ret);
}

/* --- all of it ------------------------------------------------------------------------------- */

static bool try_likely(const struct candidate *candidate, struct hypothesis *ret)
{
	return try_known(candidate, ret) || try_conventions(candidate, &ret->sampler);
}

static bool try_ranks(const struct candidate *candidate, struct hypothesis *ret)
{
	return try_whole(candidate, GUESS_FEW, ret) || try_worlds(candidate, GUESS_FEW, ret);
}

static bool try_more(const struct candidate *candidate, struct hypothesis *ret)
{
	return try_whole(candidate, GUESS_SMALL, ret) || try_worlds(candidate, GUESS_SMALL, ret) ||
	       ranks_of_many(candidate, &ret->sampler);
}

static bool try_all(const struct candidate *candidate, struct hypothesis *ret)
{
	return try_whole_to(candidate, SEEDS_ALL, depth_of_all(candidate), ret);
}

static bool try_more_and_all(const struct candidate *candidate, struct hypothesis *ret)
{
	return try_more(candidate, ret) || try_all(candidate, ret) ||
	       try_all_worlds(candidate, ret);
}

typedef bool try_fn(const struct candidate *candidate, struct hypothesis *ret);

static bool try_list(const struct observations *observations, const struct order_list *list,
		     try_fn *try, const struct search_hooks *hooks, struct hypothesis *ret)
{
	struct hypothesis hypothesis = {.list = list};
	struct candidate candidate;
	bool found;

	if (!candidate_init(&candidate, observations, list))
		return false;
	candidate.hooks = hooks;
	found = !candidate_is_scan(&candidate) && try(&candidate, &hypothesis);
	candidate_release(&candidate);
	if (found)
		*ret = hypothesis;
	return found;
}

/* In this order: each row costs more than those before it, or finds something more rarely. */
static const struct {
	unsigned effort;
	try_fn *try;
	enum { FIRST, OTHERS, LIKELY, UNLIKELY, REST } lists; /* OTHERS: likely; REST: not FIRST */
} tries[] = {
	/* clang-format off */
	{GUESS_LIKELY, try_likely, FIRST},
	{GUESS_LIKELY, try_likely, REST},
	{GUESS_RANKS, try_ranks, FIRST},
	{GUESS_USUAL, try_usual, FIRST},
	{GUESS_MODELS, try_models, FIRST},
	{GUESS_RANKS, try_ranks, OTHERS},
	{GUESS_MORE, try_more, LIKELY},
	{GUESS_ALL, try_all, LIKELY},
	{GUESS_ALL, try_all_worlds, LIKELY},
	{GUESS_ALL, try_more_and_all, UNLIKELY},
	/* clang-format on */
};

bool guess(const struct observations *observations, unsigned efforts,
	   const struct search_hooks *hooks, struct hypothesis *ret)
{
	unsigned all = observations->list_count, likely = all - observations->unlikely;
	unsigned first = likely < 1 ? likely : 1;
	const unsigned from[] = {0, first, 0, likely, first};
	const unsigned to[] = {first, likely, likely, all, all};

	for (unsigned at = 0; at < sizeof(tries) / sizeof(*tries); at++)
		for (unsigned i = from[tries[at].lists];
		     efforts & tries[at].effort && i < to[tries[at].lists]; i++)
			if (hooks->over(hooks->context))
				return false;
			else if (try_list(observations, observations->lists[i], tries[at].try,
					  hooks, ret))
				return true;
	return false;
}

bool guess_is_scan(const struct observations *observations)
{
	unsigned likely = observations->list_count - observations->unlikely;
	bool is_scan = false;

	for (unsigned i = 0; i < likely && !is_scan; i++) {
		struct candidate candidate;

		if (!candidate_init(&candidate, observations, observations->lists[i]))
			continue;
		is_scan = candidate_is_scan(&candidate);
		candidate_release(&candidate);
	}
	return is_scan;
}

unsigned guess_goes_along(const struct observations *observations,
			  const struct hypothesis *hypothesis, const struct order_list *list)
{
	uint32_t begin[WATCH_BEGINNING];
	struct candidate candidate;
	unsigned depth, count, seen = 0;

	if (list->count != hypothesis->list->count ||
	    order_list_find(list, hypothesis->list->files[0]) != ORDER_NONE ||
	    !candidate_init(&candidate, observations, list))
		return 0;
	depth = candidate_depth(&candidate, GUESS_LISTS);
	if (depth && candidate_fits(&candidate, &hypothesis->sampler, depth)) {
		count = sampler_begin(&hypothesis->sampler, list->count, begin, WATCH_BEGINNING);
		for (unsigned i = 0; i < count; i++)
			seen += seeds_seen_has(&candidate.seen, begin[i]);
	}
	candidate_release(&candidate);
	return seen;
}

uint32_t *hypothesis_files(const struct hypothesis *hypothesis, uint32_t *ret_count)
{
	uint32_t n = hypothesis->list->count, count, stored = 0;
	uint32_t *files = malloc((n + 1) * sizeof(*files));

	if (!files)
		return NULL;
	count = sampler_order(&hypothesis->sampler, n, files);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t file = hypothesis->list->files[files[i]];

		if (file != ORDER_NONE)
			files[stored++] = file;
	}
	*ret_count = stored;
	return files;
}
