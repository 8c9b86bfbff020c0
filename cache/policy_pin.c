/* A ring:
 *
 *	queue -> spent, latest first -> ... -> used or read ahead, oldest first -> queue
 *
 * An epoch uses each of N extents once, in any order, with room for C = f N of them. What is
 * hit was there when the epoch began (whatever came later came for its own only use), so no
 * policy hits more than C in an epoch. This one hits C, or C - 1: an extent that was served in
 * this epoch is worth nothing until the next one, and the one served latest is such an extent.
 * So nothing is evicted that the epoch will still use, but for one: a miss before the epoch has
 * served anything takes what the epoch before served last. What is being read, or read ahead,
 * comes off C.
 *
 * The outcome is that of MinIO in CoorDL (Mohan et al., Analyzing and Mitigating Data Stalls in
 * DNN Training, VLDB 2021), which admits until it is full and never evicts. Here an extent must
 * be admitted to be served, and makes room for the next one. What is not known here either is
 * when a set is no longer in use at all: cache/duel.h is for that. */
#include "cache/policy.h"

static void pin_offer(struct policy *policy, struct policy_node *node)
{
	bool first = node->use == POLICY_SPENT;

	policy_ring_insert(first ? &policy->queue : policy->queue.prev, node);
}

const struct policy_ops policy_pin = {
	.name = "pin",
	.init = policy_ring_init,
	.offer = pin_offer,
	.withdraw = policy_ring_remove,
	.victim = policy_ring_front,
};
