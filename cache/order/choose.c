#include "cache/order/choose.h"
#include <math.h>
#include <string.h>

#define CLEAR 16 /* a number is clearly more than another if it is larger by a 16th of that */

unsigned choose_seen(const struct question *question, const struct order_list *list)
{
	unsigned count = 0;

	for (unsigned i = 0; i < question->count; i++)
		count += order_list_find(list, question->seen[i].file) != ORDER_NONE;
	return count;
}

static bool has_share(const struct question *question, const struct order_list *list)
{
	return choose_is_share(choose_seen(question, list), question->count);
}

const struct order_list *choose_likeliest(const struct question *question)
{
	for (unsigned i = 0; i < question->list_count; i++)
		if (has_share(question, question->lists[i]))
			return question->lists[i];
	return NULL;
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
static bool has_all_of(const struct question *question, const struct order_list *list,
		       const struct order_list *other)
{
	for (unsigned i = 0; i < question->count; i++) {
		uint32_t file = question->seen[i].file;

		if (order_list_find(other, file) != ORDER_NONE &&
		    order_list_find(list, file) == ORDER_NONE)
			return false;
	}
	return true;
}

/* All that was seen of the list lies in a shorter one: with a share s of its files, chance does
 * that to k of them with a probability of s^k. */
static bool is_too_long(const struct question *question, const struct order_list *list)
{
	unsigned seen = choose_seen(question, list);

	for (unsigned i = 0; i < question->list_count; i++) {
		const struct order_list *other = question->lists[i];

		if (other->count < list->count &&
		    pow((double)other->count / list->count, seen) < GUESS_ODDS &&
		    has_all_of(question, other, list))
			return true;
	}
	return false;
}

static void swap(struct question *question, unsigned a, unsigned b)
{
	const struct order_list *list = question->lists[a];

	question->lists[a] = question->lists[b];
	question->lists[b] = list;
}

static bool is_clearly_more(unsigned a, unsigned b)
{
	return a > b + b / CLEAR;
}

static bool is_known(const struct question *question, const struct order_list *list)
{
	for (unsigned i = 0; i < question->known_count; i++)
		if (question->known[i].list == list)
			return true;
	return false;
}

static bool is_likelier(const struct question *question, const struct order_list *a,
			const struct order_list *b)
{
	unsigned seen_of_a = choose_seen(question, a), seen_of_b = choose_seen(question, b);

	if (is_clearly_more(seen_of_a, seen_of_b) || is_clearly_more(seen_of_b, seen_of_a))
		return seen_of_a > seen_of_b;
	if (is_known(question, a) != is_known(question, b))
		return is_known(question, a);
	return is_clearly_more(b->count, a->count);
}

static void sort(struct question *question)
{
	for (unsigned i = 1; i < question->list_count; i++)
		for (unsigned at = i; at > 0; at--) {
			if (!is_likelier(question, question->lists[at], question->lists[at - 1]))
				break;
			swap(question, at, at - 1);
		}
}

/* Another list has all that was seen of it, and clearly more. */
static bool is_unlikely(const struct question *question, const struct order_list *list)
{
	unsigned seen = choose_seen(question, list);

	for (unsigned i = 0; i < question->list_count; i++) {
		const struct order_list *other = question->lists[i];

		if (is_clearly_more(choose_seen(question, other), seen) &&
		    has_all_of(question, other, list))
			return true;
	}
	return false;
}

/* To the end, in the order that they have. */
static void move_unlikely(struct question *question)
{
	question->unlikely = 0;
	for (unsigned i = question->list_count; i-- > 0;) {
		const struct order_list *list = question->lists[i];
		unsigned last = question->list_count - 1 - question->unlikely;

		if (!is_unlikely(question, list))
			continue;
		memmove(&question->lists[i], &question->lists[i + 1],
			(last - i) * sizeof(*question->lists));
		question->lists[last] = list;
		question->unlikely++;
	}
}

void choose_lists(struct question *question)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < question->list_count; i++)
		if (has_share(question, question->lists[i]) &&
		    !is_too_long(question, question->lists[i]))
			swap(question, i, kept++);
	question->list_count = kept;
	sort(question);
	move_unlikely(question);
}
