/* Patterns for paths, as --include, --exclude and --select take them.
 *
 * A pattern (fnmatch(3)) without a slash is matched against the last component of a path. One with
 * a slash is matched against the whole path from the root; there, `*` stops at slashes and `**`
 * does not. "/" or "./" at its beginning has no other effect, and a slash at its end has none:
 * "a/" is "a". Pure. */
#pragma once

#include <stdbool.h>

/* `path` is relative to the root and not empty. */
bool match_path(const char *pattern, const char *path);
