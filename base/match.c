#include "base/match.h"

#include <fnmatch.h>
#include <string.h>

bool match_path(const char *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!strchr(pattern, '/'))
		return fnmatch(pattern, slash ? slash + 1 : path, 0) == 0;
	if (pattern[0] == '/')
		pattern++;
	/* fnmatch(3) does not know `**`: in a pattern that has it, all stars match slashes. */
	return fnmatch(pattern, path, strstr(pattern, "**") ? 0 : FNM_PATHNAME) == 0;
}
