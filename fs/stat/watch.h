/* foldstat with an interval: a line for each. */
#pragma once

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct watch_params {
	const char *path; /* the mount's root */
	double interval;  /* seconds; not used if count is 1 */
	uint64_t count;	  /* lines; 0: until SIGINT, SIGTERM or SIGHUP */
	bool json;	  /* print the mount's JSON object, a line each time, and nothing else */
};

/* Prints the first line at once, for the time since the mount was made; at the end, the verdict on
 * the time that was watched. Returns 0 or -errno; err is that of mounts_ask(). The signals named
 * above stay blocked. */
int watch_run(const struct watch_params *params, struct err *err);
