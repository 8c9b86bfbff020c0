#include "cache/order/choose.h"
#include <math.h>
#include <string.h>

#define CLEAR 16 /* a number is clearly more than another if it is larger by a 16th of that */

/* How much of what was seen is in the list. */
static unsigned count_seen(const struct observations *observations, const struct order_list *list)
{
	unsigned count = 0;

	for (unsigned i = 0; i < observations->count; i++)
		count += order_list_find(list, observations->seen[i].file) != ORDER_NONE;
	return count;
}

/* --- kinds ----------------------------------------------------------------------------------- */

static bool is_noted(const struct choose_kinds *asked, uint64_t kind)
{
	for (unsigned i = 0; i < asked->count; i++)
		if (asked->kinds[i] == kind)
			return true;
	return false;
}

void choose_note(struct choose_kinds *asked, uint64_t kind)
{
	if (asked->count < CHOOSE_KINDS && !is_noted(asked, kind))
		asked->kinds[asked->count++] = kind;
}

/* Of each kind the last file stands for it: a script may read an index first, of the same kind as
 * what it names. */
unsigned choose_file(const uint64_t *kinds, unsigned count, const struct choose_kinds *asked)
{
	unsigned found = count, most = 0;

	if (asked->count == CHOOSE_KINDS)
		return count;
	for (unsigned i = count; i-- > 0;) {
		unsigned of_it = 0;

		if (is_noted(asked, kinds[i]))
			continue;
		for (unsigned j = 0; j <= i; j++)
			of_it += kinds[j] == kinds[i];
		if (of_it >= most && (!asked->count || choose_is_share(of_it, count))) {
			most = of_it;
			found = i;
		}
	}
	return found;
}

/* --- lists ----------------------------------------------------------------------------------- */

/* Whether `list` has all that was seen of `other`. */
static bool has_all_of(const struct observations *observations, const struct order_list *list,
		       const struct order_list *other)
{
	for (unsigned i = 0; i < observations->count; i++) {
		uint32_t file = observations->seen[i].file;

		if (order_list_find(other, file) != ORDER_NONE &&
		    order_list_find(list, file) == ORDER_NONE)
			return false;
	}
	return true;
}

/* All that was seen of the list lies in a shorter one: with a share s of its files, chance does
 * that to k of them with a probability of s^k. */
static bool is_too_long(const struct observations *observations, const struct order_list *list)
{
	unsigned seen = count_seen(observations, list);

	for (unsigned i = 0; i < observations->list_count; i++) {
		const struct order_list *other = observations->lists[i];

		if (other->count < list->count &&
		    pow((double)other->count / list->count, seen) < GUESS_ODDS &&
		    has_all_of(observations, other, list))
			return true;
	}
	return false;
}

static void swap(struct observations *observations, unsigned a, unsigned b)
{
	const struct order_list *list = observations->lists[a];

	observations->lists[a] = observations->lists[b];
	observations->lists[b] = list;
}

static bool is_clearly_more(unsigned a, unsigned b)
{
	return a > b + b / CLEAR;
}

static bool is_of_known(const struct observations *observations, const struct order_list *list)
{
	for (unsigned i = 0; i < observations->known_count; i++)
		if (observations->known[i].list == list)
			return true;
	return false;
}

static bool is_likelier_list(const struct observations *observations, const struct order_list *a,
			     const struct order_list *b)
{
	unsigned seen_of_a = count_seen(observations, a), seen_of_b = count_seen(observations, b);

	if (is_clearly_more(seen_of_a, seen_of_b) || is_clearly_more(seen_of_b, seen_of_a))
		return seen_of_a > seen_of_b;
	if (is_of_known(observations, a) != is_of_known(observations, b))
		return is_of_known(observations, a);
	return is_clearly_more(b->count, a->count);
}

/* Another list has all that was seen of it, and clearly more. */
static bool is_unlikely(const struct observations *observations, const struct order_list *list)
{
	unsigned seen = count_seen(observations, list);

	for (unsigned i = 0; i < observations->list_count; i++) {
		const struct order_list *other = observations->lists[i];

		if (is_clearly_more(count_seen(observations, other), seen) &&
		    has_all_of(observations, other, list))
			return true;
	}
	return false;
}

/* To the end, in the order that they have. */
static void move_unlikely(struct observations *observations)
{
	observations->unlikely = 0;
	for (unsigned i = observations->list_count; i-- > 0;) {
		const struct order_list *list = observations->lists[i];
		unsigned last = observations->list_count - 1 - observations->unlikely;

		if (!is_unlikely(observations, list))
			continue;
		memmove(&observations->lists[i], &observations->lists[i + 1],
			(last - i) * sizeof(*observations->lists));
		observations->lists[last] = list;
		observations->unlikely++;
	}
}

void choose_lists(struct observations *observations)
{
	unsigned count = 0;

	for (unsigned i = 0; i < observations->list_count; i++)
		if (choose_is_share(count_seen(observations, observations->lists[i]),
				    observations->count) &&
		    !is_too_long(observations, observations->lists[i]))
			swap(observations, i, count++);
	observations->list_count = count;
	for (unsigned i = 1; i < count; i++)
		for (unsigned at = i; at > 0; at--) {
			if (!is_likelier_list(observations, observations->lists[at],
					      observations->lists[at - 1]))
				break;
			swap(observations, at, at - 1);
		}
	move_unlikely(observations);
}
