#include "base/match.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

/* One that ends in a slash, without it: as of a folder whose name a shell has completed. */
static bool match_folder(const char *pattern, size_t len, const char *path)
{
	char name[PATH_MAX];

	if (len >= sizeof(name))
		return false;
	memcpy(name, pattern, len);
	name[len] = '\0';
	return match_path(name, path);
}

bool match_path(const char *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = strlen(pattern);

	if (len > 1 && pattern[len - 1] == '/')
		return match_folder(pattern, len - 1, path);
	if (!strchr(pattern, '/'))
		return fnmatch(pattern, slash ? slash + 1 : path, 0) == 0;
	pattern += pattern[0] == '/' ? 1 : strncmp(pattern, "./", 2) == 0 ? 2 : 0;
	/* fnmatch(3) does not know `**`: in a pattern that has it, all stars match slashes. */
	return fnmatch(pattern, path, strstr(pattern, "**") ? 0 : FNM_PATHNAME) == 0;
}
