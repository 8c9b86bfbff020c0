#include "cache/order/list.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int order_list_new(const char *name, const uint32_t *files, uint32_t count, struct order_list **ret)
{
	struct order_list *list = calloc(1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	list->count = count;
	list->name = strdup(name);
	list->files = malloc(count * sizeof(*files));
	if (!list->name || !list->files || order_index_init(&list->indices, files, count) < 0) {
		order_list_free(list);
		return -ENOMEM;
	}
	memcpy(list->files, files, count * sizeof(*files));
	*ret = list;
	return 0;
}

void order_list_free(struct order_list *list)
{
	if (!list)
		return;
	free(list->name);
	free(list->files);
	order_index_release(&list->indices);
	free(list);
}
