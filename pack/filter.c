#include "pack/filter.h"

#include "base/match.h"
#include "base/scope.h"
#include <string.h>

_Static_assert(OPT_LIST_MAX <= 64, "each pattern has a bit");

bool filter_matches(const struct opt_list *list, const char *path, uint64_t *used)
{
	bool matches = false;

	for (size_t i = 0; i < list->count; i++) {
		uint64_t bit = (uint64_t)1 << i;

		if ((!matches || !(*used & bit)) && match_path(list->items[i], path)) {
			*used |= bit;
			matches = true;
		}
	}
	return matches;
}

bool filter_wants(struct filter *filter, const char *path, bool directory)
{
	if (filter_matches(&filter->exclude, path, &filter->excluded))
		return false;
	if (directory)
		return true;
	return filter->include.count == 0 ||
	       filter_matches(&filter->include, path, &filter->included);
}

bool filter_wants_file(struct filter *filter, const char *path)
{
	SCOPE_FREE char *above = strdup(path);

	for (char *at = above; at && (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		if (*above && !filter_wants(filter, above, true))
			return false;
	}
	return filter_wants(filter, path, false);
}
