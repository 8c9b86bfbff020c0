#include "pack/tool/export/shard_plan.h"

#include <errno.h>
#include <stdlib.h>

void shard_plan_release(struct shard_plan *plan)
{
	free(plan->ends);
	*plan = (struct shard_plan){0};
}

int shard_plan_equal(uint64_t records, uint64_t shards, struct shard_plan *ret)
{
	uint64_t *ends = calloc(shards, sizeof(*ends));

	if (!ends)
		return -ENOMEM;
	for (uint64_t i = 0; i < shards; i++)
		ends[i] = (uint64_t)((unsigned __int128)records * (i + 1) / shards);
	*ret = (struct shard_plan){.ends = ends, .count = shards};
	return 0;
}

static int begin_shard(struct shard_plan *plan)
{
	uint64_t *ends = reallocarray(plan->ends, plan->count + 1, sizeof(*ends));

	if (!ends)
		return -ENOMEM;
	plan->ends = ends;
	ends[plan->count] = plan->count ? ends[plan->count - 1] : 0;
	plan->count++;
	return 0;
}

int shard_plan_add(struct shard_plan *plan, uint64_t size, uint64_t most, uint64_t *used)
{
	int r = 0;

	if (plan->count == 0 || size > most || *used > most - size) {
		r = begin_shard(plan);
		*used = 0;
	}
	if (r < 0)
		return r;
	plan->ends[plan->count - 1]++;
	*used += size;
	return 0;
}
