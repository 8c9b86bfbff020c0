#include "cache/order/ranks.h"

#define AGREE 3 /* one of this many steps is the common one, at least */
#define AWAY  SAMPLER_HEAD
#define LATER 7 /* steps of each rank here, after which no other one will begin */

/* What readers do at the head of the permutation. */
struct trail {
	const struct watch_access *seen;
	unsigned count;
	uint32_t places[WATCH_LOG]; /* AWAY: beyond the head; ORDER_NONE: of another list */
	uint32_t steps[WATCH_LOG];  /* from the reader's file before; AWAY: backwards, or from or
				     * to beyond the head; 0: there was none */
	unsigned votes[SAMPLER_HEAD + 1]; /* accesses with that step */
	unsigned taken[SAMPLER_HEAD]; /* by the rank of as many as the common step: its steps, */
	unsigned files[SAMPLER_HEAD]; /* and its files that were seen */
};

static void find_places(const struct candidate *candidate, const struct sampler *sampler,
			uint32_t *ret)
{
	const struct observations *observations = candidate->observations;
	uint32_t head[SAMPLER_HEAD];
	unsigned count = sampler_head(sampler, candidate->list->count, head, SAMPLER_HEAD);

	for (unsigned i = 0; i < observations->count; i++) {
		uint32_t index = order_list_find(candidate->list, observations->seen[i].file);

		ret[i] = index == ORDER_NONE ? ORDER_NONE : AWAY;
		for (uint32_t place = 0; ret[i] == AWAY && place < count; place++)
			if (head[place] == index)
				ret[i] = place;
	}
}

static uint32_t step_to(const struct trail *trail, unsigned at)
{
	uint32_t reader = trail->seen[at].reader, place = trail->places[at];
	unsigned i = at;

	if (place == ORDER_NONE || reader == 0)
		return 0;
	while (i-- > 0)
		if (trail->seen[i].reader == reader && trail->places[i] != ORDER_NONE)
			break;
	if (i >= at || trail->places[i] == AWAY)
		return 0;
	return place < AWAY && place > trail->places[i] ? place - trail->places[i] : AWAY;
}

/* The step of most; of equals the least, as batches of two have as many longer ones. 0: none. */
static uint32_t common_step(struct trail *trail)
{
	unsigned all = 0;
	uint32_t step = 0;

	for (unsigned i = 0; i < trail->count; i++) {
		trail->steps[i] = step_to(trail, i);
		trail->votes[trail->steps[i]]++;
		all += trail->steps[i] > 0;
	}
	trail->votes[0] = 0;
	for (uint32_t i = 1; i < AWAY; i++)
		if (trail->votes[i] > trail->votes[step])
			step = i;
	return trail->votes[step] * AGREE >= all ? step : 0;
}

static bool is_here(const struct trail *trail, uint32_t rank)
{
	return trail->taken[rank] + 1 >= RANKS_SEEN;
}

/* Rank r of `world` is ranks r, r + world, ... of `step`. It cannot be one rank if some of these
 * read and others read nothing. */
static bool may_be_world(const struct trail *trail, uint32_t step, uint32_t world)
{
	for (uint32_t rank = 0; rank < world; rank++) {
		bool here = false, absent = false;

		for (uint32_t i = rank; i < step; i += world) {
			here |= is_here(trail, i);
			absent |= trail->files[i] == 0;
		}
		if (here && absent)
			return false;
	}
	return step % world == 0;
}

static bool has_rank(const struct trail *trail, uint32_t step, uint32_t world, uint32_t rank)
{
	for (uint32_t i = rank % world; i < step; i += world)
		if (is_here(trail, i))
			return true;
	return false;
}

/* The smallest world that may be; its ranks from the first one of those that follow one another. */
static struct sampler_part ranks_part(const struct trail *trail, uint32_t step)
{
	struct sampler_part part = {.world = 1, .unit = 1};

	while (!may_be_world(trail, step, part.world))
		part.world++;
	while (part.first + 1 < part.world &&
	       (!has_rank(trail, step, part.world, part.first) ||
		has_rank(trail, step, part.world, part.first + part.world - 1)))
		part.first++;
	for (uint32_t i = 0; i < part.world && i < SAMPLER_RANKS; i++)
		part.ranks |= (uint64_t)has_rank(trail, step, part.world, part.first + i) << i;
	return part;
}

/* Whether the ranks here have come so far that others would have begun. */
static bool have_come_far(const struct trail *trail, uint32_t step)
{
	for (uint32_t rank = 0; rank < step; rank++)
		if (is_here(trail, rank) && trail->taken[rank] < LATER)
			return false;
	return true;
}

bool ranks_find(const struct candidate *candidate, struct sampler *sampler)
{
	struct trail trail = {.seen = candidate->observations->seen,
			      .count = candidate->observations->count};
	struct sampler dealt = *sampler;
	bool has_numbers = false;
	uint32_t step;

	if (sampler->part.world > 1 && sampler->part.unit > 1)
		return true;
	find_places(candidate, sampler, trail.places);
	step = common_step(&trail);
	if (step == 0) { /* workers begin batches as ranks do */
		for (unsigned i = 0; i < trail.count; i++)
			has_numbers |= trail.seen[i].reader > 0;
		return sampler_world(sampler) == 1 || has_numbers ||
		       candidate->longest >= WATCH_BEGINNING;
	}
	for (unsigned i = 0; i < trail.count; i++)
		if (trail.places[i] < SAMPLER_HEAD) {
			trail.files[trail.places[i] % step]++;
			trail.taken[trail.places[i] % step] += trail.steps[i] == step;
		}
	dealt.part = ranks_part(&trail, step);
	if (sampler_world(&dealt) == sampler_world(sampler))
		return true;
	if (!candidate_fits(candidate, &dealt, RANKS_SEEN))
		return step >= sampler_world(sampler);
	*sampler = dealt;
	return have_come_far(&trail, step) || candidate->longest >= WATCH_BEGINNING;
}

uint64_t ranks_begun(const struct candidate *candidate, const struct sampler *sampler)
{
	struct sampler other = *sampler;
	uint64_t ranks = 1;

	other.part.ranks = 1;
	for (uint32_t i = 1; i < sampler->part.world && i < SAMPLER_RANKS; i++) {
		other.part.first = (sampler->part.first + i) % sampler->part.world;
		if (candidate_fits(candidate, &other, RANKS_SEEN))
			ranks |= (uint64_t)1 << i;
	}
	return ranks;
}

/* --- large worlds ----------------------------------------------------------------------------- */

/* The ranks that begin with a file that a reader began with, of each world. */
static bool try_ranks_of(const struct candidate *candidate, unsigned depth, struct sampler *sampler)
{
	uint32_t head[SAMPLER_HEAD];
	unsigned count = sampler_head(sampler, candidate->list->count, head, SAMPLER_HEAD);
	struct sampler_part *part = &sampler->part;

	for (part->first = 0; part->first < RANKS_MOST && part->first < count; part->first++) {
		if (!seeds_seen_begins(&candidate->seen, head[part->first]))
			continue;
		part->world = part->first < RANKS_WORLD ? RANKS_WORLD : part->first;
		while (++part->world <= RANKS_MOST) {
			uint32_t place = part->first;
			unsigned matched = 0;

			while (place < count && matched < depth &&
			       seeds_seen_has(&candidate->seen, head[place])) {
				place += part->world;
				matched++;
			}
			if (matched == depth)
				return true;
		}
	}
	return false;
}

bool ranks_of_many(const struct candidate *candidate, struct sampler *ret)
{
	unsigned depth = candidate_depth(candidate, (double)RANKS_SEEDS * RANKS_MOST * RANKS_MOST);
	struct sampler sampler = {.part = {.unit = 1, .ranks = 1}};

	for (; depth && sampler.seed < RANKS_SEEDS && !candidate_is_over(candidate); sampler.seed++)
		if (try_ranks_of(candidate, depth, &sampler)) {
			sampler.part.ranks = ranks_begun(candidate, &sampler);
			*ret = sampler;
			return ranks_find(candidate, ret);
		}
	return false;
}
