#include "base/match.h"

#include <fnmatch.h>
#include <string.h>

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* fnmatch(3) does not know `**`: in a pattern that has it, all stars match slashes. */
static int flags_of(const char *pattern)
{
	return strstr(pattern, "**") ? 0 : FNM_PATHNAME;
}

bool match_path(const char *pattern, const char *path)
{
	if (!strchr(pattern, '/'))
		return fnmatch(pattern, last_component(path), 0) == 0;
	if (pattern[0] == '/')
		pattern++;
	return fnmatch(pattern, path, flags_of(pattern)) == 0;
}
