#include "cache/order/candidate.h"
#include <stdlib.h>

#define SCAN_STEPS 8 /* from a file to another, that show a scan */

bool candidate_init(struct candidate *candidate, const struct observations *observations,
		    const struct order_list *list)
{
	*candidate = (struct candidate){
		.observations = observations, .list = list, .seen = {.n = list->count}};
	if (list->count < 2 || list->count >= PERMUTATION_LARGE)
		return false;
	candidate->set = calloc(1, list->count / 8 + 1);
	if (!candidate->set)
		return false;
	for (unsigned i = 0; i < observations->count; i++) {
		const struct watch_access *access = &observations->seen[i];
		uint32_t index = order_list_find(list, access->file);

		if (index == ORDER_NONE)
			continue;
		candidate->count += !bit_set(candidate->set, index);
		candidate->shortest++;
		if (access->nth >= candidate->longest)
			candidate->longest = access->nth + 1;
	}
	if (observations->count)
		candidate->shortest =
			candidate->shortest * observations->shortest / observations->count;
	candidate->seen.set = candidate->set;
	/* What readers began with; if these are few, what came next as well: a program's first file
	 * may have been a look at the data. */
	for (uint32_t nth = 0; nth < SEEDS_FIRSTS; nth++)
		for (unsigned i = 0; i < observations->count; i++) {
			const struct watch_access *access = &observations->seen[i];
			uint32_t index = order_list_find(list, access->file);

			if (access->nth == nth && index != ORDER_NONE &&
			    candidate->seen.first_count < SEEDS_FIRSTS)
				candidate->seen.firsts[candidate->seen.first_count++] = index;
		}
	if (!observations->hidden)
		return true;
	candidate->hidden = calloc(1, list->count / 8 + 1);
	if (!candidate->hidden) {
		candidate_release(candidate);
		return false;
	}
	for (uint32_t i = 0; i < list->count; i++)
		if (list->files[i] != ORDER_NONE && bit_get(observations->hidden, list->files[i]) &&
		    !bit_get(candidate->set, i))
			candidate->hidden_count += !bit_set(candidate->hidden, i);
	return true;
}

void candidate_release(struct candidate *candidate)
{
	free(candidate->set);
	free(candidate->hidden);
}

bool candidate_is_scan(const struct candidate *candidate)
{
	const struct observations *observations = candidate->observations;
	uint32_t n = candidate->list->count, beside = 0;
	unsigned steps = 0, next = 0;

	for (unsigned i = 0; i < observations->count; i++) {
		const struct watch_access *seen = observations->seen, *access = &seen[i];
		unsigned before = access->nth > 0 ? i : 0;
		uint32_t index = ORDER_NONE;

		/* What the same reader asked for before. */
		while (before-- > 0)
			if (seen[before].reader == access->reader &&
			    seen[before].nth + 1 == access->nth) {
				index = order_list_find(candidate->list, seen[before].file);
				break;
			}
		if (index == ORDER_NONE)
			continue;
		steps++;
		next += order_list_find(candidate->list, access->file) == index + 1;
	}
	/* Readers go from one file to the next; */
	if (steps >= SCAN_STEPS && next * 4 > steps * 3)
		return true;
	/* or several share the files of an order between them, and leave nothing out. */
	for (uint32_t i = 0; i < n; i++)
		if (seeds_seen_has(&candidate->seen, i))
			beside += (i > 0 && seeds_seen_has(&candidate->seen, i - 1)) ||
				  (i + 1 < n && seeds_seen_has(&candidate->seen, i + 1));
	return candidate->count * 4 < n && beside * 4 > candidate->count * 3;
}

unsigned candidate_depth(const struct candidate *candidate, double tried)
{
	double n = candidate->list->count - candidate->hidden_count, seen = candidate->count / n;
	double chance = tried * candidate->seen.first_count / n;
	unsigned most = candidate->longest < WATCH_BEGINNING ? candidate->longest : WATCH_BEGINNING;

	for (unsigned depth = 1; depth <= most; depth++) {
		if (chance < GUESS_ODDS && depth > 1)
			return depth;
		chance *= seen;
	}
	return 0;
}

bool candidate_fits(const struct candidate *candidate, const struct sampler *sampler,
		    unsigned depth)
{
	uint32_t begin[SAMPLER_BEGIN];
	unsigned most = candidate->hidden ? SAMPLER_BEGIN : depth, found = 0;
	unsigned count = sampler_begin(sampler, candidate->list->count, begin, most);

	for (unsigned i = 0; i < count && found < depth; i++) {
		if (candidate->hidden && bit_get(candidate->hidden, begin[i]))
			continue;
		if (!seeds_seen_has(&candidate->seen, begin[i]) ||
		    (found == 0 && !seeds_seen_begins(&candidate->seen, begin[i])))
			return false;
		found++;
	}
	return found == depth;
}
