#include "cache/order/list.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void find_bounds(struct order_list *list)
{
	list->low = ORDER_NONE;
	for (uint32_t i = 0; i < list->count; i++) {
		uint32_t file = list->files[i];

		if (file < list->low)
			list->low = file;
		if (file != ORDER_NONE && file >= list->high)
			list->high = file + 1;
	}
	if (list->low > list->high)
		list->low = list->high;
}

int order_list_new(const char *name, const uint32_t *files, uint32_t count, struct order_list **ret)
{
	struct order_list *list = calloc(1, sizeof(*list));
	size_t bytes = 0;

	if (!list)
		return -ENOMEM;
	list->count = count;
	list->name = strdup(name);
	list->files = malloc(count * sizeof(*files));
	if (list->name && list->files) {
		memcpy(list->files, files, count * sizeof(*files));
		find_bounds(list);
		bytes = (list->high - list->low) * sizeof(*list->indices);
		list->indices = malloc(bytes + 1);
	}
	if (!list->indices) {
		order_list_free(list);
		return -ENOMEM;
	}
	memset(list->indices, 0xff, bytes);
	for (uint32_t i = count; i-- > 0;)
		if (files[i] != ORDER_NONE)
			list->indices[files[i] - list->low] = i;
	*ret = list;
	return 0;
}

void order_list_free(struct order_list *list)
{
	if (!list)
		return;
	free(list->name);
	free(list->files);
	free(list->indices);
	free(list);
}
