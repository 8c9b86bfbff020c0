/* A ring in order of time, oldest first: each offer is the latest, and goes to the back. */
#include "cache/policy.h"

static void lru_offer(struct policy *policy, struct policy_node *node)
{
	policy_ring_insert(policy->queue.prev, node);
}

const struct policy_ops policy_lru = {
	.name = "lru",
	.init = policy_ring_init,
	.offer = lru_offer,
	.withdraw = policy_ring_remove,
	.victim = policy_ring_front,
};
