/* A link to far storage, simulated: a transfer waits for its first byte, then gets `rate` bytes a
 * second, or less where all together want more than `bandwidth`, which they share equally. */
#pragma once

#include <math.h>
#include <stdlib.h>

#define LINK_MOST 4096 /* transfers at once */

struct transfer {
	double key;   /* s: it starts; then bytes: see `sent`, it ends */
	double begun; /* s: it was asked for */
	double bytes;
	void *arg;
};

struct transfers {
	unsigned count;
	struct transfer heap[LINK_MOST]; /* the smallest key first */
};

struct far_link {
	double latency, rate, bandwidth; /* s, bytes a second */
	double jitter; /* of the latency, as a part of it: without any, all would end at once */
	double now;    /* s */
	double sent;   /* bytes that a transfer would have got that never ends */
	double bytes;  /* of all that ended */
	unsigned requests;
	unsigned seed;
	struct transfers waiting, active;
};

static inline void transfers_add(struct transfers *all, struct transfer transfer)
{
	unsigned at = all->count++;

	if (all->count == LINK_MOST)
		abort();
	for (; at && all->heap[(at - 1) / 2].key > transfer.key; at = (at - 1) / 2)
		all->heap[at] = all->heap[(at - 1) / 2];
	all->heap[at] = transfer;
}

static inline struct transfer transfers_take(struct transfers *all)
{
	struct transfer first = all->heap[0], last = all->heap[--all->count];
	unsigned at = 0, next;

	while ((next = 2 * at + 1) < all->count) {
		if (next + 1 < all->count && all->heap[next + 1].key < all->heap[next].key)
			next++;
		if (all->heap[next].key >= last.key)
			break;
		all->heap[at] = all->heap[next];
		at = next;
	}
	all->heap[at] = last;
	return first;
}

/* Bytes a second of each transfer now. */
static inline double link_share(const struct far_link *link)
{
	double n = link->active.count;

	return n * link->rate > link->bandwidth ? link->bandwidth / n : link->rate;
}

static inline double link_starts(const struct far_link *link)
{
	return link->waiting.count ? link->waiting.heap[0].key : INFINITY;
}

static inline double link_ends(const struct far_link *link)
{
	if (!link->active.count)
		return INFINITY;
	return link->now + fmax(link->active.heap[0].key - link->sent, 0) / link_share(link);
}

static inline void link_pass(struct far_link *link, double until)
{
	if (link->active.count)
		link->sent += (until - link->now) * link_share(link);
	link->now = until;
}

static inline void link_ask(struct far_link *link, double bytes, void *arg)
{
	double more = link->jitter * ((double)rand_r(&link->seed) / RAND_MAX - 0.5);
	struct transfer transfer = {.key = link->now + link->latency * (1 + more),
				    .begun = link->now,
				    .bytes = bytes,
				    .arg = arg};

	link->requests++;
	transfers_add(&link->waiting, transfer);
}

/* Time goes on to the next transfer that ends, but not beyond `until`. Returns whether one did. */
static inline int link_next(struct far_link *link, double until, struct transfer *ret)
{
	for (;;) {
		double starts = link_starts(link), ends = link_ends(link);

		if (isinf(fmin(starts, ends)) || fmin(starts, ends) > until) {
			if (!isinf(until))
				link_pass(link, until);
			return 0;
		}
		link_pass(link, fmin(starts, ends));
		if (ends <= starts) {
			*ret = transfers_take(&link->active);
			link->bytes += ret->bytes;
			return 1;
		} else {
			struct transfer transfer = transfers_take(&link->waiting);

			transfer.key = link->sent + transfer.bytes;
			transfers_add(&link->active, transfer);
		}
	}
}
