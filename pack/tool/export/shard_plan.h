/* Where records are cut into shards, known before the first is written. Pure. */
#ifndef PACK_TOOL_EXPORT_SHARD_PLAN_H
#define PACK_TOOL_EXPORT_SHARD_PLAN_H

#include <stddef.h>
#include <stdint.h>

struct shard_plan {
	uint64_t *ends; /* of each shard: the number of the record after its last */
	uint64_t count;
};

void shard_plan_release(struct shard_plan *plan);

/* `shards` of them with as many records each, but for one. Returns 0 or -ENOMEM. */
int shard_plan_equal(uint64_t records, uint64_t shards, struct shard_plan *ret);

/* Adds the next record, of `size` bytes, `*used` being those of the last shard so far: to that, or
 * to a new one where shards would have more than `most` bytes. Returns 0 or -ENOMEM. */
int shard_plan_add(struct shard_plan *plan, uint64_t size, uint64_t most, uint64_t *used);

#endif
