#include "fs/stat/duration.h"
#include <inttypes.h>
#include <stdio.h>

const char *duration_format(uint64_t seconds, char buf[static SIZE_TEXT])
{
	static const struct {
		const char *name, *next_name;
		uint64_t seconds, next_seconds;
	} units[] = {{" d", " h", 86400, 3600}, {" h", " min", 3600, 60}, {" min", " s", 60, 1}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t count = seconds / units[i].seconds;
		uint64_t next = seconds % units[i].seconds / units[i].next_seconds;

		if (count && next)
			snprintf(buf, SIZE_TEXT, "%" PRIu64 "%s %" PRIu64 "%s", count,
				 units[i].name, next, units[i].next_name);
		else if (count)
			snprintf(buf, SIZE_TEXT, "%" PRIu64 "%s", count, units[i].name);
		if (count)
			return buf;
	}
	snprintf(buf, SIZE_TEXT, "%" PRIu64 " s", seconds);
	return buf;
}

const char *latency_format(uint64_t us, char buf[static SIZE_TEXT])
{
	double value = (double)us;

	if (us < 1000)
		snprintf(buf, SIZE_TEXT, "%.0f us", value);
	else if (us < 999500)
		snprintf(buf, SIZE_TEXT, "%.3g ms", value / 1e3);
	else
		snprintf(buf, SIZE_TEXT, us < 100000000 ? "%.3g s" : "%.0f s", value / 1e6);
	return buf;
}
