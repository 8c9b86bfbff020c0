#include "cache/order/evidence.h"
#include "base/scope.h"
#include <stdlib.h>

#define LEAST  8 /* files of each reader, that say something */
#define SHARDS 64

static void add_seen(struct evidence *evidence, uint32_t index)
{
	evidence->count += !bit_set(evidence->set, index);
}

/* What the readers began with; where these are few, what came next as well: the first file of a
 * program may have been a look at the data. */
static void find_firsts(struct evidence *evidence, const struct question *question)
{
	struct seeds_seen *seen = &evidence->seen;

	for (uint32_t nth = 0; nth < SEEDS_FIRSTS; nth++)
		for (unsigned i = 0; i < question->count; i++) {
			const struct watch_access *access = &question->seen[i];
			uint32_t index = order_list_find(evidence->list, access->file);

			if (access->nth == nth && index != ORDER_NONE &&
			    seen->first_count < SEEDS_FIRSTS)
				seen->firsts[seen->first_count++] = index;
		}
}

static bool find_hidden(struct evidence *evidence, const uint8_t *hidden)
{
	const struct order_list *list = evidence->list;

	if (!hidden)
		return true;
	evidence->hidden = calloc(1, list->count / 8 + 1);
	if (!evidence->hidden)
		return false;
	for (uint32_t i = 0; i < list->count; i++)
		if (list->files[i] != ORDER_NONE && bit_get(hidden, list->files[i]) &&
		    !bit_get(evidence->set, i)) {
			bit_set(evidence->hidden, i);
			evidence->hidden_count++;
		}
	return true;
}

bool evidence_init(struct evidence *evidence, const struct question *question,
		   const struct order_list *list)
{
	*evidence =
		(struct evidence){.question = question, .list = list, .seen = {.n = list->count}};
	evidence->set = calloc(1, list->count / 8 + 1);
	if (!evidence->set)
		return false;
	for (unsigned i = 0; i < question->count; i++) {
		const struct watch_access *access = &question->seen[i];
		uint32_t index = order_list_find(list, access->file);

		if (index == ORDER_NONE)
			continue;
		add_seen(evidence, index);
		evidence->shortest++;
		if (access->nth >= evidence->longest)
			evidence->longest = access->nth + 1;
	}
	if (question->count)
		evidence->shortest = evidence->shortest * question->shortest / question->count;
	evidence->seen.set = evidence->set;
	find_firsts(evidence, question);
	if (find_hidden(evidence, question->hidden))
		return true;
	evidence_release(evidence);
	return false;
}

void evidence_release(struct evidence *evidence)
{
	free(evidence->set);
	free(evidence->hidden);
}

bool evidence_is_scan(const struct evidence *evidence)
{
	uint32_t n = evidence->list->count, beside = 0;

	for (uint32_t i = 0; i < n; i++)
		if (seeds_seen_has(&evidence->seen, i))
			beside += (i > 0 && seeds_seen_has(&evidence->seen, i - 1)) ||
				  (i + 1 < n && seeds_seen_has(&evidence->seen, i + 1));
	return evidence->count * 4 < n && beside * 4 > evidence->count * 3;
}

unsigned evidence_depth(const struct evidence *evidence, double tried)
{
	double n = evidence->list->count - evidence->hidden_count, seen = evidence->count / n;
	double chance = tried * evidence->seen.first_count / n;
	unsigned most = evidence->longest < WATCH_RUN ? evidence->longest : WATCH_RUN;

	for (unsigned depth = 1; depth <= most; depth++) {
		if (chance < GUESS_ODDS && depth > 1)
			return depth;
		chance *= seen;
	}
	return 0;
}

static bool is_hidden(const struct evidence *evidence, uint32_t index)
{
	return evidence->hidden && bit_get(evidence->hidden, index);
}

bool evidence_fits(const struct evidence *evidence, const struct pass *pass, unsigned depth)
{
	uint32_t begin[PASS_BEGIN];
	unsigned most = evidence->hidden ? PASS_BEGIN : depth, found = 0;
	unsigned count = pass_begin(pass, evidence->list->count, begin, most);

	for (unsigned i = 0; i < count && found < depth; i++) {
		if (is_hidden(evidence, begin[i]))
			continue;
		if (!seeds_seen_has(&evidence->seen, begin[i]) ||
		    (found == 0 && !seeds_seen_begins(&evidence->seen, begin[i])))
			return false;
		found++;
	}
	return found == depth;
}

/* --- shards ---------------------------------------------------------------------------------- */

static bool begins_at(const struct evidence *evidence, const uint32_t *order, uint32_t place,
		      unsigned depth)
{
	if (!seeds_seen_has(&evidence->seen, order[place]) ||
	    !seeds_seen_begins(&evidence->seen, order[place]))
		return false;
	for (unsigned i = 1; i < depth; i++)
		if (!seeds_seen_has(&evidence->seen, order[place + i]))
			return false;
	return true;
}

/* The places at which readers began; the second files of these may count as firsts too. */
static unsigned find_begins(const struct evidence *evidence, const uint32_t *order, unsigned depth,
			    uint32_t ret[SEEDS_FIRSTS])
{
	uint32_t n = evidence->list->count, last = ORDER_NONE;
	unsigned count = 0;

	for (uint32_t place = 0; place + depth <= n; place++) {
		if (!begins_at(evidence, order, place, depth))
			continue;
		if (last == ORDER_NONE || place != last + 1)
			ret[count++] = place;
		last = place;
	}
	return count;
}

/* The shards of `world` that begin there, a bit for each: 0 where one of the places is none's. */
static uint64_t shards_at(uint32_t n, uint32_t world, const uint32_t *places, unsigned count)
{
	uint64_t shards = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t shard = ((uint64_t)places[i] * world + n - 1) / n;

		if (n * shard / world != places[i])
			return 0;
		shards |= (uint64_t)1 << shard;
	}
	return shards;
}

bool evidence_fits_shards(const struct evidence *evidence, const struct pass *pass, unsigned depth,
			  struct pass_part *ret)
{
	uint32_t n = evidence->list->count, begins[SEEDS_FIRSTS];
	SCOPE_FREE uint32_t *order = malloc((size_t)n * sizeof(*order));
	unsigned count;

	if (!order || pass_order(pass, n, order) != n)
		return false;
	count = find_begins(evidence, order, depth, begins);
	for (uint32_t world = 1; world <= SHARDS && world <= n; world++) {
		uint64_t shards = shards_at(n, world, begins, count);
		unsigned first = shards ? (unsigned)__builtin_ctzll(shards) : 0;

		if (!shards)
			continue;
		*ret = (struct pass_part){.world = world, .first = first, .ranks = shards >> first};
		return true;
	}
	return false;
}

/* --- indices --------------------------------------------------------------------------------- */

/* Of each reader the files before its nth one. */
static unsigned indices_before(const struct evidence *evidence, uint32_t nth, uint32_t *ret)
{
	const struct question *question = evidence->question;
	const struct order_list *list = evidence->list;
	SCOPE_FREE uint8_t *told = calloc(1, list->count / 8 + 1);
	unsigned count = 0;

	for (unsigned i = 0; told && i < question->count; i++) {
		const struct watch_access *access = &question->seen[i];
		uint32_t index = order_list_find(list, access->file);

		if (access->nth < nth && index != ORDER_NONE && !bit_set(told, index))
			ret[count++] = index;
	}
	return count;
}

unsigned evidence_indices(const struct evidence *evidence, unsigned most, uint32_t *ret)
{
	uint32_t nth = WATCH_RUN_MANY;
	unsigned count = indices_before(evidence, nth, ret);

	while (count > most && nth > LEAST) {
		nth /= 2;
		count = indices_before(evidence, nth, ret);
	}
	return count;
}

/* --- runs ------------------------------------------------------------------------------------ */

/* From its first file on, seen[first]. */
static bool find_run(const struct evidence *evidence, unsigned first, uint32_t ret[SEEDS_RUN])
{
	const struct question *question = evidence->question;
	uint32_t nth = 0;

	for (unsigned i = first; i < question->count && nth < SEEDS_RUN; i++) {
		const struct watch_access *access = &question->seen[i];

		if (access->reader != question->seen[first].reader)
			continue;
		ret[nth] = order_list_find(evidence->list, access->file);
		if (access->nth != nth || ret[nth] == ORDER_NONE)
			return false;
		nth++;
	}
	return nth == SEEDS_RUN;
}

unsigned evidence_runs(const struct evidence *evidence, uint32_t ret[SEEDS_FIRSTS][SEEDS_RUN])
{
	const struct question *question = evidence->question;
	unsigned count = 0;

	for (unsigned i = 0; i < question->count && count < SEEDS_FIRSTS; i++)
		if (question->seen[i].nth == 0 && find_run(evidence, i, ret[count]))
			count++;
	return count;
}
