/* Which extent leaves the pool first: a pure decision behind a small vtable.
 *
 * The pool offers an extent when nobody uses it, and withdraws it when somebody does or when
 * it is gone. A policy only orders what is on offer. No locks, no I/O, no allocation: the pool
 * calls it under its own lock, tests feed it traces. */
#ifndef CACHE_POLICY_H
#define CACHE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* What the pool knows of an extent that it offers. */
enum policy_use {
	POLICY_AHEAD, /* read ahead, nobody has asked for it yet */
	POLICY_USED,  /* somebody read of it and may read more */
	POLICY_SPENT, /* served in full: the kernel's page cache owns it now */
};

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

/* Least recently used first, but spent ones before all others. */
extern const struct policy_ops policy_lru;

#endif
