/* What is compared is the word before tempering, which is a bijection: the seed is untempered once.
 */
#include "cache/order/mt19937_eight.h"
#include "cache/order/sampler.h"
#include <errno.h>
#include <stdlib.h>

#define GROUPS (SAMPLER_ROOTS / MT19937_LANES)
#define TURN   16 /* blocks of one group while it is in the first-level cache */

_Static_assert(SAMPLER_ROOTS % MT19937_LANES == 0, "a lane for each root");

struct sampler_roots {
	struct mt19937_eight groups[GROUPS];
	struct sampler sampler;
	uint64_t searched;
};

/* y ^ (y << shift & mask), backwards: each turn has `shift` more bits right. */
static uint32_t undo_left(uint32_t y, unsigned shift, uint32_t mask)
{
	uint32_t x = y;

	for (unsigned right = shift; right < 32; right += shift)
		x = y ^ (x << shift & mask);
	return x;
}

static uint32_t undo_right(uint32_t y, unsigned shift)
{
	uint32_t x = y;

	for (unsigned right = shift; right < 32; right += shift)
		x = y ^ x >> shift;
	return x;
}

static uint32_t untemper(uint32_t y)
{
	y = undo_right(y, 18);
	y = undo_left(y, 15, 0xefc60000u);
	y = undo_left(y, 7, 0x9d2c5680u);
	return undo_right(y, 11);
}

int sampler_roots_new(const struct sampler *sampler, struct sampler_roots **ret)
{
	struct sampler_roots *roots = aligned_alloc(_Alignof(struct sampler_roots), sizeof(*roots));

	if (!roots)
		return -ENOMEM;
	roots->sampler = *sampler;
	roots->searched = 0;
	for (unsigned g = 0; g < GROUPS; g++) {
		mt19937_eight_init(&roots->groups[g], sampler_popular + g * MT19937_LANES);
		roots->groups[g].wanted += untemper(sampler->seed);
	}
	*ret = roots;
	return 0;
}

void sampler_roots_free(struct sampler_roots *roots)
{
	free(roots);
}

uint64_t sampler_roots_searched(const struct sampler_roots *roots)
{
	return roots->searched;
}

struct found {
	struct sampler *ret;
	unsigned most, count;
};

static void add_found(struct found *found, const struct sampler *sampler, uint32_t root,
		      uint64_t word)
{
	struct sampler *ret = &found->ret[found->count];

	if (word == 0 || found->count == found->most) /* a seed is the second of two outputs */
		return;
	found->count++;
	*ret = *sampler;
	ret->rule = SAMPLER_WORDS;
	ret->root = root;
	ret->word = word;
	ret->step = 0;
}

/* `begin` is the output that the first word of the block is. */
static void look(const struct sampler_roots *roots, unsigned g, uint64_t begin, struct found *found)
{
	const struct mt19937_eight *group = &roots->groups[g];

	for (unsigned i = 0; i < MT19937_WORDS; i++)
		for (unsigned lane = 0; lane < MT19937_LANES; lane++)
			if (group->words[i][lane] == group->wanted[lane])
				add_found(found, &roots->sampler,
					  sampler_popular[g * MT19937_LANES + lane], begin + i);
}

unsigned sampler_roots_search(struct sampler_roots *roots, uint64_t outputs, struct sampler *ret,
			      unsigned most)
{
	struct found found = {.ret = ret, .most = most};
	uint64_t end = roots->searched + outputs;

	while (roots->searched < end) {
		for (unsigned g = 0; g < GROUPS; g++) {
			for (unsigned b = 0; b < TURN; b++) {
				mt19937_eight_next(&roots->groups[g]);
				if (mt19937_eight_hit(&roots->groups[g]))
					look(roots, g, roots->searched + b * MT19937_WORDS, &found);
			}
		}
		roots->searched += TURN * MT19937_WORDS;
	}
	return found.count;
}
