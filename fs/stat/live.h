/* foldstat -w: a full-screen view of mounts, as it goes on. */
#pragma once

#include "base/err.h"

struct live_params {
	const char *path; /* the mount's root; NULL: all mounts of this user, as they come and go */
	double interval;  /* seconds */
};

/* Shows the view on the terminal until 'q', SIGINT, SIGTERM or SIGHUP, or until there is no mount
 * any more. The terminal is left as it was. Returns 0 or -errno; err is that of mounts_ask(), or
 * says that the mount was unmounted. These signals stay blocked. */
int live_run(const struct live_params *params, struct err *err);
