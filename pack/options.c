#include "pack/options.h"
#include <string.h>

bool options_next(const char **at, const char *end, struct option_line *ret)
{
	const char *newline;

	if (*at >= end)
		return false;
	newline = memchr(*at, '\n', (size_t)(end - *at));
	*ret = (struct option_line){*at, (size_t)((newline ? newline : end) - *at)};
	*at = newline ? newline + 1 : end;
	return true;
}

/* The value of a line of this name; NULL: the line has another. */
static const char *option_value(const struct option_line *line, const char *name, size_t *ret_len)
{
	size_t len = strlen(name);

	if (line->len <= len || memcmp(line->text, name, len) != 0 || line->text[len] != '=')
		return NULL;
	*ret_len = line->len - len - 1;
	return line->text + len + 1;
}

const char *options_find(const char *options, size_t len, const char *name, size_t *ret_len)
{
	const char *at = options, *value = NULL;
	struct option_line line;

	while (!value && options_next(&at, options + len, &line))
		value = option_value(&line, name, ret_len);
	return value;
}

int option_unescape(const char *value, size_t len, struct buf *ret)
{
	for (const char *end = value + len; value < end; value++) {
		if (*value == '\\' && value + 1 < end)
			buf_add(ret, *++value == 'n' ? "\n" : value, 1);
		else
			buf_add(ret, value, 1);
	}
	return buf_error(ret);
}

bool options_have(const char *options, size_t len, const struct option_line *line)
{
	struct option_line one;

	for (const char *at = options, *end = options + len; options_next(&at, end, &one);)
		if (one.len == line->len && memcmp(one.text, line->text, one.len) == 0)
			return true;
	return false;
}

static bool is_one_of(const struct option_line *line, const char *const *names)
{
	size_t len;

	while (*names && !option_value(line, *names, &len))
		names++;
	return *names;
}

bool option_changes_bytes(const struct option_line *line)
{
	static const char *const names[] = {"resize",	"max-side",  "quality", "store",
					    "optimize", "transform", "filter",	NULL};

	return is_one_of(line, names);
}

bool option_is_of_content(const struct option_line *line)
{
	static const char *const names[] = {"include",
					    "exclude",
					    "dereference",
					    "layout",
					    "strip-components",
					    "schema",
					    "class-folders",
					    "empty-classes",
					    "image-key",
					    "label-key",
					    "name-key",
					    "check",
					    NULL};

	return option_changes_bytes(line) || is_one_of(line, names);
}

int options_made_with(const char *options, size_t len, bool unchecked, struct buf *ret)
{
	struct option_line line;

	for (const char *at = options, *end = at + len; options_next(&at, end, &line);)
		if (!unchecked || option_is_of_content(&line))
			buf_addf(ret, "%.*s\n", (int)line.len, line.text);
	return buf_adds(ret, "");
}
