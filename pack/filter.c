#include "pack/filter.h"

#include "base/match.h"
#include "base/scope.h"
#include <string.h>

bool filter_matches(const struct opt_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++)
		if (match_path(list->items[i], path))
			return true;
	return false;
}

bool filter_wants(const struct filter *filter, const char *path, bool directory)
{
	if (filter_matches(&filter->exclude, path))
		return false;
	if (directory)
		return true;
	return filter->include.count == 0 || filter_matches(&filter->include, path);
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
