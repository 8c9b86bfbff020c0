/* Which paths of a source are wanted: --include and --exclude.
 *
 * Patterns are those of base/match.h. What matches an exclude is left out; a directory with
 * everything in it. If there are includes, a file must match one of them. Pure. */
#pragma once

#include "base/opt.h"

struct filter {
	struct opt_list include, exclude;
};

static inline bool filter_wants_all(const struct filter *filter)
{
	return filter->include.count == 0 && filter->exclude.count == 0;
}

/* Whether any of these patterns matches. */
bool filter_matches(const struct opt_list *list, const char *path);

/* `path` is relative to the root and not empty. */
bool filter_wants(const struct filter *filter, const char *path, bool directory);

/* The same for a file and all directories on the way to it. */
bool filter_wants_file(const struct filter *filter, const char *path);
