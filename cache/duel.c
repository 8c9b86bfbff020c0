/* Miniature simulation (Waldspurger, Saemundsson, Ahmad, Park: Cache Modeling and Optimization
 * using Miniature Simulations, USENIX ATC 2017): a cache of C / R extents that sees every use of
 * one in R extents has about the hit rate of a cache of C that sees all, for any policy, as long
 * as a hash chooses the extents and not the uses (SHARDS, FAST 2015). There each extent is in or
 * out by its own hash; here one is drawn from each block of R neighbours. That is as fair, and
 * makes block numbers of the extents followed: arrays do, and their length is known.
 *
 *	extent    0 . . . | . . . . | . . . . | . . .		R = 4
 *	followed    ^           ^     ^           ^
 *	sample      0          1     2           3
 *
 * What is compared are uses of extents that were seen before: first uses hit in no cache. A
 * window is as many of them as there are samples, so that in epochs it sees each sample about
 * once and it does not matter where in an epoch it begins.
 *
 * Of the n uses in a window that hit in one cache only, chance alone would give each half: their
 * difference has variance n, and counts as real beyond four times the square root of n. In
 * shuffled epochs with room for a share f it is -(1 - f) ln(1 - f) of the window in favour of pin
 * (test_policy.c), and pin is ahead, or equal, at each moment of an epoch: a large lead of lru
 * need not wait for the end of the window.
 *
 * pin has a fault of its own: it never lets go of what is no longer in use at all, and once the
 * training goes on with other files it hits nothing. But then it does not keep what it promises
 * to any kind of epochs, C hits in a window. So with less than half of it lru wins too: it fills
 * the pool with what is in use now. And as pin, if it came back, would start from that pool, its
 * miniature starts anew from what the one of lru holds. This began in the midst of an epoch, say
 * at a share y of it, and may all have been used in it: then no more than y C hits are left to
 * the first window. So the promise is held against the second. */
#include "cache/duel.h"
#include <errno.h>
#include <stdlib.h>

#define SAMPLES_MIN 1024 /* where there are as many extents, but for `apart`; fewer than twice */
#define WORTH	    64	 /* a lead of 1 / WORTH of the window is worth a change */
#define CLEAR	    8	 /* a lead of 1 / CLEAR need not wait for the end of the window */

struct member {
	struct policy_node node;
	bool held;
};

struct shadow {
	const struct policy_ops *ops;
	struct policy policy;
	struct member *members; /* one for each sample */
	uint32_t room;		/* extents that still fit in */
};

/* What the window has seen so far; uses of samples that were seen before it, or earlier in it. */
struct window {
	int64_t uses, pin_hits;
	int64_t lru_only, pin_only; /* hits that the other one missed */
	bool pin_is_new;	    /* began with it, from what lru held */
};

struct duel {
	unsigned shift; /* one extent is followed of 1 << shift */
	uint32_t samples, capacity;
	bool *seen; /* for each sample */
	struct shadow lru, pin;
	struct window window;
	const struct policy_ops *winner;
};

/* --- a cache that holds no bytes -------------------------------------------------------------- */

static int shadow_init(struct shadow *shadow, const struct policy_ops *ops, const struct duel *duel)
{
	shadow->ops = ops;
	shadow->room = duel->capacity;
	shadow->members = calloc(duel->samples, sizeof(*shadow->members));
	if (!shadow->members)
		return -ENOMEM;
	ops->init(&shadow->policy);
	return 0;
}

static void make_room(struct shadow *shadow)
{
	struct policy_node *victim = shadow->ops->victim(&shadow->policy);

	shadow->ops->withdraw(&shadow->policy, victim);
	/* The node is the member's first. */
	((struct member *)(void *)victim)->held = false;
	shadow->room++;
}

static void hold(struct shadow *shadow, struct member *member)
{
	member->held = true;
	member->node.use = POLICY_SPENT;
	shadow->ops->offer(&shadow->policy, &member->node);
}

/* Returns whether it was a hit. */
static bool shadow_use(struct shadow *shadow, uint64_t sample)
{
	struct member *member = &shadow->members[sample];

	if (member->held) {
		shadow->ops->withdraw(&shadow->policy, &member->node);
		hold(shadow, member);
		return true;
	}
	if (!shadow->room)
		make_room(shadow);
	shadow->room--;
	hold(shadow, member);
	return false;
}

/* Both hold the same from here on. The ring of lru begins with its oldest. */
static void pin_starts_from_lru(struct duel *duel)
{
	struct shadow *pin = &duel->pin;
	const struct shadow *lru = &duel->lru;
	const struct policy_node *queue = &lru->policy.queue;

	for (uint32_t i = 0; i < duel->samples; i++)
		pin->members[i].held = false;
	pin->ops->init(&pin->policy);
	pin->room = lru->room;
	for (const struct policy_node *node = queue->next; node != queue; node = node->next)
		hold(pin,
		     pin->members + ((const struct member *)(const void *)node - lru->members));
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* More than `least`, and beyond chance: the variance is `n`. */
static bool leads(int64_t lead, int64_t least, int64_t n)
{
	return lead > least && lead * lead > 16 * n;
}

static bool lru_leads(const struct duel *duel, unsigned share)
{
	const struct window *w = &duel->window;

	return leads(w->lru_only - w->pin_only, duel->samples / share, w->lru_only + w->pin_only);
}

static bool pin_leads(const struct duel *duel)
{
	const struct window *w = &duel->window;

	return leads(w->pin_only - w->lru_only, duel->samples / WORTH, w->lru_only + w->pin_only);
}

static bool pin_broke_its_promise(const struct duel *duel)
{
	return leads(duel->capacity - duel->window.pin_hits, duel->capacity / 2, duel->capacity);
}

static void lru_wins(struct duel *duel)
{
	duel->winner = &policy_lru;
	duel->window = (struct window){.pin_is_new = true};
	pin_starts_from_lru(duel);
}

static void end_window(struct duel *duel)
{
	bool broken = !duel->window.pin_is_new && pin_broke_its_promise(duel);

	if (broken || (duel->winner == &policy_pin && lru_leads(duel, WORTH))) {
		lru_wins(duel);
		return;
	}
	if (pin_leads(duel))
		duel->winner = &policy_pin;
	duel->window = (struct window){0};
}

/* The way back to pin takes a whole window: in it the pool is filled with what is in use. */
static void judge(struct duel *duel)
{
	if (duel->window.uses == duel->samples)
		end_window(duel);
	else if (duel->winner == &policy_pin && lru_leads(duel, CLEAR))
		lru_wins(duel);
}

/* --- extents ---------------------------------------------------------------------------------- */

/* splitmix64: each bit of the block decides about each bit of the result. */
static uint64_t hash(uint64_t block)
{
	block += 0x9e3779b97f4a7c15u;
	block = (block ^ (block >> 30)) * 0xbf58476d1ce4e5b9u;
	block = (block ^ (block >> 27)) * 0x94d049bb133111ebu;
	return block ^ (block >> 31);
}

/* Whether it is the one of its block. */
bool duel_follows(const struct duel *duel, uint64_t extent)
{
	uint64_t block = extent >> duel->shift;

	return ((extent ^ hash(block)) & (((uint64_t)1 << duel->shift) - 1)) == 0;
}

void duel_use(struct duel *duel, uint64_t extent)
{
	uint64_t sample = extent >> duel->shift;
	struct window *window = &duel->window;
	bool lru, pin;

	if (!duel_follows(duel, extent))
		return;
	lru = shadow_use(&duel->lru, sample);
	pin = shadow_use(&duel->pin, sample);
	if (!duel->seen[sample]) {
		duel->seen[sample] = true;
		return;
	}
	window->uses++;
	window->pin_hits += pin;
	window->lru_only += lru && !pin;
	window->pin_only += pin && !lru;
	judge(duel);
}

const struct policy_ops *duel_winner(const struct duel *duel)
{
	return duel->winner;
}

/* --- life ------------------------------------------------------------------------------------- */

/* An empty pack has one sample too, which nobody uses. */
static void scale(struct duel *duel, uint64_t extents, uint64_t capacity, uint32_t apart)
{
	uint64_t block, room;

	duel->shift = (unsigned)__builtin_ctz(apart);
	while (extents >> duel->shift >= (uint64_t)2 * SAMPLES_MIN)
		duel->shift++;
	block = (uint64_t)1 << duel->shift;
	duel->samples = (uint32_t)((extents >> duel->shift) + (extents % block != 0));
	if (duel->samples == 0)
		duel->samples = 1;
	room = (capacity >> duel->shift) + (capacity % block >= block - block / 2);
	if (room > duel->samples)
		room = duel->samples;
	duel->capacity = room ? (uint32_t)room : 1;
}

int duel_new(uint64_t extents, uint64_t capacity, uint32_t apart, struct duel **ret)
{
	struct duel *duel = calloc(1, sizeof(*duel));

	if (!duel)
		return -ENOMEM;
	scale(duel, extents, capacity, apart);
	duel->winner = &policy_pin;
	duel->seen = calloc(duel->samples, sizeof(*duel->seen));
	if (!duel->seen || shadow_init(&duel->lru, &policy_lru, duel) < 0 ||
	    shadow_init(&duel->pin, &policy_pin, duel) < 0) {
		duel_free(duel);
		return -ENOMEM;
	}
	*ret = duel;
	return 0;
}

void duel_free(struct duel *duel)
{
	if (!duel)
		return;
	free(duel->lru.members);
	free(duel->pin.members);
	free(duel->seen);
	free(duel);
}
