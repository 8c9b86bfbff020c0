/* Where records are cut into shards; known before the first shard is written. Pure. */
#pragma once

#include <stdint.h>

struct shard_plan {
	uint64_t *ends; /* of each shard: the number of the record after its last */
	uint64_t count;
};

void shard_plan_release(struct shard_plan *plan);

/* Plans this many shards. Their numbers of records differ by at most one. Returns 0 or -ENOMEM. */
int shard_plan_equal(uint64_t records, uint64_t shards, struct shard_plan *ret);

/* Adds the next record, of `size` bytes, to the last shard; or to a new one if the last would have
 * more than `most` bytes. `*used` is how many bytes the last shard has. Returns 0 or -ENOMEM. */
int shard_plan_add(struct shard_plan *plan, uint64_t size, uint64_t most, uint64_t *used);
