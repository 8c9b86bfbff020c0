/* Stats of mounts in the text format of Prometheus (exposition format 0.0.4). Pure. */
#pragma once

#include "base/buf.h"
#include "fs/stat/snapshot.h"

struct exposed_mount {
	const char *path;
	struct snapshot now; /* empty: the mount did not answer */
};

/* Adds all metrics. A mount has no sample of what its stats lack. Returns 0 or -ENOMEM. */
int prometheus_add(const struct exposed_mount *mounts, size_t count, struct buf *buf);
