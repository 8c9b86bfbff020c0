#include "pack/tool/read/range.h"

#include <stdlib.h>

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void range_of(uint64_t *values, uint64_t count, struct range *ret)
{
	qsort(values, count, sizeof(*values), compare_values);
	*ret = count ? (struct range){values[0], values[count / 2], values[count - 1]}
		     : (struct range){0};
}

void range_json(const struct range *range, const char *name, struct json *json)
{
	json_object(json, name);
	json_u64(json, "min", range->min);
	json_u64(json, "median", range->median);
	json_u64(json, "max", range->max);
	json_end(json);
}
