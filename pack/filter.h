/* Which paths of a source are wanted: --include and --exclude.
 *
 * Patterns are those of base/match.h. What matches an exclude is left out; a directory with
 * everything in it. If there are includes, a file must match one of them. Pure, but for the notes
 * of which patterns have matched: not thread-safe. */
#pragma once

#include "base/opt.h"

struct filter {
	struct opt_list include, exclude;
	uint64_t included, excluded; /* a bit for each pattern that has matched */
};

static inline bool filter_wants_all(const struct filter *filter)
{
	return filter->include.count == 0 && filter->exclude.count == 0;
}

/* Whether any of these patterns matches. All that are not in *used yet are tried, and added where
 * they match. */
bool filter_matches(const struct opt_list *list, const char *path, uint64_t *used);

/* `path` is relative to the root and not empty. */
bool filter_wants(struct filter *filter, const char *path, bool directory);

/* The same for a file and all directories on the way to it. */
bool filter_wants_file(struct filter *filter, const char *path);
