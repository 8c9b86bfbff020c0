#include "cache/order/dealt.h"
#include "cache/order/ranks.h"

/* Whether a rank may begin with one of these. */
static bool has_first(const struct evidence *evidence, const uint32_t *head, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (seeds_seen_begins(&evidence->seen, head[i]))
			return true;
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

static bool try_ranks(const struct evidence *evidence, const uint32_t *head, unsigned count,
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

static bool try_seed(const struct evidence *evidence, unsigned depth, struct pass *pass)
{
	uint32_t n = evidence->list->count, head[PASS_HEAD];

	return has_first(evidence, head, pass_head(pass, n, head, DEALT_MANY)) &&
	       try_ranks(evidence, head, pass_head(pass, n, head, PASS_HEAD), depth, &pass->part);
}

bool dealt_to_many(const struct evidence *evidence, const struct guess_hooks *hooks,
		   struct pass *ret)
{
	unsigned depth = evidence_depth(evidence, (double)DEALT_SEEDS * DEALT_MANY * DEALT_MANY);
	struct pass pass = {.part = {.unit = 1, .ranks = 1}};

	for (; depth && pass.seed < DEALT_SEEDS && !hooks->stopped(hooks->context); pass.seed++)
		if (try_seed(evidence, depth, &pass)) {
			pass.part.ranks = ranks_begun(evidence, &pass);
			*ret = pass;
			return ranks_find(evidence, ret);
		}
	return false;
}
