/* Ranks of a DistributedSampler see every W-th place from r on, so that small seeds, which they are
 * given by convention, are tried in every world size up to RANKS_WORLD, and some beyond. */
#include "cache/order/ranks.h"
#include "cache/order/streams.h"
#include <stdlib.h>
#include <string.h>

#define RANKS	    64
#define LATEST	    4	    /* known passes, which others may follow than it seemed */
#define BATCH_STEP  4	    /* which divides most batches; and 10 most others */
#define CONVENTIONS 1000000 /* no more are tried */
#define FOUND	    16

/* --- single passes --------------------------------------------------------------------------- */

static void add_ranks_begun(const struct evidence *evidence, struct pass *pass)
{
	if (pass_world(pass) > 1)
		pass->part.ranks |= ranks_begun(evidence, pass);
}

static bool try_next(const struct evidence *evidence, const struct guess_hooks *hooks,
		     const struct pass *known, struct pass *ret)
{
	struct pass next[PASS_NEXT];
	unsigned count = pass_next(known, evidence->list->count, next);
	unsigned depth = evidence_depth(evidence, count * GUESS_KNOWN);

	for (unsigned i = 0; depth && i < count && !hooks->stopped(hooks->context); i++)
		if (evidence_fits(evidence, &next[i], depth)) {
			*ret = next[i];
			add_ranks_begun(evidence, ret);
			return true;
		}
	return false;
}

/* The way from one pass to the next is not always the same: a loader for validation draws a seed
 * now and then, and a sampler may be set to its epoch, or made anew, late. */
static bool try_otherwise(const struct evidence *evidence, const struct guess_hooks *hooks,
			  const struct course *known, struct course *ret)
{
	struct pass unlearned = known->pass;

	unlearned.step = 0;
	if (unlearned.rule == PASS_RESEED || unlearned.rule == PASS_SAME)
		unlearned.rule = PASS_UNKNOWN;
	*ret = (struct course){.list = evidence->list, .epoch = known->epoch + 1};
	return known->list == evidence->list &&
	       (known->pass.step || unlearned.rule != known->pass.rule) &&
	       try_next(evidence, hooks, &unlearned, &ret->pass);
}

/* That begin later than those of the known pass. */
static bool try_other_ranks(const struct evidence *evidence, const struct pass *known,
			    struct pass *ret)
{
	uint32_t world = pass_world(known);
	unsigned depth = evidence_depth(evidence, (double)GUESS_KNOWN * world);

	*ret = *known;
	ret->part.ranks = 1;
	for (uint32_t rank = 0; depth && world > 1 && rank < world; rank++) {
		ret->part.first = rank;
		if (evidence_fits(evidence, ret, depth)) {
			add_ranks_begun(evidence, ret);
			return true;
		}
	}
	return false;
}

/* Whether a later output of the same generator was the seed of a known pass: what follows this one
 * has come already. It takes long to make again, behind many outputs. */
static bool is_past(const struct question *question, unsigned at)
{
	const struct course *known = question->known;

	for (unsigned i = 0; known[at].pass.rule == PASS_WORDS && i < at; i++)
		if (known[i].list == known[at].list && known[i].pass.rule == PASS_WORDS &&
		    known[i].pass.root == known[at].pass.root &&
		    known[i].pass.word > known[at].pass.word)
			return true;
	return false;
}

/* The known ones again (a run that begins anew), what follows them, and the same over another list
 * of as many (masks beside images). */
static bool try_known_pass(const struct evidence *evidence, const struct guess_hooks *hooks,
			   unsigned at, struct course *ret)
{
	const struct course *known = &evidence->question->known[at];
	unsigned depth = evidence_depth(evidence, GUESS_KNOWN);

	if (known->list->count != evidence->list->count)
		return false;
	*ret = (struct course){.list = evidence->list, .epoch = known->epoch + 1};
	if (known->list == evidence->list && !is_past(evidence->question, at) &&
	    try_next(evidence, hooks, &known->pass, &ret->pass))
		return true;
	ret->epoch = 0;
	ret->pass = known->pass;
	return (depth && evidence_fits(evidence, &known->pass, depth)) ||
	       try_other_ranks(evidence, &known->pass, &ret->pass);
}

/* Each pass may take long, behind many outputs. */
static bool try_known(const struct evidence *evidence, const struct guess_hooks *hooks,
		      struct course *ret)
{
	const struct question *question = evidence->question;
	unsigned count = question->known_count;

	for (unsigned i = 0; i < count && !hooks->stopped(hooks->context); i++)
		if (try_known_pass(evidence, hooks, i, ret))
			return true;
	for (unsigned i = 0; i < count && i < LATEST && !hooks->stopped(hooks->context); i++)
		if (!is_past(question, i) &&
		    try_otherwise(evidence, hooks, &question->known[i], ret))
			return true;
	*ret = (struct course){.list = evidence->list};
	return false;
}

/* Conventions are many seeds, which are tried side by side, and few other passes. */
struct conventions {
	const struct evidence *evidence;
	unsigned depth;
	uint32_t *seeds;
	unsigned count;
	bool found;
	uint32_t seed; /* that fits */
	struct pass *ret;
};

static bool is_plain(const struct pass *pass)
{
	return pass->skip == 0 && pass->part.world <= 1;
}

static bool take_convention(void *arg, const struct pass *pass)
{
	struct conventions *all = arg;

	if (is_plain(pass) && all->count < CONVENTIONS)
		all->seeds[all->count++] = pass->seed;
	else if (evidence_fits(all->evidence, pass, all->depth)) {
		*all->ret = *pass;
		all->found = true;
	}
	return all->found;
}

static bool is_convention(void *arg, const struct pass *pass)
{
	struct conventions *all = arg;

	if (!is_plain(pass) || pass->seed != all->seed)
		return false;
	*all->ret = *pass;
	all->found = true;
	return true;
}

static void search_conventions(struct conventions *all)
{
	const struct seeds_way plain = {0, 0, 1};
	struct seeds_seen seen = all->evidence->seen;
	struct seeds_found found;
	struct seeds *seeds;

	seen.depth = all->depth;
	if (seeds_new(&seen, &plain, 1, &seeds) < 0)
		return;
	if (seeds_search_these(seeds, all->seeds, all->count, &found, 1)) {
		all->seed = found.seed;
		pass_each_known(is_convention, all);
	}
	seeds_free(seeds);
}

static bool try_conventions(const struct evidence *evidence, struct pass *ret)
{
	struct conventions all = {.evidence = evidence, .ret = ret};

	all.depth = evidence_depth(evidence, CONVENTIONS);
	if (!all.depth)
		return false;
	all.seeds = malloc(CONVENTIONS * sizeof(*all.seeds));
	if (!all.seeds)
		return false;
	pass_each_known(take_convention, &all);
	if (!all.found)
		search_conventions(&all);
	free(all.seeds);
	return all.found && ranks_find(evidence, ret);
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

static void add_worlds(struct ways *ways, unsigned depth)
{
	static const uint32_t large[] = {24, 32, 40, 48, 56, 64};

	for (uint32_t world = 2; world <= RANKS_WORLD; world++)
		add_world(ways, world, depth);
	for (unsigned i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		add_world(ways, large[i], depth);
}

/* Places where the first batch of a rank may be: those of Accelerate's other nodes begin behind
 * it, and have whole batches each. Which ones, batches.h tells later. Of a short list it takes far
 * longer to try the later ones (seeds.c). */
static void add_batches(struct ways *ways, uint32_t n, unsigned depth)
{
	for (uint32_t place = BATCH_STEP; place + depth <= SEEDS_LAST && place <= n / 64; place++)
		if (place % BATCH_STEP == 0 || place % 10 == 0)
			ways->ways[ways->count++] = (struct seeds_way){0, place, 1};
}

static struct pass pass_of(const struct evidence *evidence, const struct seeds_way *way,
			   uint32_t seed)
{
	struct pass pass = {.seed = seed, .skip = way->skip};

	if (way->stride > 1) {
		pass.part = (struct pass_part){
			.world = way->stride, .unit = 1, .first = way->start, .ranks = 1};
		pass.part.ranks = ranks_begun(evidence, &pass);
	}
	return pass;
}

/* One seed, of several jobs one that is followed first; where it is found in several ways, the one
 * that takes the most. */
static bool choose(const struct evidence *evidence, const struct ways *ways,
		   const struct seeds_found *found, unsigned count, struct pass *ret)
{
	const struct seeds_found *best = &found[0];

	for (unsigned i = 1; i < count && i < FOUND; i++)
		if (found[i].seed == best->seed &&
		    ways->ways[found[i].way].stride < ways->ways[best->way].stride)
			best = &found[i];
	if (count == 0)
		return false;
	*ret = pass_of(evidence, &ways->ways[best->way], best->seed);
	return ranks_find(evidence, ret);
}

static bool search_seeds(const struct evidence *evidence, const struct ways *ways, uint64_t seeds,
			 unsigned depth, const struct guess_hooks *hooks, struct pass *ret)
{
	struct seeds_seen seen = evidence->seen;
	struct seeds_found found[FOUND];
	struct seeds *work;
	unsigned count;

	seen.depth = depth;
	if (seeds_new(&seen, ways->ways, ways->count, &work) < 0)
		return false;
	count = hooks->search(hooks->context, work, 0, seeds, found, FOUND);
	seeds_free(work);
	return choose(evidence, ways, found, count, ret);
}

static bool try_small(const struct evidence *evidence, const struct guess_hooks *hooks,
		      struct pass *ret)
{
	struct ways ways = {.count = 2, .ways = {{0, 0, 1}, {2, 0, 1}}};
	unsigned depth = evidence_depth(evidence, (double)GUESS_SMALL * ways.count);

	return depth && search_seeds(evidence, &ways, GUESS_SMALL, depth, hooks, ret);
}

/* And batches of ranks. */
static bool try_worlds(const struct evidence *evidence, const struct guess_hooks *hooks,
		       struct pass *ret)
{
	unsigned depth = evidence_depth(evidence, (double)GUESS_SMALL * RANKS_WORLD * RANKS_WORLD);
	struct ways ways = {.count = 0};

	if (!depth)
		return false;
	add_worlds(&ways, depth);
	add_batches(&ways, evidence->list->count, depth);
	return search_seeds(evidence, &ways, GUESS_SMALL, depth, hooks, ret);
}

/* It takes long, and is in vain where the reader that has the first files has not come as far. */
static unsigned depth_of_long(const struct evidence *evidence)
{
	unsigned depth = evidence_depth(evidence, (double)SEEDS_ALL * (2 + RANKS_WORLD));

	return depth <= evidence->shortest ? depth : 0;
}

static unsigned depth_of_all(const struct evidence *evidence)
{
	return evidence->list->count >= evidence->question->least ? depth_of_long(evidence) : 0;
}

static bool try_all(const struct evidence *evidence, const struct guess_hooks *hooks,
		    struct course *ret)
{
	struct ways ways = {.count = 2, .ways = {{0, 0, 1}, {2, 0, 1}}};
	unsigned depth = depth_of_all(evidence);

	return depth && search_seeds(evidence, &ways, SEEDS_ALL, depth, hooks, &ret->pass);
}

/* Far on in the generator of a known pass. */
static bool try_follow(const struct evidence *evidence, const struct seeds *seeds,
		       struct course *ret)
{
	const struct question *question = evidence->question;

	for (unsigned i = 0; i < question->known_count; i++) {
		const struct course *known = &question->known[i];

		if (known->list == evidence->list && known->pass.rule == PASS_WORDS &&
		    !is_past(question, i) && streams_follow(&known->pass, seeds, &ret->pass)) {
			ret->epoch = known->epoch + 1;
			return true;
		}
	}
	return false;
}

static bool search_streams(const struct seeds *seeds, const struct guess_hooks *hooks,
			   struct pass *ret)
{
	struct streams *streams;
	bool found = false;

	if (streams_new(&streams) < 0)
		return false;
	while (!found && !streams_ended(streams) && !hooks->stopped(hooks->context))
		found = streams_try(streams, seeds, ret);
	streams_free(streams);
	return found;
}

static bool try_models(const struct evidence *evidence, const struct guess_hooks *hooks,
		       struct course *ret)
{
	const struct seeds_way plain = {0, 0, 1};
	struct seeds_seen seen = evidence->seen;
	struct seeds *seeds;
	bool found;

	seen.depth = depth_of_long(evidence);
	if (!seen.depth || seen.n < 2 || seen.n >= PERMUTATION_LARGE ||
	    seeds_new(&seen, &plain, 1, &seeds) < 0)
		return false;
	found = try_follow(evidence, seeds, ret) || search_streams(seeds, hooks, &ret->pass);
	seeds_free(seeds);
	return found && ranks_find(evidence, &ret->pass);
}

/* Rank 0 of so many. */
static bool try_all_worlds(const struct evidence *evidence, const struct guess_hooks *hooks,
			   struct course *ret)
{
	struct ways ways = {.count = 0};
	unsigned depth = depth_of_all(evidence);

	for (uint32_t world = 2; world <= RANKS_WORLD && world * depth <= SEEDS_LAST; world++)
		ways.ways[ways.count++] = (struct seeds_way){0, 0, world};
	return depth && search_seeds(evidence, &ways, SEEDS_ALL, depth, hooks, &ret->pass);
}

/* --- all of it ------------------------------------------------------------------------------- */

static bool try_likely(const struct evidence *evidence, const struct guess_hooks *hooks,
		       struct course *ret)
{
	return try_known(evidence, hooks, ret) || try_conventions(evidence, &ret->pass);
}

static bool try_more(const struct evidence *evidence, const struct guess_hooks *hooks,
		     struct course *ret)
{
	return try_small(evidence, hooks, &ret->pass) || try_worlds(evidence, hooks, &ret->pass) ||
	       ranks_of_many(evidence, hooks, &ret->pass);
}

static bool try_more_and_all(const struct evidence *evidence, const struct guess_hooks *hooks,
			     struct course *ret)
{
	return try_more(evidence, hooks, ret) || try_all(evidence, hooks, ret) ||
	       try_all_worlds(evidence, hooks, ret);
}

typedef bool try_fn(const struct evidence *evidence, const struct guess_hooks *hooks,
		    struct course *ret);

static bool try_list(const struct question *question, const struct order_list *list, try_fn *try,
		     const struct guess_hooks *hooks, struct course *ret)
{
	struct course course = {.list = list};
	struct evidence evidence;
	bool found;

	if (!evidence_init(&evidence, question, list))
		return false;
	found = !evidence_is_scan(&evidence) && try(&evidence, hooks, &course);
	evidence_release(&evidence);
	if (found)
		*ret = course;
	return found;
}

static bool try_lists(const struct question *question, unsigned from, unsigned to, try_fn *try,
		      const struct guess_hooks *hooks, struct course *ret)
{
	for (unsigned i = from; i < to && !hooks->stopped(hooks->context); i++)
		if (try_list(question, question->lists[i], try, hooks, ret))
			return true;
	return false;
}

/* Each search takes as long as the one before, or longer: first those for what most people do. */
static bool try_searches(const struct question *question, unsigned likely,
			 const struct guess_hooks *hooks, struct course *ret)
{
	return try_lists(question, 0, likely, try_all, hooks, ret) ||
	       try_lists(question, 0, likely, try_all_worlds, hooks, ret) ||
	       try_lists(question, likely, question->list_count, try_more_and_all, hooks, ret);
}

bool guess(const struct question *question, enum guess_effort effort,
	   const struct guess_hooks *hooks, struct course *ret)
{
	unsigned likely = question->list_count - question->unlikely;

	switch (effort) {
	case GUESS_LIKELY:
		return try_lists(question, 0, question->list_count, try_likely, hooks, ret);
	case GUESS_MODELS: /* over the likeliest list: it takes as long for each */
		return try_lists(question, 0, likely < 1 ? likely : 1, try_models, hooks, ret);
	case GUESS_MORE:
		return try_lists(question, 0, likely, try_more, hooks, ret);
	default:
		return try_searches(question, likely, hooks, ret);
	}
}

/* How many of the first files were seen. */
static unsigned count_seen(const struct evidence *evidence, const struct pass *pass)
{
	uint32_t begin[WATCH_RUN];
	unsigned count = pass_begin(pass, evidence->list->count, begin, WATCH_RUN), seen = 0;

	for (unsigned i = 0; i < count; i++)
		seen += seeds_seen_has(&evidence->seen, begin[i]);
	return seen;
}

unsigned guess_goes_along(const struct question *question, const struct course *course,
			  const struct order_list *list)
{
	struct evidence evidence;
	unsigned depth, seen = 0;

	if (list->count != course->list->count ||
	    order_list_find(list, course->list->files[0]) != ORDER_NONE ||
	    !evidence_init(&evidence, question, list))
		return 0;
	depth = evidence_depth(&evidence, GUESS_LISTS);
	if (depth && evidence_fits(&evidence, &course->pass, depth))
		seen = count_seen(&evidence, &course->pass);
	evidence_release(&evidence);
	return seen;
}

uint32_t *course_files(const struct course *course, uint32_t *ret_count)
{
	uint32_t n = course->list->count, count, kept = 0;
	uint32_t *files = malloc((n + 1) * sizeof(*files));

	if (!files)
		return NULL;
	count = pass_order(&course->pass, n, files);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t file = course->list->files[files[i]];

		if (file != ORDER_NONE)
			files[kept++] = file;
	}
	*ret_count = kept;
	return files;
}
