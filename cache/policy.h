/* Which extent leaves the pool first: a pure decision behind a small vtable.
 *
 * The pool offers an extent when nobody uses it, and withdraws it when somebody does or when
 * it is gone. A policy only orders what is on offer. No locks, no I/O, no allocation: the pool
 * calls it under its own lock, tests feed it traces.
 *
 * All policies keep what is on offer in the one ring of struct policy, and differ in nothing
 * but where they put a new offer. So the policy may be changed at any time, without a new init:
 * what one has offered another may withdraw or find as its victim, and the order of what is on
 * offer already stays until it is offered again. */
#ifndef CACHE_POLICY_H
#define CACHE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the pool knows of an extent that it offers. */
enum policy_use {
	POLICY_AHEAD, /* read ahead in the hope of use, nobody has asked for it yet */
	POLICY_DUE,   /* the same, and next in an order that is known */
	POLICY_USED,  /* somebody read of it and may read more */
	POLICY_SPENT, /* served in full: this reader will not come back to it soon */
	POLICY_GIVEN, /* the same, and the kernel keeps it: of no more use, and no policy's matter
		       */
};

static inline bool policy_is_ahead(enum policy_use use)
{
	return use == POLICY_AHEAD || use == POLICY_DUE;
}

static inline bool policy_is_spent(enum policy_use use)
{
	return use == POLICY_SPENT || use == POLICY_GIVEN;
}

/* A member of the pool's extent. `use` is the pool's, the links are the policy's. */
struct policy_node {
	struct policy_node *prev, *next;
	enum policy_use use;
};

struct policy {
	struct policy_node queue; /* ring; queue.next goes first */
};

struct policy_ops {
	const char *name; /* of the option policy= */
	void (*init)(struct policy *policy);
	void (*offer)(struct policy *policy, struct policy_node *node);
	void (*withdraw)(struct policy *policy, struct policy_node *node);
	/* The node that should go first, still on offer; NULL: none is. */
	struct policy_node *(*victim)(const struct policy *policy);
};

/* Least recently used first, whatever the use; one read ahead is as recent as its reading. */
extern const struct policy_ops policy_lru;

/* Spent ones first, the latest before all others; then the rest, oldest first. What an epoch
 * has not come to stays, as if it were pinned. */
extern const struct policy_ops policy_pin;

/* --- the ring, for those who write a policy -------------------------------------------------- */

static inline void policy_ring_init(struct policy *policy)
{
	policy->queue.next = &policy->queue;
	policy->queue.prev = &policy->queue;
}

/* The queue itself is a place too: behind it is the front, and behind queue.prev the back. */
static inline void policy_ring_insert(struct policy_node *place, struct policy_node *node)
{
	node->prev = place;
	node->next = place->next;
	place->next->prev = node;
	place->next = node;
}

static inline void policy_ring_remove(struct policy *policy, struct policy_node *node)
{
	(void)policy;
	node->prev->next = node->next;
	node->next->prev = node->prev;
}

/* The front, or NULL. */
static inline struct policy_node *policy_ring_front(const struct policy *policy)
{
	return policy->queue.next == &policy->queue ? NULL : policy->queue.next;
}

#endif
