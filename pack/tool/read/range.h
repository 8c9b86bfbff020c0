/* The least, the median and the largest of some values. */
#ifndef PACK_TOOL_READ_RANGE_H
#define PACK_TOOL_READ_RANGE_H

#include "base/json.h"

struct range {
	uint64_t min, median, max;
};

/* Sorts the values. All 0 where there are none. */
void range_of(uint64_t *values, uint64_t count, struct range *ret);

/* {"min": 1, "median": 2, "max": 4} */
void range_json(const struct range *range, const char *name, struct json *json);

#endif
