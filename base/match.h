/* Patterns of paths, as --include, --exclude and --select have them.
 *
 * A pattern (fnmatch(3)) without a slash is matched with the last component of a path, one with a
 * slash against the whole path from the root, where `*` stops at slashes and `**` does not; a slash
 * at its beginning has no other effect. Pure. */
#ifndef BASE_MATCH_H
#define BASE_MATCH_H

#include <stdbool.h>

/* `path` is relative to the root and not empty. */
bool match_path(const char *pattern, const char *path);

#endif
