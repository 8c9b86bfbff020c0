/* What a mount of foldfs says of itself, asked from outside, as by one that would be mounted in its
 * place. Any thread. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define STATS_NAME "user.foldfs.stats" /* an attribute of the root: foldstat(1), JSON */

/* Reads the stats of the mount at `path` into memory that the caller frees, whatever is returned,
 * with room for a NUL behind them. Returns their length, or -1 with errno. */
ssize_t stats_read(const char *path, char **ret);

/* Whether the mount at `path` is about to end, so that nobody should begin to use it. */
bool stats_say_leaving(const char *path);
