/* foldstat --prometheus: asks mounts, and prints their metrics. */
#pragma once

#include "base/err.h"

/* Prints those of the mount whose root is `path`, or of all mounts of this user if that is NULL. A
 * mount that does not answer in a few seconds has `foldfs_up 0`. Returns 0 or -errno, for `path`
 * with the err of mounts_ask(). */
int prometheus_print(const char *path, struct err *err);
