#include "cache/order/index.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void find_bounds(struct order_index *index, const uint32_t *numbers, uint32_t count)
{
	index->low = ORDER_NONE;
	index->high = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (numbers[i] < index->low)
			index->low = numbers[i];
		if (numbers[i] != ORDER_NONE && numbers[i] >= index->high)
			index->high = numbers[i] + 1;
	}
	if (index->low > index->high)
		index->low = index->high;
}

int order_index_init(struct order_index *index, const uint32_t *numbers, uint32_t count)
{
	struct order_index made;
	size_t bytes;

	find_bounds(&made, numbers, count);
	bytes = (made.high - made.low) * sizeof(*made.places);
	made.places = malloc(bytes + 1);
	if (!made.places)
		return -ENOMEM;
	memset(made.places, 0xff, bytes);
	for (uint32_t i = count; i-- > 0;)
		if (numbers[i] != ORDER_NONE)
			made.places[numbers[i] - made.low] = i;
	*index = made;
	return 0;
}

void order_index_release(struct order_index *index)
{
	free(index->places);
}
