#include "cache/order/ranks.h"

#define AGREE 3 /* one of so many steps has to be as most are */
#define STRAY PASS_HEAD
#define FAR   7 /* steps of a rank */

/* Along the head of the permutation. */
struct walk {
	const struct watch_access *seen;
	unsigned count;
	uint32_t places[WATCH_LOG]; /* of find_places() */
	uint32_t steps[WATCH_LOG];  /* from what the reader had of the list before; STRAY: back, or
				     * out of the head; 0: not known */
	unsigned votes[PASS_HEAD + 1]; /* for a step */
	unsigned taken[PASS_HEAD];     /* by each rank, of as many as the step: of that step, */
	unsigned files[PASS_HEAD];     /* and what was seen of its files */
};

static uint32_t place_of(uint32_t index, const uint32_t *head, unsigned count)
{
	for (uint32_t place = 0; place < count; place++)
		if (head[place] == index)
			return place;
	return PASS_HEAD;
}

/* Where at the head of the whole permutation each access of the question is; PASS_HEAD: behind it;
 * ORDER_NONE: of another list. */
static void find_places(const struct evidence *evidence, const struct pass *pass, uint32_t *ret)
{
	const struct question *question = evidence->question;
	uint32_t head[PASS_HEAD];
	unsigned count = pass_head(pass, evidence->list->count, head, PASS_HEAD);

	for (unsigned i = 0; i < question->count; i++) {
		uint32_t index = order_list_find(evidence->list, question->seen[i].file);

		ret[i] = index == ORDER_NONE ? index : place_of(index, head, count);
	}
}

static uint32_t step_to(const struct walk *walk, unsigned at)
{
	uint32_t reader = walk->seen[at].reader, place = walk->places[at];
	unsigned i = at;

	if (place == ORDER_NONE || reader == 0)
		return 0;
	while (i-- > 0)
		if (walk->seen[i].reader == reader && walk->places[i] != ORDER_NONE)
			break;
	if (i >= at || walk->places[i] == PASS_HEAD)
		return 0;
	return place < PASS_HEAD && place > walk->places[i] ? place - walk->places[i] : STRAY;
}

/* That of most; the least of those, for batches of two have as many that are longer. 0: none. */
static uint32_t common_step(struct walk *walk)
{
	unsigned all = 0;
	uint32_t step = 0;

	for (unsigned i = 0; i < walk->count; i++) {
		walk->steps[i] = step_to(walk, i);
		walk->votes[walk->steps[i]]++;
		all += walk->steps[i] > 0;
	}
	walk->votes[0] = 0;
	for (uint32_t i = 1; i < STRAY; i++)
		if (walk->votes[i] > walk->votes[step])
			step = i;
	return walk->votes[step] * AGREE >= all ? step : 0;
}

static void find_ranks(struct walk *walk, uint32_t step)
{
	for (unsigned i = 0; i < walk->count; i++)
		if (walk->places[i] < PASS_HEAD) {
			walk->files[walk->places[i] % step]++;
			walk->taken[walk->places[i] % step] += walk->steps[i] == step;
		}
}

static bool is_here(const struct walk *walk, uint32_t rank)
{
	return walk->taken[rank] + 1 >= RANKS_SEEN;
}

/* Whether the ranks, of as many as the step, that are one of a smaller world are all here, but for
 * some that have hardly begun; or none. */
static bool are_one(const struct walk *walk, uint32_t step, uint32_t world, uint32_t rank)
{
	bool here = false, absent = false;

	for (uint32_t i = rank; i < step; i += world) {
		here |= is_here(walk, i);
		absent |= walk->files[i] == 0;
	}
	return !here || !absent;
}

static bool may_be_world(const struct walk *walk, uint32_t step, uint32_t world)
{
	for (uint32_t rank = 0; rank < world; rank++)
		if (!are_one(walk, step, world, rank))
			return false;
	return step % world == 0;
}

static uint32_t least_world(const struct walk *walk, uint32_t step)
{
	uint32_t world = 1;

	while (!may_be_world(walk, step, world))
		world++;
	return world;
}

static bool has_rank(const struct walk *walk, uint32_t step, uint32_t world, uint32_t rank)
{
	for (uint32_t i = rank % world; i < step; i += world)
		if (is_here(walk, i))
			return true;
	return false;
}

/* From the first of those that follow one another. */
static struct pass_part part_of(const struct walk *walk, uint32_t step)
{
	uint32_t world = least_world(walk, step);
	struct pass_part part = {.world = world, .unit = 1};

	while (part.first + 1 < world && (!has_rank(walk, step, world, part.first) ||
					  has_rank(walk, step, world, part.first + world - 1)))
		part.first++;
	for (uint32_t i = 0; i < world && i < 64; i++)
		part.ranks |= (uint64_t)has_rank(walk, step, world, part.first + i) << i;
	return part;
}

static bool is_dealt_places(const struct pass *pass)
{
	return pass->part.world <= 1 || pass->part.unit == 1;
}

/* Whether those that are here have come so far that others would have begun. */
static bool have_come_far(const struct walk *walk, uint32_t step)
{
	for (uint32_t rank = 0; rank < step; rank++)
		if (is_here(walk, rank) && walk->taken[rank] < FAR)
			return false;
	return true;
}

bool ranks_find(const struct evidence *evidence, struct pass *pass)
{
	struct walk walk = {.seen = evidence->question->seen, .count = evidence->question->count};
	struct pass dealt = *pass;
	uint32_t step;

	if (!is_dealt_places(pass))
		return true;
	find_places(evidence, pass, walk.places);
	step = common_step(&walk);
	if (step == 0)
		return true;
	find_ranks(&walk, step);
	dealt.part = part_of(&walk, step);
	if (pass_world(&dealt) == pass_world(pass))
		return true;
	if (!evidence_fits(evidence, &dealt, RANKS_SEEN))
		return step >= pass_world(pass);
	*pass = dealt;
	return have_come_far(&walk, step) || evidence->longest >= WATCH_RUN;
}

uint64_t ranks_begun(const struct evidence *evidence, const struct pass *pass)
{
	struct pass other = *pass;
	uint64_t ranks = 1;

	other.part.ranks = 1;
	for (uint32_t i = 1; i < pass->part.world && i < 64; i++) {
		other.part.first = (pass->part.first + i) % pass->part.world;
		if (evidence_fits(evidence, &other, RANKS_SEEN))
			ranks |= (uint64_t)1 << i;
	}
	return ranks;
}
