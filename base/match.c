#include "base/match.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

struct match_pattern match_parse(const char *pattern)
{
	size_t begin = strncmp(pattern, "./", 2) == 0 ? 2 : pattern[0] == '/';
	struct match_pattern ret = {.text = pattern + begin, .len = strlen(pattern + begin)};

	while (ret.len && ret.text[ret.len - 1] == '/')
		ret.len--;
	ret.whole = begin || memchr(ret.text, '/', ret.len);
	return ret;
}

bool match_path(const char *pattern, const char *path)
{
	struct match_pattern parsed = match_parse(pattern);
	const char *slash = strrchr(path, '/');
	char text[PATH_MAX];

	if (parsed.text[parsed.len]) {
		if (parsed.len >= sizeof(text))
			return false;
		memcpy(text, parsed.text, parsed.len);
		text[parsed.len] = '\0';
		parsed.text = text;
	}
	if (!parsed.whole)
		return fnmatch(parsed.text, slash ? slash + 1 : path, 0) == 0;
	/* fnmatch(3) does not know `**`: in a pattern that has it, all stars match slashes. */
	return fnmatch(parsed.text, path, strstr(parsed.text, "**") ? 0 : FNM_PATHNAME) == 0;
}
