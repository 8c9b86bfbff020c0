/* Which part of a tree is wanted: patterns of paths, as in base/match.h.
 *
 * What matches is wanted; a matching folder with everything in it. A pattern without any of *?[\ is
 * looked up in a table, so there may be a million of them. Not thread-safe. */
#pragma once

#include <stddef.h>

struct select;

/* The patterns are borrowed. Returns 0 or -ENOMEM. */
int select_new(const char *const *patterns, size_t count, struct select **ret);
void select_free(struct select *select); /* NULL is fine */

/* For SCOPE(). */
static inline void select_release(struct select **select)
{
	select_free(*select);
}

/* Whether a pattern matches the path, which is relative to the root and not empty: 1, 0 or
 * -ENOMEM. */
int select_match(struct select *select, const char *path);

/* The first pattern that has matched nothing so far, and how many there are; NULL: none. */
const char *select_unused(const struct select *select, size_t *ret_count);
