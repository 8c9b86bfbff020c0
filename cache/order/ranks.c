#include "cache/order/ranks.h"
#include <string.h>

#define AGREE 3 /* one of so many steps has to be as most are */

/* Places of the permutation that were seen, as far as its head goes. */
struct walk {
	const struct question *question;
	uint32_t places[WATCH_LOG]; /* of what was seen; ORDER_NONE: elsewhere */
	unsigned votes[PASS_HEAD];  /* for a step */
	bool ranks[PASS_HEAD];	    /* of as many as the step */
};

static uint32_t place_of(uint32_t index, const uint32_t *head, unsigned count)
{
	for (uint32_t place = 0; place < count; place++)
		if (head[place] == index)
			return place;
	return ORDER_NONE;
}

static void find_places(struct walk *walk, const struct order_list *list, const uint32_t *head,
			unsigned count)
{
	for (unsigned i = 0; i < walk->question->count; i++) {
		uint32_t index = order_list_find(list, walk->question->seen[i].file);

		walk->places[i] = index == ORDER_NONE ? ORDER_NONE : place_of(index, head, count);
	}
}

/* From what the reader asked for before; 0: not known. */
static uint32_t step_to(const struct walk *walk, unsigned at)
{
	const struct watch_access *seen = walk->question->seen;

	if (walk->places[at] == ORDER_NONE || seen[at].reader == 0)
		return 0;
	for (unsigned i = at; i-- > 0;)
		if (seen[i].reader == seen[at].reader)
			return walk->places[i] < walk->places[at]
				       ? walk->places[at] - walk->places[i]
				       : 0;
	return 0;
}

/* That of most; the least of those, for batches of two have as many that are longer. 0: none. */
static uint32_t common_step(struct walk *walk)
{
	unsigned all = 0;
	uint32_t step = 0;

	for (unsigned i = 0; i < walk->question->count; i++) {
		uint32_t one = step_to(walk, i);

		walk->votes[one]++;
		all += one > 0;
	}
	walk->votes[0] = 0;
	for (uint32_t i = 1; i < PASS_HEAD; i++)
		if (walk->votes[i] > walk->votes[step])
			step = i;
	return walk->votes[step] * AGREE >= all ? step : 0;
}

static void find_ranks(struct walk *walk, uint32_t step)
{
	for (unsigned i = 0; i < walk->question->count; i++)
		if (step_to(walk, i) == step ||
		    (walk->question->seen[i].nth == 0 && walk->places[i] < step))
			walk->ranks[walk->places[i] % step] = true;
}

/* Whether rank r is here just when rank r + world is. */
static bool repeat_after(const struct walk *walk, uint32_t step, uint32_t world)
{
	for (uint32_t i = 0; i < step; i++)
		if (walk->ranks[i] != walk->ranks[(i + world) % step])
			return false;
	return true;
}

static uint32_t least_world(const struct walk *walk, uint32_t step)
{
	uint32_t world = 1;

	while (step % world || !repeat_after(walk, step, world))
		world++;
	return world;
}

/* From the first of those that follow one another. */
static struct pass_part part_of(const struct walk *walk, uint32_t world)
{
	struct pass_part part = {.world = world, .unit = 1};

	while (part.first + 1 < world &&
	       (!walk->ranks[part.first] || walk->ranks[(part.first + world - 1) % world]))
		part.first++;
	for (uint32_t i = 0; i < world && i < 64; i++)
		part.ranks |= (uint64_t)walk->ranks[(part.first + i) % world] << i;
	return part;
}

static bool is_dealt_places(const struct pass *pass)
{
	return pass->maker == PASS_TORCH && pass->repeats <= 1 &&
	       (pass->part.world <= 1 || pass->part.unit == 1);
}

static bool find_part(const struct evidence *evidence, const struct pass *pass,
		      struct pass_part *ret)
{
	struct walk walk = {.question = evidence->question};
	uint32_t head[PASS_HEAD], step;
	unsigned count = pass_head(pass, evidence->list->count, head, PASS_HEAD);

	find_places(&walk, evidence->list, head, count);
	step = common_step(&walk);
	if (step == 0)
		return false;
	find_ranks(&walk, step);
	*ret = part_of(&walk, least_world(&walk, step));
	return true;
}

void ranks_find(const struct evidence *evidence, struct pass *pass)
{
	struct pass dealt = *pass;

	if (is_dealt_places(pass) && find_part(evidence, pass, &dealt.part) &&
	    evidence_fits(evidence, &dealt, RANKS_SEEN))
		*pass = dealt;
}
