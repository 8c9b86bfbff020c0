/* Patterns for paths, as --include, --exclude and --select take them.
 *
 * A pattern (fnmatch(3)) without a slash is matched against the last component of a path. One with
 * a slash is matched against the whole path from the root; there, `*` stops at slashes and `**`
 * does not. "/" or "./" at its beginning has no other effect, and a slash at its end has none:
 * "a/" is "a". Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct match_pattern {
	const char *text; /* in the pattern, without the slashes that have no effect */
	size_t len;
	bool whole; /* it is of a whole path */
};

struct match_pattern match_parse(const char *pattern);

/* `path` is relative to the root and not empty. */
bool match_path(const char *pattern, const char *path);
