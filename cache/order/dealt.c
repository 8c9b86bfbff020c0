#include "cache/order/dealt.h"
#include "cache/order/ranks.h"

#define REPEATS 3
#define WAYS	100  /* of dealing them, about */
#define STRAYS	8    /* one of so many files of a reader may be another's */
#define ODDS	1e-4 /* of a wrong one of the right seed */

/* Each index of the permutation is dealt REPEATS times, one after the other, to as many ranks. */
static bool is_dealt(const struct pass_part *part, uint32_t place)
{
	return (part->first + part->world - place * REPEATS % part->world) % part->world < REPEATS;
}

/* Whether a rank reads what was seen. With the right seed chance is greater: the files of a wrong
 * rank were read, by others, as often as those that it leaves out. */
static bool fits_repeated(const struct evidence *evidence, const uint32_t *head, unsigned count,
			  const struct pass_part *part, unsigned depth)
{
	double others = 1, others_seen = 1, chance = WAYS;
	unsigned matched = 0;

	for (uint32_t place = 0; place < count; place++) {
		bool seen = seeds_seen_has(&evidence->seen, head[place]);

		if (!is_dealt(part, place)) {
			others++;
			others_seen += seen;
			continue;
		}
		if (!seen || (matched == 0 && !seeds_seen_begins(&evidence->seen, head[place])))
			break;
		matched++;
	}
	for (unsigned i = 1; i < matched; i++)
		chance *= others_seen / others;
	return matched >= depth && chance < ODDS;
}

/* Before which a rank has read all that is its own. */
static uint32_t first_missing(const struct evidence *evidence, const uint32_t *head, unsigned count,
			      const struct pass_part *part)
{
	uint32_t place = 0;

	while (place < count &&
	       (!is_dealt(part, place) || seeds_seen_has(&evidence->seen, head[place])))
		place++;
	return place;
}

/* Those that have come half as far as the first of them. What a rank between others has is theirs
 * too. */
static uint64_t ranks_repeated(const struct evidence *evidence, const uint32_t *head,
			       unsigned count, const struct pass_part *part)
{
	uint32_t come = first_missing(evidence, head, count, part);
	struct pass_part other = *part;
	uint64_t ranks = 0;

	for (uint32_t i = 0; i < part->world; i++) {
		other.first = (part->first + i) % part->world;
		if (first_missing(evidence, head, count, &other) > come / 2)
			ranks |= (uint64_t)1 << i;
	}
	return ranks;
}

/* Whether a rank may begin with one of these. */
static bool has_first(const struct evidence *evidence, const uint32_t *head, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (seeds_seen_begins(&evidence->seen, head[i]))
			return true;
	return false;
}

static bool try_ranks_repeated(const struct evidence *evidence, const uint32_t *head,
			       unsigned count, unsigned depth, struct pass_part *part)
{
	for (part->world = REPEATS + 1; part->world <= DEALT_WORLDS; part->world++)
		for (part->first = 0; part->first < part->world; part->first++)
			if (part->world % REPEATS &&
			    fits_repeated(evidence, head, count, part, depth)) {
				part->ranks = ranks_repeated(evidence, head, count, part);
				return true;
			}
	return false;
}

static bool fits_rank(const struct evidence *evidence, const uint32_t *head, unsigned count,
		      const struct pass_part *part, unsigned depth)
{
	uint32_t place = part->first;
	unsigned matched = 0;

	while (place < count && matched < depth && seeds_seen_has(&evidence->seen, head[place])) {
		place += part->world;
		matched++;
	}
	return matched == depth;
}

static bool try_ranks_of_many(const struct evidence *evidence, const uint32_t *head, unsigned count,
			      unsigned depth, struct pass_part *part)
{
	for (part->first = 0; part->first < DEALT_MANY && part->first < count; part->first++) {
		if (!seeds_seen_begins(&evidence->seen, head[part->first]))
			continue;
		part->world = part->first < DEALT_WORLDS ? DEALT_WORLDS : part->first;
		while (++part->world <= DEALT_MANY)
			if (fits_rank(evidence, head, count, part, depth))
				return true;
	}
	return false;
}

typedef bool try_part_fn(const struct evidence *evidence, const uint32_t *head, unsigned count,
			 unsigned depth, struct pass_part *part);

/* Of each seed, whose ranks begin within the first `begin` places. */
static bool try_seeds(const struct evidence *evidence, const struct guess_hooks *hooks,
		      unsigned depth, unsigned begin, try_part_fn *try, struct pass *pass)
{
	uint32_t n = evidence->list->count, head[PASS_HEAD];

	for (; depth && pass->seed < DEALT_SEEDS && !hooks->stopped(hooks->context); pass->seed++)
		if (has_first(evidence, head, pass_head(pass, n, head, begin)) &&
		    try(evidence, head, pass_head(pass, n, head, PASS_HEAD), depth, &pass->part))
			return true;
	return false;
}

/* Whether all that the reader of seen[first] had is dealt to a rank, but for a few files, which
 * others than samplers ask for. */
static bool is_of_rank(const struct question *question, const uint32_t *places, unsigned first,
		       const struct pass_part *part)
{
	unsigned count = 0, others = 0;

	for (unsigned i = first; i < question->count; i++) {
		if (question->seen[i].reader != question->seen[first].reader ||
		    places[i] >= PASS_HEAD)
			continue;
		count++;
		others += !is_dealt(part, places[i]);
	}
	return others <= count / STRAYS;
}

static bool is_of_one_rank(const struct question *question, const uint32_t *places, unsigned first,
			   struct pass_part part)
{
	for (part.first = 0; part.first < part.world; part.first++)
		if (is_of_rank(question, places, first, &part))
			return true;
	return false;
}

static bool is_rank_each(const struct question *question, const uint32_t *places,
			 const struct pass_part *part)
{
	for (unsigned i = 0; i < question->count; i++)
		if (question->seen[i].nth == 0 && question->seen[i].reader != 0 &&
		    !is_of_one_rank(question, places, i, *part))
			return false;
	return true;
}

/* What a rank reads comes by chance where all workers of a plain sampler are as far in batches of
 * four, or where its ranks are here but for one; but each of these workers has what several ranks
 * would have, and each of these ranks goes further from file to file. */
bool dealt_repeated(const struct evidence *evidence, const struct guess_hooks *hooks,
		    struct pass *ret)
{
	unsigned depth =
		evidence_depth(evidence, (double)DEALT_SEEDS * DEALT_WORLDS * DEALT_WORLDS);
	struct pass pass = {.repeats = REPEATS, .part = {.unit = 1}};
	uint32_t places[WATCH_LOG];

	if (!try_seeds(evidence, hooks, depth, (DEALT_WORLDS - 1) / REPEATS + 1, try_ranks_repeated,
		       &pass))
		return false;
	ranks_places(evidence, &pass, places);
	if (ranks_step(evidence->question, places) > pass.part.world / REPEATS + 1 ||
	    !is_rank_each(evidence->question, places, &pass.part))
		return false;
	*ret = pass;
	return true;
}

bool dealt_to_many(const struct evidence *evidence, const struct guess_hooks *hooks,
		   struct pass *ret)
{
	unsigned depth = evidence_depth(evidence, (double)DEALT_SEEDS * DEALT_MANY * DEALT_MANY);
	struct pass pass = {.part = {.unit = 1, .ranks = 1}};

	if (!try_seeds(evidence, hooks, depth, DEALT_MANY, try_ranks_of_many, &pass))
		return false;
	pass.part.ranks = ranks_begun(evidence, &pass);
	*ret = pass;
	return ranks_find(evidence, ret);
}
