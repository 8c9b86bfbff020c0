#include "pack/tool/import/filter.h"

#include "base/scope.h"
#include <fnmatch.h>
#include <string.h>

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* fnmatch(3) knows no `**`: where a pattern has one, its stars go over slashes. */
static int flags_of(const char *pattern)
{
	return strstr(pattern, "**") ? 0 : FNM_PATHNAME;
}

bool filter_match(const char *pattern, const char *path)
{
	if (!strchr(pattern, '/'))
		return fnmatch(pattern, last_component(path), 0) == 0;
	if (pattern[0] == '/')
		pattern++;
	return fnmatch(pattern, path, flags_of(pattern)) == 0;
}

static bool matches_any(const struct opt_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++)
		if (filter_match(list->items[i], path))
			return true;
	return false;
}

bool filter_wants(const struct filter *filter, const char *path, bool directory)
{
	if (matches_any(&filter->exclude, path))
		return false;
	if (directory)
		return true;
	return filter->include.count == 0 || matches_any(&filter->include, path);
}

bool filter_wants_file(const struct filter *filter, const char *path)
{
	SCOPE_FREE char *above = strdup(path);

	for (char *at = above; at && (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		if (*above && !filter_wants(filter, above, true))
			return false;
	}
	return filter_wants(filter, path, false);
}
