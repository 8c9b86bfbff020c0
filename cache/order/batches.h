/* Which batches of an epoch are read on this node.
 *
 * Accelerate deals the batches of one sampler to its ranks in turn, or a share of each batch
 * (BatchSamplerShard of src/accelerate/data_loader.py). Where other nodes have ranks too, this node
 * reads its share of every period, and nobody here asks for those between:
 *
 *	####........####........####........
 *	|share|                | period    |
 *
 * For a while, a batch that a slow worker has not finished looks the same. So only the older
 * half of what was seen is compared, and a period counts when two comparisons in a row agree.
 *
 * Pure; not for several threads at once. */
#pragma once

#include "cache/order/sampler.h"

struct batches;

/* Of an epoch of n places, of which the readers have come to `from`. Returns 0 or -ENOMEM. */
int batches_new(uint32_t n, uint32_t from, struct batches **ret);
void batches_free(struct batches *batches); /* NULL is fine */

/* A reader of this epoch asked for the file at that place. */
void batches_saw(struct batches *batches, uint32_t place);

/* Whether only a part of each period is read here: *ret is then that part. Ranks of this node that
 * follow one another count as one. */
bool batches_part(const struct batches *batches, struct sampler_part *ret);
