#include "cache/order/epoch_order.h"
#include <errno.h>
#include <stdlib.h>

int epoch_order_new(uint32_t *files, uint32_t count, struct epoch_order **ret)
{
	struct epoch_order *order = calloc(1, sizeof(*order));

	if (!order || order_index_init(&order->places, files, count) < 0) {
		free(order);
		return -ENOMEM;
	}
	order->users = 1;
	order->files = files;
	order->count = count;
	*ret = order;
	return 0;
}

struct epoch_order *epoch_order_share(struct epoch_order *order)
{
	__atomic_fetch_add(&order->users, 1, __ATOMIC_RELAXED);
	return order;
}

void epoch_order_unref(struct epoch_order *order)
{
	if (!order || __atomic_fetch_sub(&order->users, 1, __ATOMIC_ACQ_REL) > 1)
		return;
	order_index_release(&order->places);
	free(order->files);
	free(order);
}
