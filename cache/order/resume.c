/* Of s places drawn at random from n, a place has another one of them just behind it with
 * probability s / n. Of those of readers nearly all have: but for the last of each run, and for
 * files of others. Half of all is asked for, as far as that is out of chance's reach: k of s
 * neighbours come by chance with a probability below C(s, k) (s / n)^k, which is less than
 * (2 e s / n)^k for k = s / 2. So n must be more than 8 e s, or what was seen is not enough. */
#include "cache/order/resume.h"
#include "base/bits.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORLDS 16
#define SPARSE 22 /* 8 e */

struct resume {
	uint32_t n;
	uint32_t *seen, *order, *places;
	unsigned count;
	uint8_t *set; /* a bit for each place */
};

int resume_new(uint32_t n, const uint32_t *seen, unsigned count, struct resume **ret)
{
	struct resume *resume = calloc(1, sizeof(*resume));

	if (!resume)
		return -ENOMEM;
	*resume = (struct resume){.n = n,
				  .count = count,
				  .seen = malloc((count + 1) * sizeof(*seen)),
				  .order = malloc((n + 1) * sizeof(*seen)),
				  .places = malloc((n + 1) * sizeof(*seen)),
				  .set = calloc(1, n / 8 + 1)};
	if (!resume->seen || !resume->order || !resume->places || !resume->set) {
		resume_free(resume);
		return -ENOMEM;
	}
	memcpy(resume->seen, seen, count * sizeof(*seen));
	*ret = resume;
	return 0;
}

void resume_free(struct resume *resume)
{
	if (!resume)
		return;
	free(resume->seen);
	free(resume->order);
	free(resume->places);
	free(resume->set);
	free(resume);
}

unsigned resume_most(uint32_t n)
{
	return n / SPARSE;
}

unsigned resume_tries(const struct resume *resume)
{
	if (resume->count < RESUME_SEEN || resume->count > resume_most(resume->n))
		return 0;
	return (unsigned)(RESUME_STEPS / resume->n);
}

static bool in_set(const struct resume *resume, uint32_t place)
{
	return place < resume->n && bit_get(resume->set, place);
}

/* Those seen that have another one `stride` places behind them. */
static unsigned neighbours(const struct resume *resume, uint32_t stride)
{
	unsigned found = 0;

	for (unsigned i = 0; i < resume->count; i++)
		found += in_set(resume, resume->places[resume->seen[i]] + stride);
	return found;
}

static void mark(struct resume *resume, bool on)
{
	for (unsigned i = 0; i < resume->count; i++) {
		uint32_t place = resume->places[resume->seen[i]];

		if (on)
			bit_set(resume->set, place);
		else
			bit_clear(resume->set, place);
	}
}

/* The ranks whose places were seen, from the first one on: more than a few of each. */
static struct pass_part part_of(const struct resume *resume, uint32_t world)
{
	struct pass_part part = {.world = world, .unit = 1};
	unsigned seen[WORLDS] = {0};

	for (unsigned i = 0; i < resume->count; i++)
		seen[resume->places[resume->seen[i]] % world]++;
	for (uint32_t rank = world; rank-- > 0;)
		if (seen[rank] * world >= resume->count / 2)
			part.first = rank;
	for (uint32_t i = 0; i < world; i++)
		if (seen[(part.first + i) % world] * world >= resume->count / 2)
			part.ranks |= (uint64_t)1 << i;
	return part;
}

static bool find_part(const struct resume *resume, struct pass_part *ret)
{
	for (uint32_t world = 1; world <= WORLDS; world++)
		if (neighbours(resume, world) * 2 >= resume->count) {
			*ret = world > 1 ? part_of(resume, world) : (struct pass_part){0};
			return true;
		}
	return false;
}

bool resume_fits(struct resume *resume, const struct pass *pass, struct pass *ret)
{
	struct pass_part part;
	bool found;

	if (pass->part.world > 1 || pass_order(pass, resume->n, resume->order) != resume->n)
		return false;
	for (uint32_t place = 0; place < resume->n; place++)
		resume->places[resume->order[place]] = place;
	mark(resume, true);
	found = find_part(resume, &part);
	mark(resume, false);
	if (!found)
		return false;
	*ret = *pass;
	ret->part = part;
	return true;
}
