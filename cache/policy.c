#include "cache/policy.h"

#define JUDGED	     64	  /* extents, at least: by fewer, chance would judge */
#define PROVEN	     4	  /* windows in a row that pin stands, which forget that it failed */
#define PATIENCE     4	  /* windows of lru until pin is tried again, at first, */
#define PATIENCE_MAX 1024 /* and at most */

void policy_init(struct policy *policy, enum policy_choice choice, uint64_t extents)
{
	*policy = (struct policy){.lru = choice == POLICY_LRU,
				  .automatic = choice == POLICY_AUTO,
				  .length = extents > JUDGED ? extents : JUDGED,
				  .patience = PATIENCE};
}

void policy_asked(struct policy *policy)
{
	policy->asked++;
}

void policy_evicted(struct policy *policy)
{
	policy->served -= policy->served > policy->asked;
}

/* Returns whether lru is to take over. */
static bool pin_fails(struct policy *policy)
{
	if (policy->served < JUDGED || policy->asked * 2 >= policy->served) {
		policy->passed += policy->served >= JUDGED;
		if (policy->passed == PROVEN)
			policy->patience = PATIENCE;
		return false;
	}
	policy->passed = 0;
	policy->rest = policy->patience;
	if (policy->patience < PATIENCE_MAX)
		policy->patience *= 2;
	return true;
}

void policy_used(struct policy *policy, uint64_t served)
{
	if (!policy->automatic || ++policy->uses < policy->length)
		return;
	policy->lru = policy->lru ? --policy->rest > 0 : pin_fails(policy);
	policy->uses = policy->asked = 0;
	policy->served = served;
	policy->window++;
}
