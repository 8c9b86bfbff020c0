/* What foldstat does, a function for each form of the command. Each returns 0 or -errno; the
 * sentence in err does not name the path. Signals that end one stay blocked. */
#pragma once

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* Prints all of a mount since it was made, a line for each topic, at most 80 columns wide (except
 * for long paths), and the verdict. */
int show_once(const char *path, struct err *err);

struct watch_params {
	const char *path; /* the mount's root */
	double interval;  /* seconds; not used if count is 1 */
	uint64_t count;	  /* lines; 0: until SIGINT, SIGTERM or SIGHUP */
	bool json;	  /* print the mount's JSON object, a line each time, and nothing else */
};

/* Prints the first line at once, for the time since the mount was made; at the end, the verdict on
 * the time that was watched. */
int watch_run(const struct watch_params *params, struct err *err);

/* Shows the view on the terminal until 'q', SIGINT, SIGTERM or SIGHUP, or until there is no mount
 * any more. `path`: the mount's root; NULL: all mounts of this user, as they come and go.
 * `interval`: seconds. The terminal is left as it was. */
int live_run(const char *path, double interval, struct err *err);

/* Prints the metrics of the mount whose root is `path`, or of all mounts of this user if that is
 * NULL. A mount that does not answer in a few seconds has `foldfs_up 0`. */
int prometheus_print(const char *path, struct err *err);
