/* A ring, oldest first:
 *
 *	queue -> spent, latest first -> ... -> used or read ahead, oldest first -> queue
 *
 * A spent extent goes to the very front: it is held a second time by the kernel, and its
 * slots are the ones most likely to be in the processor's caches. */
#include "cache/policy.h"
#include <stddef.h>

static void lru_init(struct policy *policy)
{
	policy->queue.next = &policy->queue;
	policy->queue.prev = &policy->queue;
}

static void insert_behind(struct policy_node *place, struct policy_node *node)
{
	node->prev = place;
	node->next = place->next;
	place->next->prev = node;
	place->next = node;
}

static void lru_offer(struct policy *policy, struct policy_node *node)
{
	bool first = node->use == POLICY_SPENT;

	insert_behind(first ? &policy->queue : policy->queue.prev, node);
}

static void lru_withdraw(struct policy *policy, struct policy_node *node)
{
	(void)policy;
	node->prev->next = node->next;
	node->next->prev = node->prev;
}

static struct policy_node *lru_victim(const struct policy *policy)
{
	return policy->queue.next == &policy->queue ? NULL : policy->queue.next;
}

const struct policy_ops policy_lru = {
	.name = "lru",
	.init = lru_init,
	.offer = lru_offer,
	.withdraw = lru_withdraw,
	.victim = lru_victim,
};
