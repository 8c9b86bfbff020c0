/* The files of an epoch in order, and the place of each. Immutable and counted: who follows the
 * readers and who plans reads have trackers of their own (forecast.h) over one such order, under
 * locks of their own. */
#ifndef CACHE_ORDER_EPOCH_ORDER_H
#define CACHE_ORDER_EPOCH_ORDER_H

#include "cache/order/index.h"

struct epoch_order {
	unsigned users; /* atomic */
	uint32_t count;
	uint32_t *files;	   /* by place */
	struct order_index places; /* by file */
};

/* `files`: each once, from malloc; taken over, but not on failure. Has one user. Returns 0 or
 * -ENOMEM. */
int epoch_order_new(uint32_t *files, uint32_t count, struct epoch_order **ret);
/* One more user. */
struct epoch_order *epoch_order_share(struct epoch_order *order);
/* One less; the last one frees it. NULL is fine. */
void epoch_order_unref(struct epoch_order *order);

#endif
