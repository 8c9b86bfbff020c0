#include "cache/order/list.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_places(struct order_list *list, const uint32_t *files)
{
	size_t bytes;

	list->low = ORDER_NONE;
	for (uint32_t i = 0; i < list->count; i++) {
		if (files[i] < list->low)
			list->low = files[i];
		if (files[i] != ORDER_NONE && files[i] >= list->high)
			list->high = files[i] + 1;
	}
	if (list->low > list->high)
		list->low = list->high;
	bytes = (list->high - list->low) * sizeof(*list->places);
	list->places = malloc(bytes + 1);
	if (!list->places)
		return -ENOMEM;
	memset(list->places, 0xff, bytes);
	for (uint32_t i = list->count; i-- > 0;)
		if (files[i] != ORDER_NONE)
			list->places[files[i] - list->low] = i;
	return 0;
}

int order_list_new(const char *name, uint32_t *files, uint32_t count, struct order_list **ret)
{
	struct order_list *list = calloc(1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	list->users = 1;
	list->count = count;
	if ((name && !(list->name = strdup(name))) || make_places(list, files) < 0) {
		order_list_free(list);
		return -ENOMEM;
	}
	list->files = files;
	*ret = list;
	return 0;
}

int order_list_copy(const char *name, const uint32_t *files, uint32_t count,
		    struct order_list **ret)
{
	uint32_t *copy = malloc(count * sizeof(*copy));
	int r = copy ? order_list_new(name, memcpy(copy, files, count * sizeof(*copy)), count, ret)
		     : -ENOMEM;

	if (r < 0)
		free(copy);
	return r;
}

struct order_list *order_list_share(struct order_list *list)
{
	__atomic_fetch_add(&list->users, 1, __ATOMIC_RELAXED);
	return list;
}

void order_list_free(struct order_list *list)
{
	if (!list || __atomic_fetch_sub(&list->users, 1, __ATOMIC_ACQ_REL) > 1)
		return;
	free(list->name);
	free(list->files);
	free(list->places);
	free(list);
}
