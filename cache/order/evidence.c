#include "cache/order/evidence.h"
#include <stdlib.h>

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
	if (list->count < 2 || list->count >= PERMUTATION_LARGE)
		return false;
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
