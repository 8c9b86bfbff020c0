/* Which batches of an order are read on this node, where all of them were thought to be.
 *
 * Accelerate deals the batches of one sampler to its ranks in turn, or each of them in parts
 * (BatchSamplerShard of src/accelerate/data_loader.py). With the ranks of other nodes, what is read
 * here is a run of places in every period, and the places between will never come:
 *
 *	####........####........####........
 *	run                     period
 *
 * A batch that a slow worker has not finished looks the same for a while. So the older half of what
 * was seen is looked at, and is believed when it was the same some time ago: what is slow has moved
 * since. Pure. */
#ifndef CACHE_ORDER_BATCHES_H
#define CACHE_ORDER_BATCHES_H

#include "cache/order/pass.h"

struct batches;

/* Of an order of n places, in which the readers have come to `from`. Returns 0 or -ENOMEM. */
int batches_new(uint32_t n, uint32_t from, struct batches **ret);
void batches_free(struct batches *batches); /* NULL is fine */

/* A reader who goes by the order asked for that place. */
void batches_saw(struct batches *batches, uint32_t place);

/* Whether places are left out in a regular way: *ret is then the part that is read. Ranks of this
 * node that follow one another count as one. */
bool batches_known(const struct batches *batches, struct pass_part *ret);

#endif
